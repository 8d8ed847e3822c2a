"""A grid that leaves multiprocessors without work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import L2_AT_ROOF, AtRoof, Imbalance, IssueBound, LatencyBound
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, given, of_device, profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.occupancy_words import grid_brings_few
from gpuadvise.rules.sources import guide
from gpuadvise.rules.thresholds import MEMORY_BY_WORDS
from gpuadvise.rules.workload import is_long

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
# Of a warp's time: results it waits for, which other warps would hide. Half of it, so that twice the warps
# do twice the work.
WAITING = number(
    0.5,
    "waiting for results of loads, shared memory and arithmetic",
    "share of a warp's time",
    "twice the warps then do twice the work",
    LaunchSet.FOURTH,
)
WAITING_TO_ISSUE = number(
    0.4,
    "waiting for results, beside issue slots",
    "share of a warp's time",
    "our judgement: what issue slots leave is that wait",
    LaunchSet.SIXTH,
)
_HIDDEN_BY_WARPS = (
    Stall.LONG_SCOREBOARD,
    Stall.SHORT_SCOREBOARD,
    Stall.WAIT,
    Stall.BRANCH_RESOLVING,
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
    """Advise when the grid leaves multiprocessors idle, or brings them too few warps for a wait."""
    blocks = math.prod(grid)
    if concurrent:
        return PASSED
    if blocks >= sm_count:
        if profile is None or occupancy is None or not _few_warps(profile, limiter):
            return PASSED
        return _fuller(blocks, sm_count, occupancy, profile)
    if isinstance(limiter, AtRoof) and limiter.unit in _BEYOND_SMS:
        return PASSED
    # SMs at their roof gain nothing by more blocks of their own.
    at_roof = isinstance(limiter, AtRoof | IssueBound)
    bare = profile is None and run_share is None
    name = device.name if device else "the GPU"
    timed = next((fact for fact in (profile, traffic, work) if fact and fact.seconds), None)
    short = timed is not None and (timed.seconds or SHORTEST) < SHORTEST
    return Advice(
        message=(
            f"{plural(blocks, 'block')} for the {sm_count} SMs of {name}: "
            f"{plural(sm_count - blocks, 'SM')} ({show_share(1 - blocks / sm_count)}) "
            f"{'gets' if sm_count - blocks == 1 else 'get'} no work."
        ),
        action=(_batch(elements, occupancy, sm_count) or _more(sm_count, occupancy))
        + (_NOT_BLOCKING if run_share is not None else ""),
        evidence=(
            given("blocks in the grid", blocks, "blocks"),
            of_device(device, "sm_count", "SMs", sm_count, "SMs")
            if device
            else profiled("SMs", sm_count, "SMs"),
        ),
        gain=_gain(blocks, sm_count, None if at_roof or bare else occupancy)
        if profile is None or not _waits_for_loads(profile)
        else None,
        priority=Priority.LOW if short else None,
    )


def _few_warps(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether fewer than half of the warps that would fit wait for results, and leave units room."""
    if not grid_brings_few(profile):
        return False
    busy = max(profile.dram_busy or 0.0, profile.l1_busy or 0.0, profile.sm_busy or 0.0)
    issuing = isinstance(limiter, IssueBound) and limiter.few_warps is not None
    return (
        (issuing or isinstance(limiter, LatencyBound | AtRoof | Imbalance))
        and _waiting(profile) >= (WAITING_TO_ISSUE if issuing else WAITING)
        and busy < MEMORY_BY_WORDS
        and (profile.l2_busy or 0.0) < L2_AT_ROOF
        and is_long(profile)
    )


def _waiting(profile: KernelProfile) -> float:
    """Return the share of a warp's time that goes to results which it waits for."""
    return sum(share for wait, share in profile.stalls.items() if wait in _HIDDEN_BY_WARPS)


def _fuller(blocks: int, sm_count: int, occupancy: Occupancy, profile: KernelProfile) -> Advice:
    slots = sm_count * occupancy.blocks_per_sm
    wait, busy = _waiting(profile), profile.dram_busy or 0.0
    return Advice(
        message=(
            f"{plural(blocks, 'block')} where {slots:,} fit at once: warps wait for "
            f"results {show_share(wait)} of their time, and device memory is {show_share(busy)} busy."
        ),
        action=(f"Launch {slots:,} blocks with less work each, or as many as there is work for."),
        evidence=(
            given("blocks in the grid", blocks, "blocks"),
            derived("blocks that fit at once", slots, "blocks"),
            profiled("device memory busy", busy, "share"),
        ),
        gain=None if _waits_for_loads(profile) else _in_slots(slots, blocks),
        priority=Priority.MEDIUM,
    )


def _gain(blocks: int, sm_count: int, occupancy: Occupancy | None) -> Gain:
    """Return the bound in SMs, or in all block slots of *occupancy*.

    That is given where more is known than the launch: a profile, whose units bound the gain too,
    or a recorded run, of which the gain is a share.
    """
    if occupancy is None or not occupancy.blocks_per_sm:
        how = f"SMs / blocks = {sm_count} / {blocks}"
        return Gain(kind=GainKind.KERNEL_THROUGHPUT, upper_bound=sm_count / blocks, how=how)
    return _in_slots(sm_count * occupancy.blocks_per_sm, blocks)


def _in_slots(slots: int, blocks: int) -> Gain:
    how = f"block slots / blocks = {slots:,} / {blocks}"
    return Gain(kind=GainKind.KERNEL_THROUGHPUT, upper_bound=slots / blocks, how=how)


def _waits_for_loads(profile: KernelProfile) -> bool:
    """Return whether warps wait for loads most of all: less work per thread also has more of them under way at once.

    The number of blocks then bounds nothing; what units leave does.
    """
    wait = profile.top_stall
    return wait is not None and wait[0] == Stall.LONG_SCOREBOARD


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
        "kernel, and neither device memory nor L2 is known to be at its roof, low below 30 us; or a profile of 20 us or more shows less than half of the "
        "blocks that fit at once, warps that wait for results half of their time, and no unit at 70 % (L2 75 %); 40 % of it where so few warps keep issue slots at 60 % or more."
    ),
    thresholds=(
        Threshold(
            name="few blocks", value=0.5, unit="waves", source="guide 11.3, as for low occupancy"
        ),
        Threshold(
            name="waiting for results, beside issue slots",
            value=WAITING_TO_ISSUE,
            unit="share of a warp's time",
            source="our judgement: what issue slots leave is that wait",
        ),
    ),
    citations=guide("11.3", "10.5"),
    folds_into="launch-bound",
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
