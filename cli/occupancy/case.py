"""Everything the models say about one question on one device."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.bounds import LaunchBounds, launch_bounds
from gpuadvise.advisor.occupancy.fix import Fix, fixes
from gpuadvise.advisor.occupancy.grid import Waves, clusters_upper_bound, waves
from gpuadvise.advisor.occupancy.headroom import Headroom, headroom
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.steps import NextStep, next_steps
from gpuadvise.advisor.occupancy.suggest import Suggestion, suggest_block

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.occupancy.answer import Occupancy
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
    """Return what is known of *asked* on *device*."""
    found = occupancy(device.limits, asked.launch)
    launch, sms = asked.launch, device.sm_count
    return Case(
        device=device,
        found=found,
        fixes=fixes(device.limits, launch, found.fault) if found.fault else (),
        steps=next_steps(found),
        room=headroom(found),
        suggestion=suggest_block(device.limits, launch),
        bounds=_bounds(device, asked),
        grid=waves(found, sms, math.prod(launch.grid_dim)) if sms and launch.grid_dim else None,
        clusters=clusters_upper_bound(found, sms) if sms and launch.cluster_size > 1 else None,
    )


def _bounds(device: Device, asked: Question) -> LaunchBounds | None:
    threads = asked.launch.max_threads
    return launch_bounds(device.limits, threads, asked.min_blocks) if threads else None
