"""Everything the models say about one question on one device."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.occupancy.block_sizes import suggest_block
from gpuadvise.advisor.occupancy.carveout import carveout
from gpuadvise.advisor.occupancy.headroom import headroom
from gpuadvise.advisor.occupancy.model import most_blocks, occupancy
from gpuadvise.advisor.occupancy.next_steps import next_steps

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.occupancy.answer import Occupancy, Resource
    from gpuadvise.advisor.occupancy.block_sizes import Suggestion
    from gpuadvise.advisor.occupancy.bounds import CompiledBounds
    from gpuadvise.advisor.occupancy.carveout import Carveout
    from gpuadvise.advisor.occupancy.clusters import Clusters
    from gpuadvise.advisor.occupancy.fixes import LaunchFix
    from gpuadvise.advisor.occupancy.grid import Waves
    from gpuadvise.advisor.occupancy.headroom import Headroom
    from gpuadvise.advisor.occupancy.launch import Launch
    from gpuadvise.advisor.occupancy.next_steps import NextStep


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """A launch, and B of ``__launch_bounds__(T, B)`` (T is the launch's ``max_threads``)."""

    launch: Launch
    min_blocks: int | None = None
    elements: int | None = None
    chosen_block: bool = False  # the block size was not given


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


def needs(occupancy: Occupancy) -> dict[Resource, int | None]:
    """Return what one block takes of each resource; bytes for shared memory."""
    values = (
        occupancy.warps_per_block,
        1,
        occupancy.registers_per_block,
        occupancy.shared_memory_per_block,
        occupancy.launch.barriers,
    )
    return dict(zip(occupancy.limits, values, strict=True))


def capacities(occupancy: Occupancy) -> dict[Resource, int | None]:
    """Return what one SM has of each resource, as this kernel finds it."""
    hardware = occupancy.hardware
    values = (
        hardware.max_warps_per_sm,
        most_blocks(hardware, occupancy.launch),
        hardware.registers_per_sm,
        occupancy.carveout_bytes,
        hardware.barriers_per_sm,
    )
    return dict(zip(occupancy.limits, values, strict=True))
