"""Everything the models say about one question on one device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.occupancy.block_sizes import suggest_block
from gpuadvise.advisor.occupancy.carveout import carveout
from gpuadvise.advisor.occupancy.headroom import headroom
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.next_steps import next_steps

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.block_sizes import Suggestion
    from gpuadvise.advisor.occupancy.bounds import CompiledBounds
    from gpuadvise.advisor.occupancy.carveout import Carveout
    from gpuadvise.advisor.occupancy.clusters import Clusters
    from gpuadvise.advisor.occupancy.fixes import LaunchFix
    from gpuadvise.advisor.occupancy.grid import Waves
    from gpuadvise.advisor.occupancy.headroom import Headroom
    from gpuadvise.advisor.occupancy.next_steps import NextStep
    from gpuadvise.cli.occupancy.request import LaunchRequest


class OccupancyCase(NamedTuple):  # made at every start, in an eighth of a dataclass's time
    """One launch on one device, examined; ``None`` is not asked or not known."""

    device: Device
    occupancy: Occupancy
    fixes: tuple[LaunchFix, ...]
    next_steps: tuple[NextStep, ...]
    room: Headroom
    suggestion: Suggestion | None
    bounds: CompiledBounds | None
    grid: Waves | None
    clusters: Clusters | None
    carveout: Carveout | None
    elements: int | None
    chosen_block: bool


def examined(
    device: Device, request: LaunchRequest, of_driver: Clusters | None = None
) -> OccupancyCase:
    """Return what is known of *request* on *device*; what nobody asked about is not imported.

    *of_driver* are the clusters that the live driver counts.
    """
    answer = occupancy(device.limits, request.launch)
    clusters = of_driver or _clusters(device, answer)
    return OccupancyCase(
        device=device,
        occupancy=answer,
        fixes=_fixes(answer),
        next_steps=next_steps(answer),
        room=headroom(answer),
        suggestion=suggest_block(device.limits, request.launch),
        bounds=_bounds(device, request),
        grid=_grid(device, answer, clusters),
        clusters=clusters,
        carveout=carveout(answer),
        elements=request.elements,
        chosen_block=request.chosen_block,
    )


def _fixes(occupancy: Occupancy) -> tuple[LaunchFix, ...]:
    if occupancy.fault is None:
        return ()
    from gpuadvise.advisor.occupancy.fixes import fixes

    return fixes(occupancy.hardware, occupancy.launch, occupancy.fault)


def _bounds(device: Device, request: LaunchRequest) -> CompiledBounds | None:
    threads = request.launch.max_threads
    if threads is None:
        return None
    from gpuadvise.advisor.occupancy.bounds import launch_bounds

    return launch_bounds(device.limits, threads, request.min_blocks)


def _grid(device: Device, occupancy: Occupancy, clusters: Clusters | None) -> Waves | None:
    grid = occupancy.launch.grid_dim
    if grid is None or device.sm_count is None:
        return None
    from gpuadvise.advisor.occupancy.grid import waves

    return waves(occupancy, device.sm_count, math.prod(grid), clusters)


def _clusters(device: Device, occupancy: Occupancy) -> Clusters | None:
    if occupancy.launch.cluster_size == 1:
        return None
    from gpuadvise.advisor.occupancy.clusters import resident_clusters

    return resident_clusters(occupancy.blocks_per_sm, occupancy.launch.cluster_size, device)
