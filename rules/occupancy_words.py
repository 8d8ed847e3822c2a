"""Occupancy and its next steps in words, for the rules that speak of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.answer import Resource
from gpuadvise.advisor.occupancy.bounds import launch_bounds
from gpuadvise.advisor.occupancy.budget import Wider, register_budget
from gpuadvise.advisor.occupancy.next_steps import best_step, likely_steps
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import Gain, GainKind
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.facts.code import LaunchBounds
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.next_steps import NextStep

# From half of the warps on, more of them seldom help: guide 11.3.
LOW = number(0.5, "low occupancy", "share", "guide 11.1, 11.3")
# What a thread of a tiled matrix product keeps in registers: libraries' kernels have 128 to 255
# and run best with as few warps, a quarter of what an SM of a V100, A100 or H100 holds.
TILE_REGISTERS = number(
    128,
    "registers of a tiled product",
    "registers per thread",
    "our judgement: kernels of libraries with 128 to 255 registers use such memory and set the attribute",
    LaunchSet.RECORDED,
)
TILE_WARPS = number(
    16,
    "warps of tiles in registers",
    "warps per SM",
    "a quarter of what an SM of a V100, A100 or H100 holds",
    LaunchSet.FOURTH,
)
MANY_MORE = number(
    4 / 3,
    "many more warps",
    "warps then / now, where a launch alone is known",
    "our judgement: fewer hardly show in a time",
    LaunchSet.FIFTH,
)


def too_few_in_flight(occupancy: Occupancy, independent: float | None) -> bool:
    """Return whether less is in flight than half of the warps with an instruction each.

    *independent* instructions per thread hide latency like that many times the warps: guide 11.3.
    """
    return occupancy.launchable and occupancy.occupancy * (independent or 1) < LOW


def grid_brings_few(profile: KernelProfile) -> bool:
    """Return whether the grid has fewer than half of the blocks that fit at once: most of each SM is empty."""
    return profile.waves is not None and 0 < profile.waves < LOW


def register_tile(occupancy: Occupancy) -> bool:
    """Return whether the launch looks like a tiled product: many registers, few warps."""
    registers = occupancy.launch.registers or 0
    return registers >= TILE_REGISTERS and occupancy.warps_per_sm <= TILE_WARPS


def residency_priority(
    occupancy: Occupancy, steps: Sequence[NextStep], *, ran: bool = True
) -> Priority | None:
    """Return low for launches that are as they should be, or whose steps seldom pay.

    Of a launch that nobody knows to have *ran* nothing shows that it waits: a few more warps are
    no reason to speak up.
    """
    best = best_step(likely_steps(steps))
    if best is None or register_tile(occupancy):
        return Priority.LOW
    few = best.after.warps_per_sm < MANY_MORE * occupancy.warps_per_sm
    return Priority.LOW if few and not ran else None


def costs_independence(occupancy: Occupancy, independent: float | None) -> str:
    """Return the other side of fewer registers, where threads have *independent* instructions."""
    if not independent or independent <= 1 or Resource.REGISTERS not in occupancy.limiters:
        return ""
    return (
        f" Fewer registers may end the {independent:g} independent instructions per thread, which "
        "hide latency as well: compare the run times of both builds."
    )


def limiter_words(occupancy: Occupancy) -> str:
    """Return what limits *occupancy* as a list in words."""
    return and_list([limiter.replace("_", " ") for limiter in occupancy.limiters])


def warps_gain(
    occupancy: Occupancy,
    step: NextStep | None,
    grid: tuple[int, int, int] | None = None,
    sm_count: int | None = None,
) -> Gain | None:
    """Return what *step* can win in resident warps, as far as the grid brings them; None: nothing.

    A grid of exactly what fits was made to measure, and grows with it.
    """
    if step is None:
        return None
    then, now = step.after.warps_per_sm, occupancy.warps_per_sm
    to_measure = grid and sm_count and math.prod(grid) == sm_count * occupancy.blocks_per_sm
    if grid and sm_count and not to_measure:
        brought = math.ceil(math.prod(grid) * occupancy.warps_per_block / sm_count)
        then = max(now, min(then, brought))
    return Gain(
        kind=GainKind.RESIDENT_WARPS,
        upper_bound=then / now,
        how=f"warps then / now = {then} / {now}",
    )


def other_build(occupancy: Occupancy, bounds: LaunchBounds | None) -> str:
    """Return that the kernel has more registers than *bounds* leave it, as a sentence; "" where it has not."""
    registers = occupancy.launch.registers
    if bounds is None or not bounds.blocks or registers is None:
        return ""
    compiled = launch_bounds(occupancy.hardware, bounds.threads, bounds.blocks)
    if not compiled.spills(registers):
        return ""
    return (
        f"__launch_bounds__({bounds.threads}, {bounds.blocks}) leaves a thread {compiled.registers} registers here, "
        f"not {registers}: that is another build, or one for another GPU. Read both from one build."
    )


def step_list(
    steps: Sequence[NextStep], occupancy: Occupancy, bounds: LaunchBounds | None = None
) -> str:
    """Return each step as a sentence with the occupancy it leads to, the likeliest first.

    Fewer registers are no step where *bounds* should have brought them.
    """
    if other := other_build(occupancy, bounds):
        kept = [step for step in steps if step.resource is not Resource.REGISTERS]
        return " Or: ".join([other, *map(_sentence, kept)])
    if not steps:
        return "No single change of registers, shared memory or block size wins a block."
    return " Or: ".join(_sentence(step) for step in steps)


def also_needed(step: NextStep) -> str:
    """Return what else must give way for *step*, as the end of a sentence."""
    if not step.together_with:
        return ""
    resources = [resource.replace("_", " ") for resource in step.together_with]
    return f", if {and_list(resources)} give{'s' if len(resources) == 1 else ''} way too"


def _sentence(step: NextStep) -> str:
    resources = [resource.replace("_", " ") for resource in step.together_with]
    together = f" together with {and_list(resources)}" if resources else ""
    change = step.how.rstrip(".").replace("; check", " and check")
    return f"{change}: {show_share(step.after.occupancy)} occupancy{together}."


def unknown_block(occupancy: Occupancy) -> str:
    """Return why no number is given for a launch whose block nobody stated."""
    hardware = occupancy.hardware
    largest = hardware.max_threads_per_block
    most = register_budget(hardware, largest, 1) or 0
    return (
        f"how many depends on the threads per block, which nobody gave: a block of {largest:,} starts with "
        f"{most} registers at the most, and bounds for fewer threads make such a launch fail (give --block)"
    )


def step_up(step: Wider, occupancy: Occupancy, bounds: LaunchBounds | None) -> str:
    """Return how to make *step*; -maxrregcount does nothing to a kernel with launch bounds."""
    how = (
        f"write {step.bounds} instead of the present bounds"
        if bounds
        else f"declare {step.bounds}, or compile with -maxrregcount={step.registers}"
    )
    now, then = occupancy.blocks_per_sm, step.after.blocks_per_sm
    price = (
        f"the {plural(now, 'block')} per SM stay"
        if now == then
        else f"{plural(then, 'block')} per SM instead of {now}, {occupancy_change(occupancy, step.after)}"
    )
    return f"up to {step.registers} registers: {how} ({price})"


def occupancy_change(now: Occupancy, then: Occupancy) -> str:
    """Return how occupancy changes, as the end of a sentence."""
    before, after = show_share(now.occupancy), show_share(then.occupancy)
    if before == after:
        return f"occupancy stays at {before}"
    return f"occupancy goes from {before} to {after}"
