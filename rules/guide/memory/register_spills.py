"""Values of a thread that live in local memory instead of registers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Evidence, Verdict, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.gain_bounds import relieved
from gpuadvise.rules.guide.measurement.debug_build import is_debug
from gpuadvise.rules.model import Conflict, Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.occupancy_words import step_up, unknown_block, wider
from gpuadvise.rules.sources import guide, programming_guide
from gpuadvise.rules.workload import has_shared_memory, requests_to_memory

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Compiled, LaunchBounds
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.occupancy.answer import Occupancy

# Slow paths of sinf, or double mathematics, take some 40 bytes that few launches ever touch.
SMALL_FRAME = number(
    64,
    "small frame",
    "bytes",
    "our judgement: slow paths of mathematics take some 40",
    LaunchSet.RECORDED,
)
FEW_BYTES = number(
    16,
    "few spilled bytes",
    "bytes per thread",
    "our judgement: a word or two outside of loops",
    LaunchSet.RECORDED,
)
RARE = number(
    0.005,
    "rare use",
    "requests per instruction",
    "our judgement: below it nobody notices them",
    LaunchSet.RECORDED,
)
HEAVY = number(
    0.05,
    "heavy use",
    "requests per instruction",
    "our judgement of profiles on an H200",
    LaunchSet.RECORDED,
)
_FOUND_IN_L1 = number(
    0.9, "spills found in L1", "share", "measured: 97 % and 99 %", LaunchSet.RECORDED
)
_L1_AT_WORK = number(0.25, "L1 at work", "share of its peak", "our judgement", LaunchSet.RECORDED)
# Instructions that go with each request, itself included. Measured on an H100 and an H200 are 0.5 to 1.06 in
# five programs with spills, 1.7 to 6.3 in five with an array that a variable indexes: its address, and a loop's
# counter, comparison and jump.
WITH_SPILL = number(
    1.1,
    "instructions that go with a request, of spills",
    "instructions; the gain is bounded by what is left",
    "measured: 0.5 to 1.06 in five programs on an H100 and an H200",
    LaunchSet.FOURTH,
)
WITH_ARRAY = number(
    6.0,
    "instructions that go with a request, of arrays",
    "instructions; the gain is bounded by what is left, and by the sectors of global accesses",
    "measured: 1.7 to 6.3 in five programs on an H100 (address, and a loop's counter, comparison and jump)",
    LaunchSet.FOURTH,
)
_LEAST_LEFT = number(
    0.01,
    "instructions left without spills, at least",
    "share",
    "where nothing is known of the others",
)


def check(
    spill_bytes: int | None = None,
    stack_bytes: int | None = None,
    spill_requests: float | None = None,
    compiled: Compiled | None = None,
    occupancy: Occupancy | None = None,
    launch_bounds: LaunchBounds | None = None,
    profile: KernelProfile | None = None,
    local_arrays: tuple[str, ...] | None = None,
    compile_flags: tuple[str, ...] | None = None,
) -> Verdict:
    """Advise when registers spill, or when a stack frame holds local arrays; not of a debug build."""
    if is_debug(compile_flags, compiled):
        return PASSED  # debug-build says that variables stay in local memory there
    counted = _local_share(profile) if profile else None
    if counted is not None and counted < RARE:
        return PASSED  # what the code has, this launch hardly runs through
    if spill_bytes:
        return _measured(_spills(spill_bytes, compiled, occupancy, launch_bounds), profile, counted)
    if spill_requests and profile is None:
        return _requests(spill_requests)
    if profile is not None and counted is not None:
        local = _local(profile, counted, occupancy, launch_bounds)
        return _measured(local, profile, counted)
    if stack_bytes and spill_bytes is not None:
        return _frame(stack_bytes, _arrays(local_arrays), compiled)
    if stack_bytes:
        return _unknown(stack_bytes, _arrays(local_arrays))
    if stack_bytes is None and spill_requests is None:
        return undecided("stack_bytes")  # a frame without spills holds arrays
    return PASSED


def _spills(
    spill: int, compiled: Compiled | None, occupancy: Occupancy | None, bounds: LaunchBounds | None
) -> Advice:
    bound = "up to " if compiled and not compiled.spills_exact else ""
    return Advice(
        message=(
            f"The compiler spills: {bound}{plural(spill, 'byte')} of stores and loads per thread "
            "for values that did not fit the registers it was allowed."
        ),
        action=(
            f"{_remedy(bounds, occupancy, spill)}. From "
            'CUDA 13.0 on, asm volatile(".pragma \\"enable_smem_spilling\\";") at the start of the '
            "kernel makes it spill to shared memory first."
        ),
        evidence=(
            Evidence(
                label="spilled, stores and loads", value=spill, unit="bytes", source="compiler"
            ),
        ),
        priority=Priority.LOW if spill <= FEW_BYTES else None,
    )


def _remedy(bounds: LaunchBounds | None, occupancy: Occupancy | None, spill: int) -> str:
    most = occupancy.hardware.max_registers_per_thread if occupancy else None
    if occupancy and most and (occupancy.launch.registers or 0) >= most:
        return (
            f"A thread has all {most} registers that the hardware gives: split the kernel, let a "
            "thread compute fewer elements, or keep values in shared memory"
        )
    now = occupancy.launch.registers if occupancy else None
    if occupancy is None or most is None or not now:
        return f"Allow more registers ({_allowed(bounds)}), or shorten the life of values"
    if occupancy.launch.assumed_threads:
        return f"Allow more registers, {unknown_block(occupancy)}, or shorten the life of values"
    # A value that is stored once and loaded once takes 8 bytes here and 1 register there.
    wanted = min(now + -(-spill // 8), most)
    step = wider(occupancy, wanted)
    less = wider(occupancy) if step is None else None
    threads = f"{wanted} registers need blocks of fewer than {occupancy.launch.threads:,} threads"
    chosen = step or less
    if chosen is None:
        return f"Shorten the life of values; {threads}"
    allowed = step_up(chosen, occupancy, bounds)
    return f"Allow {allowed}, or shorten the life of values{f'; {threads}' if less else ''}"


def _local_share(profile: KernelProfile) -> float | None:
    """Return requests to local memory per executed instruction; None where nobody counted."""
    ways = (profile.local_loads.requests, profile.local_stores.requests)
    counts = [count for count in ways if count is not None]
    requests = max(sum(counts), profile.spill_requests or 0.0)
    if not profile.instructions or (not counts and profile.spill_requests is None):
        return None
    if not counts and not requests and (share := _uncounted(profile)):
        return share
    return requests / profile.instructions


def _uncounted(profile: KernelProfile) -> float | None:
    """Return requests to local memory per instruction, at least, by a page that counts spills alone.

    It speaks of local memory that keeps L1 at work: then its instructions to memory go there, where L1
    has what they ask for, or but for one per sector that global accesses need.
    """
    spoken = profile.local_loads.used_bytes or profile.local_stores.used_bytes
    if not spoken or has_shared_memory(profile) or (profile.l1_busy or 0.0) < _L1_AT_WORK:
        return None
    if (profile.l1_hit_rate or 0.0) >= _FOUND_IN_L1:
        return profile.memory_instructions
    requests, needed = requests_to_memory(profile), profile.global_sectors_ideal
    if requests is None or needed is None or not profile.instructions:
        return None
    return max(0.0, requests - needed) / profile.instructions


def _local(
    profile: KernelProfile, share: float, occupancy: Occupancy | None, bounds: LaunchBounds | None
) -> Advice:
    spilled = profile.spill_requests or 0.0
    what = "spilled registers" if spilled else "arrays indexed by a variable, or a stack"
    more = (
        f"{_remedy(bounds, occupancy, 8)}."
        if spilled
        else "Unroll the loops over the array so that every index is a constant, or move it to "
        "shared memory."
    )
    return Advice(
        message=(f"{show_share(share)} of the executed instructions go to local memory: {what}."),
        action=f"{more} -Xptxas -v says how many bytes spill.",
        evidence=(profiled("requests to local memory / instructions", share, "share"),),
    )


def _measured(advice: Advice, profile: KernelProfile | None, share: float | None) -> Advice:
    """Return *advice* weighed by how much of what runs goes to local memory."""
    if profile is None or share is None:
        return advice
    relief = relieved(profile, 1e6, Unit.DRAM, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.ADU)
    part = _global_part(profile)
    relief |= relieved(profile, 1 / max(part, 1e-6), Unit.L2)
    per_request = WITH_SPILL if profile.spill_requests else WITH_ARRAY
    instructions = max(1 - per_request * share, profile.kept_instructions, _LEAST_LEFT)
    relief |= relieved(profile, 1 / instructions, Unit.ISSUE, Unit.ALU, Unit.FMA, Unit.CBU)
    return replace(
        advice,
        relief=relief,
        left=_left(instructions, per_request, part),
        priority=Priority.LOW if share < HEAVY else None,
    )


def _left(instructions: float, per_request: float, part: float) -> dict[str, str]:
    words = (
        f"with {show_share(instructions)} of the instructions: up to {per_request:g} go with a request to "
        "local memory"
    )
    sectors = f"with {show_share(part)} of the sectors, those of global accesses"
    issued = (Unit.ISSUE, Unit.ALU, Unit.FMA, Unit.CBU)
    return {Unit.L2: sectors, **dict.fromkeys(issued, words)}


def _global_part(profile: KernelProfile) -> float:
    """Return the part of L2's sectors that global accesses need, at least; 0 where nobody counted.

    As if L1 found nothing of local memory, and of global loads what it finds now.
    """
    loads, stores = profile.global_loads, profile.global_stores
    local = (profile.local_loads.sectors or 0.0) + (profile.local_stores.sectors or 0.0)
    if loads.sectors is None or stores.sectors is None or not local:
        return 0.0
    used_of_loads, used_of_stores = (
        (SECTOR if way.used_bytes is None else way.used_bytes) / SECTOR for way in (loads, stores)
    )
    needed = loads.sectors * min(used_of_loads, 1 - (profile.l1_load_hit_rate or 0.0))
    needed += stores.sectors * used_of_stores
    return needed / (needed + local)


def _allowed(bounds: LaunchBounds | None) -> str:
    """Return the change that lets the compiler use more registers."""
    if bounds and bounds.blocks and bounds.blocks > 1:
        now, then = bounds.blocks, bounds.blocks - 1
        return f"write __launch_bounds__({bounds.threads}, {then}) instead of {now} blocks"
    return (
        f"lower the threads in __launch_bounds__({bounds.threads})"
        if bounds
        else "raise -maxrregcount, or lower the blocks in __launch_bounds__"
    )


def _requests(requests: float) -> Advice:
    return Advice(
        message=f"The profile counts {requests:,.0f} requests to local memory for spilled registers.",
        action=(
            "Allow more registers (raise -maxrregcount or lower the blocks in "
            "__launch_bounds__), or shorten the life of values; -Xptxas -v says how many bytes "
            "spill."
        ),
        evidence=(profiled("requests for spilled registers", requests, "requests"),),
    )


def _arrays(names: tuple[str, ...] | None) -> str:
    """Return the arrays that the source declares in each thread."""
    return f" The source declares {and_list(names)}." if names else ""


def _frame(stack: int, arrays: str, compiled: Compiled | None) -> Advice:
    count = compiled.local_instructions if compiled else None
    seen = "" if count is None else f" Its own code loads and stores local memory {count:,} times."
    counted = Evidence(
        label="local loads and stores in the code", value=count or 0, unit="", source="compiler"
    )
    return Advice(
        message=(
            f"A stack frame of {plural(stack, 'byte')} per thread without 1 byte of spills: most "
            f"often an array indexed by a variable, which registers cannot hold.{arrays}{seen}"
        ),
        action=(
            "Unroll the loops over the array so that every index is a constant, or move it to "
            "shared memory. Math functions in double precision also use some 40 bytes."
        ),
        evidence=(
            Evidence(label="stack frame", value=stack, unit="bytes", source="compiler"),
            *(() if count is None else (counted,)),
        ),
        priority=Priority.LOW if stack <= SMALL_FRAME else None,
    )


def _unknown(stack: int, arrays: str) -> Advice:
    return Advice(
        message=(
            f"A stack frame of {plural(stack, 'byte')} per thread: spilled registers, an array "
            f"indexed by a variable, or both.{arrays}"
        ),
        action=(
            "Compile with -Xptxas -v, which tells spills from arrays: spills want more registers, "
            "arrays want constant indices."
        ),
        evidence=(Evidence(label="stack frame", value=stack, unit="bytes", source="compiler"),),
        priority=Priority.LOW if stack <= SMALL_FRAME else None,
    )


RULE = Rule(
    id="register-spills",
    title="Keep values in registers",
    topic=Topic.MEMORY,
    priority=Priority.HIGH,
    kinds=(Kind.BINARY, Kind.PROFILE),
    family=Family.SPILLS,
    why="Local memory is device memory: an access that misses the cache takes hundreds of cycles.",
    when=(
        "The compiler spills registers, or the kernel has a stack frame; low for up to 16 bytes of "
        "spills or 64 bytes of frame, and where a profile counts few requests to local memory; not for a debug build."
    ),
    citations=(*guide("10.2.4", "9.2.3"), programming_guide("Local Memory")),
    conflicts_with=(
        Conflict(
            rule="register-limited-occupancy",
            decide=(
                "These pull in opposite directions: more registers end the spills, fewer raise "
                "occupancy. End the spills first, then compare the run times of both builds."
            ),
            implied="low-occupancy",
        ),
    ),
    author_only=True,
    shape_decides=True,
    check=check,
    either=("spill_bytes", "spill_requests", "stack_bytes", "profile"),
    examples=Examples(
        fires={
            "gpu": "h200",
            "regs": 64,
            "block": 256,
            "compiled": {"spill_stores": 128, "spill_loads": 160, "stack": 128},
        },
        quiet={"compiled": {"spill_stores": 0, "spill_loads": 0, "stack": 0}},
        edges=(
            {"compiled": {"spill_stores": 0, "spill_loads": 0, "stack": 8}},
            {"compiled": {"stack": 0}},
        ),
    ),
)
