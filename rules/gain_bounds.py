"""What a kernel's limit lets a change win: an upper bound, from how busy each unit stays."""

from __future__ import annotations

import math
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.facts.busy import DEVICE_MEMORY, timed_shares
from gpuadvise.advisor.facts.limit_words import unit_words
from gpuadvise.advisor.facts.limiter import (
    AT_ROOF,
    AtRoof,
    Imbalance,
    IssueBound,
    LastWave,
    LatencyBound,
    TooLittleWork,
    UnknownLimiter,
    unread_units,
)
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import at_work, is_short
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.quantity import show_number, show_seconds, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import Gain, GainKind
from gpuadvise.rules.model import Family, Priority
from gpuadvise.rules.report import priority_of
from gpuadvise.rules.thresholds import LARGEST_GAIN, STARTING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.rules.advice import Advice
    from gpuadvise.rules.model import Rule

WORTHWHILE = number(
    1.1,
    "gain that is worth an hour: below it a finding is low",
    "factor",
    "our judgement",
    LaunchSet.RECORDED,
)
NOTABLE = number(1.05, "gain that is worth a word", "factor", "our judgement", LaunchSet.RECORDED)
_MEMORY = frozenset({Unit.DRAM, Unit.L2, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.TEX})
_SHARED = frozenset({Unit.L1_SHARED, Unit.LSU, Unit.MEMORY})
_GLOBAL_WAITS = frozenset(
    {
        Stall.LONG_SCOREBOARD,
        Stall.LG_THROTTLE,
        Stall.DRAIN,
        Stall.MEMBAR,
        Stall.TEX_THROTTLE,
        Stall.SEVERAL,
        None,
    }
)
_SHARED_WAITS = frozenset(
    {Stall.SHORT_SCOREBOARD, Stall.MIO_THROTTLE, Stall.BARRIER, Stall.SEVERAL, None}
)
_MANY_SPILLS = number(
    0.05,
    "instructions that spill, in a grid that leaves SMs idle",
    "requests per instruction",
    "our judgement: as heavy use of local memory",
    LaunchSet.RECORDED,
)
_L1_OF_FEW_BLOCKS = number(
    0.5,
    "L1 that rows read by one thread each keep busy, in a grid smaller than the GPU",
    "share of the time that SMs work",
    "measured on an H100: 0.52 and 0.56 beside 8 sectors for each needed, 0.3 at most elsewhere",
    LaunchSet.SEVENTH,
)
_FEW_LANES = number(
    8.0,
    "active threads of a warp in a small or uneven grid",
    "threads",
    "our judgement: three of four lanes wait for the others; 3.7 where each takes a line of a text",
    LaunchSet.NINTH,
)
_FEWER_INSTRUCTIONS = (
    Family.DIVERGENCE,
    Family.ARITHMETIC,
    Family.PRODUCTS,
    Family.REUSE,
    Family.SPILLS,
    Family.WIDTH,  # a wide access takes one instruction for several
)
# Families that have a test of their own, whatever else limits the kernel.
_ALWAYS = frozenset({Family.GRID, Family.COPIES, Family.ROOFLINE})


def admits(limiter: Limiter, family: Family, profile: KernelProfile | None = None) -> bool:
    """Return whether a change of *family* can lift *limiter*, as far as *profile* shows."""
    if family in _ALWAYS:
        return True
    if family in (Family.RESIDENCY, Family.LATENCY) and near_roof(limiter):
        return True
    match limiter:
        case UnknownLimiter():
            return True
        case TooLittleWork() | LastWave() | Imbalance():
            # Another unit shortens each block, and so the last or the longest one.
            few = isinstance(limiter, TooLittleWork)
            last = isinstance(limiter, LastWave)  # more blocks at once also fill it
            if last and family is Family.RESIDENCY:
                return True
            if profile is not None and _holds_each_block(profile, family, few=few):
                return True
            return family in ((Family.LATENCY,) if few else (Family.ARITHMETIC, Family.PRODUCTS))
        case IssueBound():
            if family is Family.LATENCY:
                return limiter.for_loads is not None
            return family in _FEWER_INSTRUCTIONS
        case AtRoof():
            issue = (profile.issue_busy if profile else None) or 0.0
            # Issue slots at their roof as well, so that fewer instructions help as far as the other unit allows.
            by_memory = limiter.unit in (*_MEMORY, Unit.TENSOR)
            fewer = family in ((Family.ARITHMETIC,) if by_memory else _FEWER_INSTRUCTIONS)
            return (fewer and issue >= AT_ROOF) or _lifts_roof(limiter.unit, family)
        case LatencyBound():
            return _shortens(limiter.stall, family)
        case other:
            assert_never(other)


