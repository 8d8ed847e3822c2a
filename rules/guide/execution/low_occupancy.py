"""Less than half of the warps an SM could hold, and nothing that shows it does not matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.grid import filled_by_grid
from gpuadvise.advisor.occupancy.next_steps import best_step, likely_steps, next_steps
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import derived
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.occupancy_words import (
    costs_independence,
    limiter_words,
    register_tile,
    residency_priority,
    step_list,
    too_few_in_flight,
    warps_gain,
)
from gpuadvise.rules.sources import guide
from gpuadvise.rules.waits import warps_may_help

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.code import LaunchBounds
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.facts.timing import Traffic, Work
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.next_steps import NextStep


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
    launch_bounds: LaunchBounds | None = None,
) -> Verdict:
    """Advise when occupancy is below half, the grid could fill more, and no unit is known busy."""
    if not too_few_in_flight(occupancy, independent_instructions):
        return PASSED
    if not warps_may_help(limiter, profile, traffic, device, work):
        return PASSED
    if not filled_by_grid(occupancy, grid, sm_count):
        return PASSED  # the grid, not a resource, limits what is resident
    steps = next_steps(occupancy)
    most = occupancy.hardware.max_warps_per_sm
    return Advice(
        message=(
            f"An SM of {device.name} holds {plural(occupancy.blocks_per_sm, 'block')} of "
            f"{plural(occupancy.launch.threads, 'thread')}: {occupancy.warps_per_sm} of {most} "
            f"warps, {show_share(occupancy.occupancy)} occupancy, limited by "
            f"{limiter_words(occupancy)}."
        ),
        action=_tile(occupancy)
        + _change(steps, occupancy, launch_bounds)
        + costs_independence(occupancy, independent_instructions),
        evidence=(
            derived("theoretical occupancy", occupancy.occupancy, "share"),
            derived("resident warps per SM", occupancy.warps_per_sm, "warps"),
            derived("limited by", limiter_words(occupancy)),
        ),
        gain=warps_gain(occupancy, best_step(likely_steps(steps) or steps), grid, sm_count),
        priority=residency_priority(occupancy, steps, ran=bool(profile or traffic or work)),
    )


def _change(steps: Sequence[NextStep], occupancy: Occupancy, bounds: LaunchBounds | None) -> str:
    """Return the steps; of a block that nobody gave, what would tell them."""
    if occupancy.launch.assumed_threads:
        return (
            f"No block was given: that of {plural(occupancy.launch.threads, 'thread')} is assumed, and no "
            "block holds more warps. Give --block for the steps from yours."
        )
    return step_list(steps, occupancy, bounds)


def _tile(occupancy: Occupancy) -> str:
    if not register_tile(occupancy):
        return ""
    return (
        f"{occupancy.launch.registers} registers at {show_share(occupancy.occupancy)} are normal for "
        "tiled matrix kernels: profile before you cut registers. "
    )


RULE = Rule(
    id="low-occupancy",
    title="Raise occupancy",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.LAUNCH, Kind.DEVICE),
    family=Family.RESIDENCY,
    why=(
        "While a warp waits for memory, other resident warps are what keeps the SM at work; "
        "few warps hide little of the wait."
    ),
    when=(
        "Theoretical occupancy, times the independent instructions per thread where they are "
        "known, is below 50 %, the grid has as many blocks as fit at once, and neither a profile nor times show a unit at "
        "60 % of its peak or more; or a profile shows device memory at 60 % to 75 %, nothing else at 60 %, and warps that "
        "wait for loads 60 % of their time; or a last wave that few SMs work on, and one wait of 40 %. Low where only "
        "fewer registers win a block, or a launch alone is known and no other step wins a third more warps."
    ),
    citations=guide("11.1", "10.1"),
    folds_into="tiny-blocks",
    silenced_by=("register-spills",),
    shape_decides=True,
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
