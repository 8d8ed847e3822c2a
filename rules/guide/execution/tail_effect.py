"""A last wave that few multiprocessors work on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import (
    UNEVEN,
    AtRoof,
    IssueBound,
    LastWave,
    LatencyBound,
    active_share,
    filled_share,
)
from gpuadvise.advisor.facts.workload import is_short
from gpuadvise.advisor.occupancy.clusters import resident_clusters
from gpuadvise.advisor.occupancy.grid import waves
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.gain_bounds import near_roof
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.occupancy.answer import Occupancy

IDLE = number(
    0.2,
    "idle share",
    "share",
    "our judgement: below it, other effects hide the tail",
    LaunchSet.RECORDED,
)


def check(
    device: Device,
    sm_count: int,
    grid: tuple[int, int, int],
    occupancy: Occupancy,
    concurrent: bool | None = None,
    profile: KernelProfile | None = None,
    limiter: Limiter | None = None,
) -> Verdict:
    """Advise when the last wave leaves a fifth or more of the device idle."""
    if concurrent or (isinstance(limiter, AtRoof | IssueBound) and not near_roof(limiter)):
        return PASSED
    blocks = math.prod(grid)
    clusters = resident_clusters(occupancy.blocks_per_sm, occupancy.launch.cluster_size, device)
    filled = waves(occupancy, sm_count, blocks, clusters)
    if filled is None or filled.waves <= 1:
        return PASSED
    warps = _warps_there(profile, limiter, filled.tail_efficiency)
    if isinstance(limiter, AtRoof | IssueBound) and warps is None:
        return PASSED
    measured = profile is not None and active_share(profile) is not None
    if measured and not isinstance(limiter, LastWave) and warps is None:
        return PASSED
    if filled.bound and not measured:
        return PASSED  # nobody knows the size of a wave: clusters on a chip that was not measured
    share = limiter.share if isinstance(limiter, LastWave) else warps or filled.tail_efficiency
    if round(1 - share, 6) < IDLE:
        return PASSED
    last = filled.waves - math.floor(filled.waves)
    down, up = (count * filled.wave_size for count in (int(filled.waves), math.ceil(filled.waves)))
    seen = f" The profile shows {_seen(limiter, share)}." if measured else ""
    return Advice(
        message=(
            f"{blocks:,} blocks run in {filled.waves:.2f} waves of {filled.wave_size:,}: in the last "
            f"one {show_share(1 - last)} of {device.name} idles.{seen}"
        ),
        action=(
            f"Choose a block size or work per thread that gives {down:,} or {up:,} blocks, cut the work "
            f"into many more and smaller blocks, or launch {filled.wave_size:,} blocks that each loop "
            "over the data (grid-stride loop)."
        ),
        evidence=(
            given("blocks in the grid", blocks, "blocks"),
            derived("blocks per wave", filled.wave_size, "blocks"),
            derived("waves", filled.waves, "waves"),
            derived("tail efficiency", filled.tail_efficiency, "share"),
        ),
        gain=Gain(
            kind=GainKind.KERNEL_THROUGHPUT,
            upper_bound=_packed(occupancy) / (filled_share(profile) or share)
            if profile and measured
            else 1 / share,
            how="warps that smaller blocks bring to an SM / warps there on average, to the end of the last one"
            if measured
            else f"block slots / blocks = {up:,} / {blocks:,}",
        ),
    )


def _warps_there(
    profile: KernelProfile | None, limiter: Limiter | None, efficiency: float
) -> float | None:
    """Return the share of warps that SMs hold, where a last wave leaves out many that a wait needs; else None.

    Such a wait is as long with few warps, so that every block slot left empty is time lost.
    """
    waits = near_roof(limiter) or isinstance(limiter, LatencyBound)
    if profile is None or not waits or is_short(profile):
        return None
    share = filled_share(profile)
    emptied = round(1 - efficiency, 6) >= IDLE
    return share if emptied and share is not None and share <= UNEVEN else None


def _seen(limiter: Limiter | None, share: float) -> str:
    if isinstance(limiter, LastWave):
        return f"SMs busy for {show_share(share)} of the time"
    return f"{show_share(share)} of the warps that start at once on an SM, on average"


def _packed(occupancy: Occupancy) -> float:
    """Return how many times the warps smaller blocks of the same kind bring to an SM, at most.

    What one block leaves of an SM's registers and shared memory is too little for a block of its size.
    """
    hardware = occupancy.hardware
    blocks = [hardware.max_warps_per_sm / occupancy.warps_per_block]
    if occupancy.registers_per_block:
        blocks.append(hardware.registers_per_sm / occupancy.registers_per_block)
    if occupancy.shared_memory_per_block:
        blocks.append(hardware.shared_memory_per_sm / occupancy.shared_memory_per_block)
    return max(1.0, min(blocks) / max(occupancy.blocks_per_sm, 1))


RULE = Rule(
    id="tail-effect",
    title="Fill the last wave",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.LAUNCH, Kind.DEVICE, Kind.PROFILE),
    family=Family.GRID,
    why="While the blocks of a partial wave run, the other multiprocessors have nothing to do.",
    when=(
        "The grid needs more than one wave and leaves at least 20 % of the block slots empty; with a "
        "profile: SMs idle for at least 20 % of the busiest one's time, whatever their units do, or hold at most 75 % of the "
        "warps that start at once, where no unit but device memory is busy and warps wait. Without "
        "a profile not for clusters on a GPU of which only a bound on them is known."
    ),
    citations=guide("11.3", "10.5"),
    folds_into="lone-small-kernel",
    author_only=True,
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "regs": 32, "block": 256, "grid": 1100},
        quiet={"gpu": "h200", "regs": 32, "block": 256, "grid": 100_000},
        edges=(
            {"gpu": "h200", "regs": 32, "block": 256, "grid": 1689},
            {"gpu": "h200", "regs": 32, "block": 256, "grid": 1690},
        ),
    ),
)