def _holds_each_block(profile: KernelProfile, family: Family, *, few: bool) -> bool:
    """Return whether what *family* changes keeps the blocks themselves waiting, on SMs that have some."""
    if family is Family.COALESCING:
        least = _L1_OF_FEW_BLOCKS if few else AT_ROOF
        return at_work(profile, profile.l1_busy or 0.0) >= least
    if family is Family.SPILLS:  # with few warps beside them nothing hides them
        return (profile.spill_requests or 0.0) >= _MANY_SPILLS * (profile.instructions or math.inf)
    if family is Family.DIVERGENCE:  # a warp takes as long as its longest lane
        return (profile.active_threads or WARP_SIZE) <= _FEW_LANES
    wait = profile.top_stall
    return family is Family.BANKS and wait is not None and wait[0] in _SHARED_WAITS


def near_roof(limiter: Limiter | None) -> bool:
    """Return whether device memory, or L2 on the way there, is the limit, but would be busier with more loads under way."""
    return isinstance(limiter, AtRoof) and limiter.for_loads is not None


def _lifts_roof(unit: str, family: Family) -> bool:
    match family:
        case Family.COALESCING | Family.SPILLS | Family.REUSE:
            return unit in _MEMORY
        case Family.BANKS:
            return unit in _SHARED
        case Family.ATOMICS:
            return unit == Unit.L2 or unit in _SHARED
        case Family.PRODUCTS:  # whole tiles of operands go to tensor cores at once
            return unit in _SHARED or unit not in (*_MEMORY, Unit.TENSOR)
        case Family.WIDTH:
            return unit in (Unit.DRAM, Unit.L1_SHARED, Unit.LSU, Unit.L2, Unit.ADU)
        case Family.DIVERGENCE:  # an access of few lanes takes as long as one of all
            return unit in _SHARED or unit not in (*_MEMORY, Unit.TENSOR)
        case Family.ARITHMETIC:
            return unit not in _MEMORY and unit != Unit.TENSOR
        # Near a roof the first two may, and the others always do: that is asked before.
        case Family.RESIDENCY | Family.LATENCY | Family.GRID | Family.COPIES | Family.ROOFLINE:
            return False
        case other:
            assert_never(other)


def _shortens(stall: str | None, family: Family) -> bool:
    match family:
        case Family.COALESCING | Family.WIDTH | Family.SPILLS | Family.REUSE:
            return stall in _GLOBAL_WAITS
        case Family.BANKS:
            return stall in _SHARED_WAITS
        case (
            Family.RESIDENCY
            | Family.DIVERGENCE
            | Family.ARITHMETIC
            | Family.PRODUCTS
            | Family.LATENCY
            | Family.ATOMICS
            | Family.GRID
            | Family.COPIES
            | Family.ROOFLINE
        ):
            return True
        case other:
            assert_never(other)


