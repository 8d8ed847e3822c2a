"""A grid that leaves multiprocessors without work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import library_of
from gpuadvise.advisor.facts.limiter import AtRoof, IssueBound
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import given, of_device, profiled
from gpuadvise.rules.guide.execution.few_blocks_per_sm import in_slots, waits_for_loads
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.facts.timing import Traffic, Work
    from gpuadvise.advisor.occupancy.answer import Occupancy

# What a launch takes to start and to end: below it the size of the grid is not the matter. Last steps
# of library kernels take up to 20 us with a few blocks; the shortest that gained took 47 us (H200).
SHORTEST = number(
    30e-6,
    "shortest",
    "s",
    "our judgement: below it the launch itself counts, as in last steps of libraries of up to 20 us",
    LaunchSet.RECORDED,
)
_NEARLY_FULL = number(
    0.5,
    "SMs that a vendor's product or convolution uses",
    "share",
    "of 25 such launches in nine labelled sets readers wanted larger grids of none; its caller does not choose the grid",
    LaunchSet.NINTH,
)
# What all SMs share: more of them at work would not make it faster.
_BEYOND_SMS = (Unit.DRAM, Unit.L2, Unit.MEMORY)
_NOT_BLOCKING = (
    " Streams made without cudaStreamNonBlocking wait for work in the default stream and it for them: "
    "a launch there between theirs makes all run one after another."
)


def check(
    sm_count: int,
    grid: tuple[int, int, int],
    device: Device | None = None,
    occupancy: Occupancy | None = None,
    concurrent: bool | None = None,
    elements: int | None = None,
    profile: KernelProfile | None = None,
    limiter: Limiter | None = None,
    run_share: float | None = None,
    traffic: Traffic | None = None,
    work: Work | None = None,
) -> Verdict:
    """Advise when the grid leaves multiprocessors idle."""
    blocks = math.prod(grid)
    if concurrent:
        return PASSED
    if blocks >= sm_count:
        return PASSED
    if isinstance(limiter, AtRoof) and limiter.unit in _BEYOND_SMS:
        return PASSED
    # SMs at their roof gain nothing by more blocks of their own.
    at_roof = isinstance(limiter, AtRoof | IssueBound)
    bare = profile is None and run_share is None
    slots = None if at_roof or bare else occupancy
    name = device.name if device else "the GPU"
    timed = next((fact for fact in (profile, traffic, work) if fact and fact.seconds), None)
    short = timed is not None and (timed.seconds or SHORTEST) < SHORTEST
    return Advice(
        message=(
            f"{plural(blocks, 'block')} for the {sm_count} SMs of {name}: "
            f"{plural(sm_count - blocks, 'SM')} ({show_share(1 - blocks / sm_count)}) "
            f"{'gets' if sm_count - blocks == 1 else 'get'} no work{_room(blocks, slots)}."
        ),
        action=(_batch(elements, occupancy, sm_count) or _more(sm_count, occupancy))
        + (_NOT_BLOCKING if run_share is not None else ""),
        evidence=(
            given("blocks in the grid", blocks, "blocks"),
            of_device(device, "sm_count", "SMs", sm_count, "SMs")
            if device
            else profiled("SMs", sm_count, "SMs"),
        ),
        gain=_gain(blocks, sm_count, slots)
        if profile is None or not waits_for_loads(profile)
        else None,
        priority=Priority.LOW
        if _chosen_by_a_vendor(profile, blocks / sm_count)
        else _of_a_short_launch(profile)
        if short
        else None,
    )


def _chosen_by_a_vendor(profile: KernelProfile | None, filled: float) -> bool:
    library = library_of(profile.kernel) if profile else None
    return filled >= _NEARLY_FULL and library is not None and library.by_call


def _of_a_short_launch(profile: KernelProfile | None) -> Priority:
    """Return low, but medium for a profiled launch of one's own, or of a call that takes a batch as well.

    Eight labelled sets want or allow it of each.
    """
    library = library_of(profile.kernel) if profile else None
    callers = profile is not None and (library is None or library.by_call)
    return Priority.MEDIUM if callers else Priority.LOW


def _room(blocks: int, occupancy: Occupancy | None) -> str:
    """Return how many more blocks the other SMs have room for, as nothing else tells of a grid nearly large enough."""
    fit = occupancy.blocks_per_sm if occupancy else 0
    if fit < 2:
        return ""
    busy = "the other has one block" if blocks == 1 else "the others have one block each"
    return f", and {busy}, where {fit} fit"


def _gain(blocks: int, sm_count: int, occupancy: Occupancy | None) -> Gain:
    """Return the bound in SMs, or in all block slots of *occupancy*.

    That is given where more is known than the launch: a profile, whose units bound the gain too,
    or a recorded run, of which the gain is a share.
    """
    if occupancy is None or not occupancy.blocks_per_sm:
        how = f"SMs / blocks = {sm_count} / {blocks}"
        return Gain(kind=GainKind.KERNEL_THROUGHPUT, upper_bound=sm_count / blocks, how=how)
    return in_slots(sm_count * occupancy.blocks_per_sm, blocks)


def _batch(elements: int | None, occupancy: Occupancy | None, sm_count: int) -> str | None:
    """Return what to do when the problem itself is too small for the device."""
    threads = sm_count * occupancy.threads_per_sm if occupancy else 0
    if elements is None or elements >= threads:
        return None
    return (
        f"{plural(elements, 'element')} for the {threads:,} threads that fit at once are too few: "
        "batch several such problems into one launch, or run other kernels beside this one in "
        "their own streams (and say so with --concurrent)."
    )


def _more(sm_count: int, occupancy: Occupancy | None) -> str:
    per_sm = occupancy.blocks_per_sm if occupancy else 0
    wanted = (
        f"at least {sm_count * per_sm:,} blocks ({sm_count} SMs x {plural(per_sm, 'block')})"
        if per_sm
        else f"several times {sm_count} blocks"
    )
    return (
        f"Launch {wanted}: give each thread less work, split a reduction, or run other kernels "
        "beside this one in their own streams. Thousands of blocks also fill future GPUs."
    )


RULE = Rule(
    id="underfilled-device",
    title="Launch enough blocks to fill the GPU",
    topic=Topic.EXECUTION,
    priority=Priority.HIGH,
    kinds=(Kind.LAUNCH, Kind.DEVICE),
    family=Family.GRID,
    why="An SM without a block does nothing until the grid ends.",
    when=(
        "The grid has fewer blocks than the device has multiprocessors, nothing runs beside the "
        "kernel, and neither device memory nor L2 is known to be at its roof; below 30 us medium in a profile, and low for a "
        "library's kernel that no other call replaces, as in last steps, or where nothing was measured."
    ),
    citations=guide("11.3", "10.5"),
    folds_into="short-launch",
    fewer_launches=True,
    shape_decides=True,
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "regs": 72, "block": 128, "grid": 96},
        quiet={"gpu": "h200", "regs": 32, "block": 256, "grid": 100_000},
        edges=(
            {"gpu": "h200", "block": 256, "grid": 131},
            {"gpu": "h200", "block": 256, "grid": 132},
        ),
    ),
)
