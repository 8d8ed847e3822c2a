"""Everything the models say about one question on one device."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.headroom import headroom
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.steps import next_steps
from gpuadvise.advisor.occupancy.suggest import suggest_block

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.bounds import LaunchBounds
    from gpuadvise.advisor.occupancy.fix import Fix
    from gpuadvise.advisor.occupancy.grid import Waves
    from gpuadvise.advisor.occupancy.headroom import Headroom
    from gpuadvise.advisor.occupancy.steps import NextStep
    from gpuadvise.advisor.occupancy.suggest import Suggestion
    from gpuadvise.cli.occupancy.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One launch on one device, examined; ``None`` is not asked or not known."""

    device: Device
    found: Occupancy
    fixes: tuple[Fix, ...]
    steps: tuple[NextStep, ...]
    room: Headroom
    suggestion: Suggestion | None
    bounds: LaunchBounds | None
    grid: Waves | None
    clusters: int | None  # upper bound


def examined(device: Device, asked: Question) -> Case:
    """Return what is known of *asked* on *device*; what nobody asked about is not imported."""
    found = occupancy(device.limits, asked.launch)
    return Case(
        device=device,
        found=found,
        fixes=_fixes(found),
        steps=next_steps(found),
        room=headroom(found),
        suggestion=suggest_block(device.limits, asked.launch),
        bounds=_bounds(device, asked),
        grid=_grid(device, found),
        clusters=_clusters(device, found),
    )


def _fixes(found: Occupancy) -> tuple[Fix, ...]:
    if found.fault is None:
        return ()
    from gpuadvise.advisor.occupancy.fix import fixes

    return fixes(found.hardware, found.launch, found.fault)


def _bounds(device: Device, asked: Question) -> LaunchBounds | None:
    threads = asked.launch.max_threads
    if threads is None:
        return None
    from gpuadvise.advisor.occupancy.bounds import launch_bounds

    return launch_bounds(device.limits, threads, asked.min_blocks)


def _grid(device: Device, found: Occupancy) -> Waves | None:
    grid = found.launch.grid_dim
    if grid is None or device.sm_count is None:
        return None
    from gpuadvise.advisor.occupancy.grid import waves

    return waves(found, device.sm_count, math.prod(grid))


def _clusters(device: Device, found: Occupancy) -> int | None:
    if found.launch.cluster_size == 1 or device.sm_count is None:
        return None
    from gpuadvise.advisor.occupancy.grid import clusters_upper_bound

    return clusters_upper_bound(found, device.sm_count)