def bounded(
    advice: Advice,
    rule: Rule,
    profile: KernelProfile | None,
    *,
    other_kernel: bool = False,
    few_warps: bool = False,
) -> Advice:
    """Return *advice* with a gain that the busiest unit left over allows, where that is known.

    *other_kernel*: what is changed is the call of a library, which then runs another one. *few_warps*: the
    grid leaves most of each SM empty.
    """
    if profile is None or rule.family is None:
        return advice
    shares = profile.unit_shares
    if not shares:
        return advice
    if rule.family is Family.GRID:
        advice = _with_coalescing(advice, profile, shares)
    if rule.family is Family.SPILLS and few_warps:
        advice = advice.but(gain=_without_waits(advice, profile) or advice.gain)
    if other_kernel and rule.family is Family.GRID and few_warps:
        shares, advice = _kept(shares, _OPERATIONS), advice.but(gain=None)
    elif other_kernel and rule.family not in _SAME_KERNEL:
        shares, advice = _kept(shares, _BYTES), advice.but(gain=None)
    elif rule.family is Family.COALESCING and few_warps:  # a warp instead of a thread per row
        advice = advice.but(gain=None)
    if advice.gain is None and unread_units(profile):
        return advice  # what is left over is not known
    unit, share = _busiest_after(shares, advice.relief or {})
    words = (advice.left or {}).get(unit, "")
    less = share < _NOTABLY_LESS * shares.get(unit, 0.0)
    name = unit_words(unit)
    left = left_over(
        f"{name} {'stay' if ' and ' in name else 'stays'} {busy_words(share)} busy"
        f"{f' {words}' if words else ''}{f', now {show_share(shares[unit])}' if less else ''}",
        share,
    )
    if advice.gain is None or advice.gain.upper_bound > left.upper_bound:
        return advice.but(gain=left)
    if advice.gain.kind is GainKind.KERNEL_TIME:
        return advice
    return advice.but(gain=replace(advice.gain, kind=GainKind.KERNEL_TIME))


# Another kernel of a library moves the same bytes. It does the same operations, too, unless another size or
# layout is what changes them: rows of 1,009 points took a transform 4.6 times as long as rows of 1,024.
_BYTES = (Unit.DRAM, Unit.TENSOR)
_OPERATIONS = (*_BYTES, Unit.FMA, Unit.FP16, Unit.FP64)
# These change what any kernel has to do, or leave it as it is.
_SAME_KERNEL = (Family.PRODUCTS, Family.GRID, Family.COPIES, Family.ROOFLINE)
_L2_AHEAD = number(
    1.2,
    "L2's share per what its sectors need",
    "",
    "66 % where a copy keeps memory 55 % busy; 12.4 % in a launch that became 9.1 times as fast",
    LaunchSet.SIXTH,
)
_SCATTERED = number(
    1.5, "sectors moved for each needed, of blocks for rows", "", "our judgement", LaunchSet.SIXTH
)


def _kept(shares: Mapping[str, float], units: Collection[str]) -> dict[str, float]:
    """Return those of *shares* that are of *units*; all of them where none is."""
    return {unit: share for unit, share in shares.items() if unit in units} or dict(shares)


def _with_coalescing(advice: Advice, profile: KernelProfile, shares: Mapping[str, float]) -> Advice:
    """Return *advice* on the grid with the relief that comes with it.

    More blocks for rows that lie apart are a warp instead of a thread for each.
    """
    moved, needed = profile.global_sectors or 0.0, profile.global_sectors_ideal or 0.0
    if advice.relief:
        return advice
    kept = needed / moved if moved > _SCATTERED * needed > 0 else 1.0
    relief: dict[str, float] = {
        unit: shares[unit] * kept for unit in (Unit.L1_SHARED, Unit.LSU, Unit.L2) if unit in shares
    }
    if Unit.L2 in relief:
        relief[Unit.L2] /= _L2_AHEAD
        if is_short(profile):  # its start keeps L2 busy, whatever the grid
            l1, dram = shares.get(Unit.L1_SHARED, 1.0), shares.get(Unit.DRAM, 1.0)
            relief[Unit.L2] = min(relief[Unit.L2], max(l1, dram))
    return advice.but(relief=relief)


def _without_waits(advice: Advice, profile: KernelProfile) -> Gain | None:
    """Return what a warp would win that waits for no memory, and for what else it does in fewer instructions.

    Where no other warps work meanwhile, a launch is as long as its warps are.
    """
    now, then = profile.unit_shares.get(Unit.ISSUE), (advice.relief or {}).get(Unit.ISSUE)
    if not profile.stalls or not now or then is None:
        return None
    waits = sum(profile.stalls.get(stall, 0.0) for stall in _MEMORY_WAITS)
    kept = then / now
    return left_over(
        f"warps wait for memory {show_share(waits)} of their time; without that, and with "
        f"{show_share(kept)} of the instructions, it is {show_share((1 - waits) * kept)}",
        (1 - waits) * kept,
    )


_MEMORY_WAITS = (Stall.LONG_SCOREBOARD, Stall.LG_THROTTLE, Stall.DRAIN, Stall.MEMBAR)
# Shares below this are noise of a counter.
_NOISE = number(1e-4, "noise of a counter", "share", "our judgement", LaunchSet.SIXTH)


