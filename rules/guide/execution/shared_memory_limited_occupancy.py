"""Shared memory that costs a block which some bytes fewer would win."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.answer import Resource
from gpuadvise.advisor.occupancy.grid import filled_by_grid
from gpuadvise.advisor.occupancy.next_steps import Knob, next_steps
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_share
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.occupancy_words import (
    also_needed,
    residency_priority,
    too_few_in_flight,
    warps_gain,
)
from gpuadvise.rules.sources import guide
from gpuadvise.rules.waits import warps_may_help

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.facts.timing import Traffic, Work
    from gpuadvise.advisor.occupancy.answer import Occupancy


def check(
    device: Device,
    occupancy: Occupancy,
    profile: KernelProfile | None = None,
    traffic: Traffic | None = None,
    work: Work | None = None,
    independent_instructions: float | None = None,
    grid: tuple[int, int, int] | None = None,
    sm_count: int | None = None,
    limiter: Limiter | None = None,
) -> Verdict:
    """Advise the bytes to cut when shared memory limits a low occupancy."""
    if not too_few_in_flight(occupancy, independent_instructions):
        return PASSED
    if Resource.SHARED_MEMORY not in occupancy.limiters:
        return PASSED
    if not filled_by_grid(occupancy, grid, sm_count):
        return PASSED
    if not warps_may_help(limiter, profile, traffic, device, work):
        return PASSED
    steps = {step.knob: step for step in next_steps(occupancy)}
    step = steps.get(Knob.SHARED_MEMORY)
    if step is None or Knob.CARVEOUT in steps:
        return PASSED  # shared-memory-carveout: the SM can give more before the kernel takes less
    return Advice(
        message=(
            f"{step.start:,} bytes of shared memory per block let an SM hold "
            f"{plural(occupancy.blocks_per_sm, 'block')} ({show_share(occupancy.occupancy)} "
            f"occupancy); with {step.to:,} bytes it holds {step.after.blocks_per_sm} "
            f"({show_share(step.after.occupancy)}){also_needed(step)}."
        ),
        action=(
            f"Cut {plural(step.start - step.to, 'byte')} per block: a smaller tile, a narrower type, or "
            f"less padding ({device.name} adds "
            f"{show_bytes(device.limits.shared_memory_reserved_per_block)} to each block). "
            "Make the tile size a template parameter and time several."
        ),
        evidence=(
            given("shared memory per block", step.start, "bytes"),
            derived("shared memory for one more block", step.to, "bytes"),
            derived("occupancy then", step.after.occupancy, "share"),
        ),
        gain=warps_gain(occupancy, step, grid, sm_count),
        priority=residency_priority(occupancy, [step]),
    )


RULE = Rule(
    id="shared-memory-limited-occupancy",
    title="Cut shared memory to the next step",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.LAUNCH, Kind.BINARY),
    family=Family.RESIDENCY,
    why="An SM divides its shared memory among whole blocks and leaves the rest unused.",
    when=(
        "Shared memory limits an occupancy below 50 % (times the independent instructions per thread), fewer bytes would win a block, and no "
        "unit is known to be busy."
    ),
    citations=guide("11.4", "10.6"),
    folds_into="register-limited-occupancy",
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "regs": 32, "block": 128, "dynamic_smem": "40KiB"},
        quiet={"gpu": "h200", "regs": 32, "block": 256, "dynamic_smem": "8KiB"},
        edges=(
            {"gpu": "h200", "regs": 32, "block": 128, "dynamic_smem": 28_161},
            {"gpu": "h200", "regs": 32, "block": 128, "dynamic_smem": 28_160},
        ),
    ),
)
