"""Values of a thread that live in local memory instead of registers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.model import occupancy as model
from gpuadvise.advisor.prose import plural
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Evidence,
    Examples,
    Kind,
    Priority,
    Rule,
    Topic,
    Verdict,
)
from gpuadvise.rules.occupancy_words import occupancy_change
from gpuadvise.rules.sources import guide, programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Compiled, LaunchBounds
    from gpuadvise.advisor.occupancy.answer import Occupancy


def check(
    spill_bytes: int | None = None,
    stack_bytes: int | None = None,
    spill_requests: float | None = None,
    compiled: Compiled | None = None,
    occupancy: Occupancy | None = None,
    launch_bounds: LaunchBounds | None = None,
) -> Verdict:
    """Advise when registers spill, or when a stack frame holds local arrays."""
    if spill_bytes:
        return _spills(spill_bytes, compiled, occupancy, launch_bounds)
    if spill_requests:
        return _requests(spill_requests)
    if stack_bytes and spill_bytes is not None:
        return _frame(stack_bytes)
    if stack_bytes:
        return _unknown(stack_bytes)
    return PASSED


def _spills(
    spill: int,
    compiled: Compiled | None,
    occupancy: Occupancy | None,
    bounds: LaunchBounds | None,
) -> Advice:
    bound = "up to " if compiled and not compiled.spills_exact else ""
    return Advice(
        message=(
            f"The compiler spills: {bound}{plural(spill, 'byte')} of stores and loads per thread "
            "for values that did not fit the registers it was allowed."
        ),
        action=(
            f"Allow more registers ({_allowed(bounds)}), or shorten the life of "
            f"values{_price(spill, occupancy)}. From "
            'CUDA 13.0 on, asm volatile(".pragma \\"enable_smem_spilling\\";") at the start of the '
            "kernel makes it spill to shared memory first."
        ),
        evidence=(
            Evidence(
                label="spilled, stores and loads", value=spill, unit="bytes", source="compiler"
            ),
        ),
    )


def _allowed(bounds: LaunchBounds | None) -> str:
    """Return the change that lets the compiler use more registers."""
    if bounds and bounds.blocks and bounds.blocks > 1:
        now, then = bounds.blocks, bounds.blocks - 1
        return f"write __launch_bounds__({bounds.threads}, {then}) instead of {now} blocks"
    return "raise -maxrregcount or lower the blocks in __launch_bounds__"


def _price(spill: int, occupancy: Occupancy | None) -> str:
    """Return what registers for the spilled values cost; a store and a load are one value."""
    if occupancy is None or not occupancy.launchable or not occupancy.launch.registers:
        return ""
    more = min(-(-spill // 8), occupancy.hardware.max_registers_per_thread)
    wanted = min(occupancy.launch.registers + more, occupancy.hardware.max_registers_per_thread)
    then = model(occupancy.hardware, replace(occupancy.launch, registers=wanted))
    if not then.launchable:
        return f"; {wanted} registers need blocks of fewer than {then.launch.threads:,} threads"
    return f"; at {wanted} registers {occupancy_change(occupancy, then)}"


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


def _frame(stack: int) -> Advice:
    return Advice(
        message=(
            f"A stack frame of {plural(stack, 'byte')} per thread without 1 byte of spills: most "
            "often an array indexed by a variable, which registers cannot hold."
        ),
        action=(
            "Unroll the loops over the array so that every index is a constant, or move it to "
            "shared memory. Math functions in double precision also use some 40 bytes."
        ),
        evidence=(Evidence(label="stack frame", value=stack, unit="bytes", source="compiler"),),
    )


def _unknown(stack: int) -> Advice:
    return Advice(
        message=(
            f"A stack frame of {plural(stack, 'byte')} per thread: spilled registers, an array "
            "indexed by a variable, or both."
        ),
        action=(
            "Compile with -Xptxas -v, which tells spills from arrays: spills want more registers, "
            "arrays want constant indices."
        ),
        evidence=(Evidence(label="stack frame", value=stack, unit="bytes", source="compiler"),),
    )


RULE = Rule(
    id="register-spills",
    title="Keep values in registers",
    topic=Topic.MEMORY,
    priority=Priority.HIGH,
    kinds=(Kind.BINARY, Kind.PROFILE),
    why="Local memory is device memory: an access that misses the cache takes hundreds of cycles.",
    when="The compiler spills registers, or the kernel has a stack frame.",
    citations=(*guide("10.2.4", "9.2.3"), programming_guide("Local Memory")),
    check=check,
    either=("spill_bytes", "spill_requests", "stack_bytes"),
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
