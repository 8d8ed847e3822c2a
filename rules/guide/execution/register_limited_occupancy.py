"""Registers that cost a block which a few fewer would win."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.answer import Resource
from gpuadvise.advisor.occupancy.budget import wider
from gpuadvise.advisor.occupancy.grid import filled_by_grid
from gpuadvise.advisor.occupancy.next_steps import Knob, next_steps
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.occupancy_words import (
    also_needed,
    costs_independence,
    other_build,
    step_up,
    too_few_in_flight,
    warps_gain,
)
from gpuadvise.rules.sources import guide
from gpuadvise.rules.waits import warps_may_help

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.code import LaunchBounds
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.facts.timing import Traffic, Work
    from gpuadvise.advisor.occupancy.answer import Occupancy


def check(
    device: Device,
    occupancy: Occupancy,
    registers: int,
    profile: KernelProfile | None = None,
    traffic: Traffic | None = None,
    work: Work | None = None,
    independent_instructions: float | None = None,
    grid: tuple[int, int, int] | None = None,
    sm_count: int | None = None,
    launch_bounds: LaunchBounds | None = None,
    limiter: Limiter | None = None,
) -> Verdict:
    """Advise the next register step when registers limit a low occupancy."""
    if not too_few_in_flight(occupancy, independent_instructions):
        return PASSED
    if Resource.REGISTERS not in occupancy.limiters:
        return PASSED
    if occupancy.launch.assumed_threads:
        return undecided("launch.threads")  # the step to take is that of a block
    if not filled_by_grid(occupancy, grid, sm_count):
        return PASSED
    if not warps_may_help(limiter, profile, traffic, device, work):
        return PASSED
    step = next((s for s in next_steps(occupancy) if s.knob is Knob.REGISTERS), None)
    if step is None:
        return PASSED
    threads, blocks = occupancy.launch.threads, step.after.blocks_per_sm
    return Advice(
        message=(
            f"{registers} registers x {plural(threads, 'thread')} let an SM hold "
            f"{plural(occupancy.blocks_per_sm, 'block')} ({show_share(occupancy.occupancy)} "
            f"occupancy); with {step.to} registers it holds {blocks} "
            f"({show_share(step.after.occupancy)}){also_needed(step)}."
        ),
        action=other_build(occupancy, launch_bounds)
        or (
            f"{_capped(threads, blocks, step.to, launch_bounds)} Unlikely to pay: "
            f"{plural(registers - step.to, 'register')} fewer mostly mean as many values in local "
            "memory (of 71 such caps measured on an H200, 70 spilled and none was faster). Compile "
            f"with -Xptxas -v and look before you time it.{_other_way(occupancy, launch_bounds)}"
            f"{costs_independence(occupancy, independent_instructions)}"
        ),
        evidence=(
            given("registers per thread", registers, "registers"),
            derived("registers for one more block", step.to, "registers"),
            derived("occupancy then", step.after.occupancy, "share"),
        ),
        gain=warps_gain(occupancy, step, grid, sm_count),
        priority=Priority.LOW,
    )


def _other_way(occupancy: Occupancy, bounds: LaunchBounds | None) -> str:
    """Return the step up, which pays more often: 34 of 83 faster, 5 slower."""
    step = wider(occupancy)
    if step is None or step.after.blocks_per_sm < occupancy.blocks_per_sm:
        return ""
    return (
        f" The other way costs no block: {step_up(step, occupancy, bounds)}; of 83 builds with more "
        "registers 34 were faster and 5 slower."
    )


def _capped(threads: int, blocks: int, registers: int, bounds: LaunchBounds | None) -> str:
    """Return how to ask for fewer; -maxrregcount does nothing to a kernel with launch bounds."""
    if bounds is not None:
        return f"Write __launch_bounds__({threads}, {blocks}) instead of the present bounds."
    return (
        f"Declare the kernel __launch_bounds__({threads}, {blocks}), or compile its file with "
        f"-maxrregcount={registers} (CUDA 12.4 and later also know __maxnreg__({registers}), "
        "without launch bounds)."
    )


RULE = Rule(
    id="register-limited-occupancy",
    title="Cut registers to the next step",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.LAUNCH, Kind.BINARY),
    family=Family.RESIDENCY,
    why="Registers are given out in steps, so a few more than a step cost a whole block.",
    when=(
        "Registers limit an occupancy below 50 % (times the independent instructions per thread), fewer would win a block, and no unit is known "
        "to be busy."
    ),
    citations=(*guide("10.2.7.1", "9.2.6.1"), *guide("11.1.1", "10.1.1")),
    folds_into="shared-memory-carveout",
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "regs": 72, "block": 128},
        quiet={"gpu": "h200", "regs": 32, "block": 256},
        edges=(
            {"gpu": "h200", "regs": 65, "block": 256},
            {"gpu": "h200", "regs": 64, "block": 256},
        ),
    ),
)
