"""Values that did not fit a thread's registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.local_memory import local_share
from gpuadvise.advisor.occupancy.budget import wider
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import compiler_said, profiled
from gpuadvise.rules.guide.measurement.debug_build import is_debug
from gpuadvise.rules.local_memory import RARE, SMALL_FRAME, declared, local_evidence, weighed
from gpuadvise.rules.model import Conflict, Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.occupancy_words import step_up, unknown_block
from gpuadvise.rules.sources import guide, programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Compiled, LaunchBounds
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.occupancy.answer import Occupancy

FEW_BYTES = number(
    16,
    "few spilled bytes",
    "bytes per thread",
    "our judgement: a word or two outside of loops",
    LaunchSet.RECORDED,
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
    """Advise when registers spill, or may in a stack frame of which no more is known; not of a debug build."""
    if is_debug(compile_flags, compiled):
        return PASSED  # debug-build says that variables stay in local memory there
    counted = local_share(profile) if profile else None
    if counted is not None and counted < RARE:
        return PASSED  # what the code has, this launch hardly runs through
    if spill_bytes:
        return weighed(_spills(spill_bytes, compiled, occupancy, launch_bounds), profile, counted)
    if spill_requests and profile is None:
        return _requests(spill_requests)
    if profile is not None and counted is not None:
        if not profile.spill_requests:
            return PASSED  # local-arrays says what goes there
        return weighed(_profiled(counted, occupancy, launch_bounds), profile, counted)
    if stack_bytes and spill_bytes is None:
        return _unknown(stack_bytes, declared(local_arrays))
    if stack_bytes is None and spill_bytes is None and spill_requests is None:
        return undecided("stack_bytes")  # without a frame nothing spills
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
        evidence=(compiler_said("spilled, stores and loads", spill, "bytes"),),
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


def _profiled(share: float, occupancy: Occupancy | None, bounds: LaunchBounds | None) -> Advice:
    return Advice(
        message=f"{show_share(share)} of the executed instructions go to local memory: spilled registers.",
        action=f"{_remedy(bounds, occupancy, 8)}. -Xptxas -v says how many bytes spill.",
        evidence=(local_evidence(share),),
    )


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
        evidence=(compiler_said("stack frame", stack, "bytes"),),
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
        "The compiler spills registers, or the kernel has a stack frame of which nobody says what it holds; low for up "
        "to 16 bytes of spills or 64 bytes of frame, and where a profile counts few requests to local memory; not for a "
        "debug build."
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
        edges=({"compiled": {"stack": 8}}, {"compiled": {"stack": 0}}),
    ),
)