def busy_words(share: float) -> str:
    """Return *share* of a unit's peak in words; what is next to nothing has no digits."""
    return f"less than {show_share(_NOISE)}" if share < _NOISE else show_share(share)


_NOTABLY_LESS = number(
    0.99,
    "share of a unit now that shows as less",
    "",
    "less does not show in a figure of three digits",
)
EMPTY = number(
    1.5e-6,
    "an empty kernel",
    "s",
    "measured on an H100 and an H200: one block that fills a few words takes 1.66 us",
    LaunchSet.FIFTH,
)
_OF_A_LAUNCH = (GainKind.KERNEL_TIME, GainKind.KERNEL_THROUGHPUT)


def bounded_by_start(advice: Advice, rule: Rule, seconds: float | None) -> Advice:
    """Return *advice* with a gain that leaves a launch of *seconds* the time of an empty kernel."""
    gain = advice.gain
    if gain is None or not seconds or rule.fewer_launches:
        return advice
    if gain.kind not in _OF_A_LAUNCH or gain.upper_bound * EMPTY <= seconds:
        return advice
    how = f"{show_seconds(seconds)} / about {show_seconds(EMPTY)}, the time of an empty kernel"
    most = max(1.0, seconds / EMPTY)
    return advice.but(gain=Gain(kind=GainKind.KERNEL_TIME, upper_bound=most, how=how))


# What such a change takes from a kernel is bytes, or operations: these bound it no longer.
_FEWER_BYTES = frozenset({Family.COALESCING, Family.REUSE, Family.SPILLS, Family.PRODUCTS})
_FEWER_OPERATIONS = frozenset({Family.ARITHMETIC, Family.PRODUCTS})


def bounded_by_times(advice: Advice, rule: Rule, facts: Facts) -> Advice:
    """Return *advice* with a gain that bytes and operations in the given time leave, where they do.

    A roofline rule says itself what its own change leaves.
    """
    gain = advice.gain
    if rule.family is Family.ROOFLINE or (gain is None and not isinstance(facts.limiter, AtRoof)):
        return advice
    shares = timed_shares(facts)
    if rule.family in _FEWER_BYTES:
        shares.pop(DEVICE_MEMORY, None)
    if rule.family in _FEWER_OPERATIONS:
        shares = {unit: share for unit, share in shares.items() if unit == DEVICE_MEMORY}
    if not any(shares.values()):
        return advice
    unit, share = max(shares.items(), key=itemgetter(1))
    left = left_over(f"{unit} is {show_share(share)} busy by the times given", share)
    if gain.upper_bound <= left.upper_bound if gain else priority_of(rule, advice) is Priority.LOW:
        return advice
    return advice.but(gain=left)


def left_over(what: str, share: float) -> Gain:
    """Return the gain that *what*, which takes *share* of the time, leaves; up to where it says no more."""
    if share * LARGEST_GAIN < 1:
        return Gain(
            kind=GainKind.KERNEL_TIME,
            upper_bound=LARGEST_GAIN,
            how=f"{what}: beyond {LARGEST_GAIN:,.0f}",
        )
    return Gain(
        kind=GainKind.KERNEL_TIME, upper_bound=1 / share, how=f"{what}: 1 / {show_number(share)}"
    )


def _busiest_after(shares: Mapping[str, float], relief: Mapping[str, float]) -> tuple[str, float]:
    after = {unit: relief.get(unit, share) for unit, share in shares.items()}
    return max(after.items(), key=lambda item: item[1])


def launched_at_once(profile: KernelProfile, blocks: int, sms: int) -> Gain:
    """Return the bound in launches that run at once: how many there are, a part of a run does not tell."""
    limits = profile.block_limits
    known = (limits.blocks, limits.registers, limits.shared_memory, limits.warps)
    slots = sms * min((limit for limit in known if limit), default=1)
    seconds = profile.seconds or STARTING
    return Gain(
        kind=GainKind.KERNEL_TIME,
        upper_bound=max(1.0, slots / blocks * (1 + STARTING / seconds)),
        how=f"such launches that fit at once, block slots / blocks = {slots:,} / {blocks}, each of which costs {show_seconds(STARTING)} besides",
    )
