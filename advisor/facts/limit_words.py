"""The limit of a launch in words: its units, what warps wait for, and what helps."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.facts.counters import CounterGroup
from gpuadvise.advisor.facts.limiter import (
    BY_LOADS,
    NEAR_PEAK,
    AtRoof,
    Imbalance,
    IssueBound,
    LastWave,
    LatencyBound,
    TooLittleWork,
    UnknownLimiter,
)
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.limiter import Limiter


_UNITS: dict[str, str] = {
    Unit.DRAM: "device memory",
    Unit.L2: "the L2 cache",
    Unit.L1_SHARED: "L1 and shared memory",
    Unit.ISSUE: "the warp scheduler",
    Unit.LSU: "the load/store pipe",
    Unit.ADU: "the address-divergence pipe",
    CounterGroup.PIPES: "the pipes of the SM",
    CounterGroup.STALLS: "what warps wait for",
    Unit.COMPUTE: "a pipe of the SM that the profile does not name",
    Unit.MEMORY: "a unit of the memory system that the profile does not name",
}

COPIES_REACH = number(
    0.8,
    "device memory that nothing but fewer bytes makes faster",
    "share of its peak",
    "our judgement: copies keep it 85 % to 92 % busy",
    LaunchSet.RECORDED,
)
_HELPS: dict[str, str] = {
    Unit.DRAM: "only fewer bytes help",
    Unit.L2: "only fewer requests to L2 help",
    Unit.L1_SHARED: "fewer or wider accesses help",
    Unit.LSU: "fewer or wider accesses help",
    Unit.TENSOR: "only fewer operations or a narrower type help",
    Unit.ADU: (
        "it resolves the addresses of accesses, indexed constants, barriers and branches, so fewer and wider accesses, "
        "constants that a warp shares, and tiles fetched by asynchronous copies help"
    ),
    Unit.XU: (
        "fewer divisions, roots, sines, exponentials and conversions of numbers help, or their fast versions (__expf(), "
        "__fdividef(), -use_fast_math) where those are precise enough"
    ),
}

_STALLS: dict[str, str] = {
    Stall.LONG_SCOREBOARD: "loads from global or local memory",
    Stall.SHORT_SCOREBOARD: "shared memory and special functions",
    Stall.LG_THROTTLE: "the queue for global and local accesses, atomics among them",
    Stall.MIO_THROTTLE: "the queue for shared memory and special functions",
    Stall.BARRIER: "barriers",
    Stall.MEMBAR: "memory fences",
    Stall.WAIT: "the fixed latency of the instruction before",
    Stall.MATH_PIPE_THROTTLE: "a busy pipe",
    Stall.DRAIN: "stores and atomics under way at the end of the kernel",
    Stall.IMC_MISS: "the constant cache",
    Stall.NO_INSTRUCTION: "the instruction cache",
    Stall.BRANCH_RESOLVING: "branches",
    Stall.DISPATCH_STALL: "the dispatcher",
    Stall.SLEEPING: "sleeping threads",
    Stall.TEX_THROTTLE: "the queue for textures",
    Stall.GMMA: "tensor products",
}


def stall_words(stall: str | None) -> str:
    """Return what a warp in *stall* waits for."""
    return _STALLS.get(stall or "", (stall or "something the page does not name").replace("_", " "))


_SHORTENED_BY: dict[str, str] = {
    Stall.LONG_SCOREBOARD: (
        "Have more loads under way: let each thread load several independent elements before it uses the "
        "first (unroll by 4, or 16-byte loads), fetch the next tile while the present one is worked on "
        "(cuda::memcpy_async), and keep what is read again in registers or shared memory."
    ),
    Stall.LG_THROTTLE: (
        "Ask less often: 16-byte loads and stores instead of 1 to 4 bytes, values kept in registers or "
        "shared memory, atomics added up per warp or block first."
    ),
    Stall.DRAIN: (
        "Store less and wider: whole sectors with 16-byte stores, and sums per block before anything "
        "goes to memory."
    ),
    Stall.MEMBAR: (
        "Use fewer and narrower fences: __threadfence_block() where a block is enough, and one flag per "
        "block instead of one per thread."
    ),
    Stall.BARRIER: (
        "Meet less often: do the last 32 threads' steps by __shfl_down_sync() without __syncthreads(), "
        "let a warp own its row, and use blocks of 128 to 256 threads, of which several are resident."
    ),
    Stall.SHORT_SCOREBOARD: (
        "Ask shared memory and special functions less often: several elements per 16-byte access, "
        "values exchanged by shuffles, and independent work between request and use."
    ),
    Stall.MIO_THROTTLE: (
        "Ask shared memory and special functions less often: wider accesses, values kept in registers "
        "or exchanged by shuffles."
    ),
    Stall.WAIT: (
        "Give each thread independent instructions: 4 or more sums or elements side by side instead of one "
        "chain in which each needs the one before."
    ),
    Stall.IMC_MISS: "Index constant memory alike in all 32 lanes, or put the table into shared memory.",
    Stall.NO_INSTRUCTION: (
        "Make the code that runs shorter: unroll by 4 instead of fully, and keep rare paths in a "
        "__noinline__ function."
    ),
    Stall.BRANCH_RESOLVING: "Branch less often: predicated or unrolled loops, by 4 or 8 steps at once.",
    Stall.SLEEPING: "Let fewer threads wait by __nanosleep(): 1 per block, and the others at a barrier.",
}
_OTHER_WAITS = (
    "Give each thread more independent work, by 2 or 4 elements at once, and look at the stall in the "
    "profile's source page."
)


def stall_action(stall: str) -> str:
    """Return what shortens the wait of warps in *stall*."""
    return _SHORTENED_BY.get(stall, _OTHER_WAITS)


def unit_words(unit: str) -> str:
    """Return what *unit* is called in a sentence."""
    if unit in _UNITS:
        return _UNITS[unit]
    return f"the {unit.replace('_', ' ')} pipe"


def limit_sentence(limiter: Limiter | None) -> str:
    """Return the limit in one sentence, also where nothing needs changing."""
    match limiter:
        case None:
            return "The limit is not known: nothing was said about work, time or launch."
        case UnknownLimiter(unread=units) if units:
            return (
                f"The limit is not known: the counters of {and_list(list(map(unit_words, units)))} are missing, "
                "and what they count may be the limit."
            )
        case UnknownLimiter():
            return f"The limit is not known; what would tell it: {limiter.wanted}."
        case TooLittleWork():
            return f"Too little work: {plural(limiter.blocks, 'block')} for {limiter.sm_count} SMs."
        case LastWave():
            return (
                f"The last of {limiter.waves:.2f} waves: an SM is busy "
                f"{show_share(limiter.share)} of the time."
            )
        case Imbalance():
            return f"Uneven work: an SM is busy {show_share(limiter.share)} of the time on average."
        case IssueBound(few_warps=float(warps)):
            return (
                f"Issue slots are {show_share(limiter.share)} busy{_by_few(warps)}: fewer instructions help, "
                "and so do more warps or more independent work per thread."
            )
        case IssueBound(for_loads=float(waiting)):
            return (
                f"Issue slots are {show_share(limiter.share)} busy, and {show_share(waiting)} of a warp's time goes to "
                "loads: fewer instructions help, and so do more loads under way."
            )
        case IssueBound():
            return (
                f"Issue slots are {show_share(limiter.share)} busy: only fewer instructions help."
            )
        case AtRoof():
            return _roof_sentence(limiter)
        case LatencyBound(starts=float(starts)):
            return (
                f"Block starts: {show_number(starts / 1e9)} blocks per ns, about as many as a GPU of this kind starts, and "
                f"{_wait_words(limiter)}: give each block more to do, several elements per thread."
            )
        case LatencyBound():
            return (
                f"Latency: {_wait_words(limiter)}, and no unit is at its roof "
                f"({unit_words(limiter.unit)} at {show_share(limiter.busy)})."
            )
        case other:
            assert_never(other)


def _roof_sentence(limiter: AtRoof) -> str:
    """Return which unit is at its roof, and what helps there."""
    match limiter:
        case AtRoof(unit=Unit.L2, for_loads=float(waiting)):
            return (
                f"The L2 cache is {show_share(limiter.share)} busy with what streams through it, and "
                f"{show_share(waiting)} of a warp's time goes to loads: fewer bytes help, and so do more loads under way."
            )
        case AtRoof(for_loads=float(waiting)):
            return (
                f"Device memory is {show_share(limiter.share)} busy, of about {show_share(BY_LOADS)} that loads "
                f"reach, and {show_share(waiting)} of a warp's time goes to loads: fewer bytes help, and so do "
                "more loads under way."
            )
        case AtRoof(few_warps=float(warps)):
            words = unit_words(limiter.unit)
            return (
                f"{words[0].upper()}{words[1:]} is {show_share(limiter.share)} busy{_by_few(warps)}: less work "
                "for it helps, and so do more warps or more independent work per thread."
            )
        case AtRoof(unit=Unit.TENSOR, share=share) if share < NEAR_PEAK:
            return (
                f"The tensor pipe is {show_share(share)} busy: fewer operations, a narrower type, or a kernel that "
                "keeps it busier helps (libraries reach 70 % to 90 % of it)."
            )
        case AtRoof(unit=Unit.DRAM, share=share) if share < COPIES_REACH:
            return (
                f"Device memory is {show_share(share)} busy, of about {show_share(BY_LOADS)} that loads reach: "
                "fewer bytes help."
            )
        case _:
            helps = _HELPS.get(limiter.unit, "only less work for it, or another unit, helps")
            words = unit_words(limiter.unit)
            return f"{words[0].upper()}{words[1:]} is {show_share(limiter.share)} busy: {helps}."


def _by_few(warps: float) -> str:
    return f" by {show_share(warps)} of the warps that an SM has room for"


def _wait_words(limiter: LatencyBound) -> str:
    if limiter.stall == Stall.SEVERAL:
        return "warps wait for several things, for none of them 30 % of their time"
    words = stall_words(limiter.stall)
    if limiter.share is None:
        return f"warps wait for {words}"
    return f"{show_share(limiter.share)} of a warp's time goes to {words}"


def limit_object(limiter: Limiter | None) -> dict[str, object]:
    """Return the limit as JSON values: its name, the share that decided it (or null), in words."""
    share = None if limiter is None or isinstance(limiter, UnknownLimiter) else limiter.share
    return {
        "name": limiter.name if limiter else "unknown",
        "share": share,
        "text": limit_sentence(limiter),
    }
