"""A grid that leaves multiprocessors without work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import AtRoof, IssueBound
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.rules.evidence import given, of_device, profiled
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Family,
    Gain,
    Kind,
    Priority,
    Rule,
    Threshold,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.occupancy.answer import Occupancy

# What a launch takes to start and to end: below it the size of the grid is not the matter.
SHORTEST = 20e-6


def check(
    sm_count: int,
    grid: tuple[int, int, int],
    device: Device | None = None,
    occupancy: Occupancy | None = None,
    concurrent: bool | None = None,
    elements: int | None = None,
    profile: KernelProfile | None = None,
    limiter: Limiter | None = None,
) -> Verdict:
    """Advise when the grid has fewer blocks than the device has multiprocessors."""
    blocks = math.prod(grid)
    if concurrent or blocks >= sm_count or isinstance(limiter, AtRoof | IssueBound):
        return PASSED
    name = device.name if device else "the GPU"
    short = profile is not None and (profile.seconds or SHORTEST) < SHORTEST
    return Advice(
        message=(
            f"{plural(blocks, 'block')} for the {sm_count} SMs of {name}: "
            f"{plural(sm_count - blocks, 'SM')} ({show_share(1 - blocks / sm_count)}) "
            f"{'gets' if sm_count - blocks == 1 else 'get'} no work."
        ),
        action=_batch(elements, occupancy, sm_count) or _more(sm_count, occupancy),
        evidence=(
            given("blocks in the grid", blocks, "blocks"),
            of_device(device, "sm_count", "SMs", sm_count, "SMs")
            if device
            else profiled("SMs", sm_count, "SMs"),
        ),
        gain=_gain(blocks, sm_count, occupancy if profile else None),
        priority=Priority.LOW if short else None,
    )


def _gain(blocks: int, sm_count: int, occupancy: Occupancy | None) -> Gain:
    """Return the bound in SMs; beside a profile, whose units bound it too, in all block slots."""
    if occupancy is None or not occupancy.blocks_per_sm:
        how = f"SMs / blocks = {sm_count} / {blocks}"
        return Gain(kind="kernel throughput", upper_bound=sm_count / blocks, how=how)
    slots = sm_count * occupancy.blocks_per_sm
    how = f"block slots / blocks = {slots:,} / {blocks}"
    return Gain(kind="kernel throughput", upper_bound=slots / blocks, how=how)


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
        "kernel, and no unit is known to be at its roof."
    ),
    thresholds=(
        Threshold(
            name="shortest",
            value=SHORTEST,
            unit="s",
            source="our judgement: below it the launch itself counts, and the finding is low",
        ),
    ),
    citations=guide("11.3", "10.5"),
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
