"""Occupancy and its next steps in words, for the rules that speak of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.occupancy.answer import Resource
from gpuadvise.advisor.occupancy.block_sizes import blocks_at_sizes
from gpuadvise.advisor.occupancy.bounds import launch_bounds
from gpuadvise.advisor.occupancy.budget import register_budget
from gpuadvise.advisor.occupancy.fault import RuntimeFailure
from gpuadvise.advisor.occupancy.model import occupancy as model
from gpuadvise.advisor.occupancy.next_steps import StepConfidence, next_steps
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import Gain, GainKind
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.facts.code import LaunchBounds
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.fault import LaunchFault
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
# Warps then / now, before a launch alone is worth changing.
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


def filled_by_grid(
    occupancy: Occupancy, grid: tuple[int, int, int] | None, sm_count: int | None
) -> bool:
    """Return whether the grid has all blocks that fit at once: with fewer nothing is won.

    A grid of exactly that many was made to measure, and grows with what fits.
    """
    if grid is None or not sm_count:
        return True
    return math.prod(grid) >= sm_count * occupancy.blocks_per_sm


def grid_brings_few(profile: KernelProfile) -> bool:
    """Return whether the grid has fewer than half of the blocks that fit at once: most of each SM is empty."""
    return profile.waves is not None and 0 < profile.waves < LOW


def register_tile(occupancy: Occupancy) -> bool:
    """Return whether the launch looks like a tiled product: many registers, few warps."""
    registers = occupancy.launch.registers or 0
    return registers >= TILE_REGISTERS and occupancy.warps_per_sm <= TILE_WARPS


def likely(steps: Sequence[NextStep]) -> list[NextStep]:
    """Return those of *steps* that are not unlikely to pay."""
    return [step for step in steps if step.confidence is not StepConfidence.UNLIKELY]


def residency_priority(
    occupancy: Occupancy, steps: Sequence[NextStep], *, ran: bool = True
) -> Priority | None:
    """Return low for launches that are as they should be, or whose steps seldom pay.

    Of a launch that nobody knows to have *ran* nothing shows that it waits: a few more warps are
    no reason to speak up.
    """
    best = best_step(likely(steps))
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


@lru_cache(maxsize=8)
def steps_of(occupancy: Occupancy) -> tuple[NextStep, ...]:
    """Return the next steps; several rules ask for those of one kernel."""
    return next_steps(occupancy)


def limiter_words(occupancy: Occupancy) -> str:
    """Return what limits *occupancy* as a list in words."""
    return and_list([limiter.replace("_", " ") for limiter in occupancy.limiters])


def best_step(steps: Sequence[NextStep]) -> NextStep | None:
    """Return the step that leads to the most resident warps."""
    return max(steps, key=lambda step: step.after.warps_per_sm, default=None)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Wider:
    """A build with more registers per thread, and what an SM then holds."""

    registers: int
    threads: int  # that the bounds promise
    after: Occupancy

    @property
    def bounds(self) -> str:
        """What lets the compiler use them."""
        return f"__launch_bounds__({self.threads}, {self.after.blocks_per_sm})"


def wider(occupancy: Occupancy, wanted: int | None = None) -> Wider | None:
    """Return the step up: *wanted* registers, or what one block fewer leaves; None at the end.

    Registers that the blocks leave free come first, for they cost nothing.
    """
    launch, hardware = occupancy.launch, occupancy.hardware
    most = hardware.max_registers_per_thread
    if not launch.registers or launch.registers >= most or not occupancy.launchable:
        return None
    blocks = occupancy.blocks_per_sm
    threads = launch.threads  # bounds for more would leave room for fewer blocks, or be ignored
    enough = launch.registers + 1 if wanted is None else min(wanted, most)
    while blocks:
        registers = register_budget(hardware, threads, blocks) or 0
        if registers >= enough:
            after = model(hardware, launch.but(registers=min(registers, most)))
            return Wider(registers=min(registers, most), threads=threads, after=after)
        blocks -= 1
    return None


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


class Resident(NamedTuple):
    """What an SM holds of the same kernel at another block size."""

    threads: int
    blocks: int
    warps: int
    share: float


def at_sizes(occupancy: Occupancy, warps_per_block: range) -> Iterator[Resident]:
    """Yield what an SM would hold at every block size of *warps_per_block*."""
    hardware = occupancy.hardware
    sizes = [count * hardware.warp_size for count in warps_per_block]
    for threads, count, blocks in zip(
        sizes, warps_per_block, blocks_at_sizes(occupancy, sizes), strict=True
    ):
        share = blocks * count / hardware.max_warps_per_sm
        yield Resident(threads=threads, blocks=blocks, warps=blocks * count, share=share)


def occupancy_change(now: Occupancy, then: Occupancy) -> str:
    """Return how occupancy changes, as the end of a sentence."""
    before, after = show_share(now.occupancy), show_share(then.occupancy)
    if before == after:
        return f"occupancy stays at {before}"
    return f"occupancy goes from {before} to {after}"


def refusal(fault: LaunchFault) -> str:
    """Return who refuses a launch with *fault*, as a sentence."""
    if fault.failure is RuntimeFailure.BUILD:
        return "The compiler refuses it."
    return f"The runtime answers with {fault.failure}."
