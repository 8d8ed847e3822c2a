"""For each fault, the nearest launches that do not have it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.occupancy import registers, shared
from gpuadvise.advisor.occupancy.budget import register_budget
from gpuadvise.advisor.occupancy.fault import Cause
from gpuadvise.advisor.occupancy.launch import GlobalCaching

if TYPE_CHECKING:
    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.fault import Fault
    from gpuadvise.advisor.occupancy.launch import Launch

Dimensions = tuple[int, int, int]


def repairs(limits: Limits, launch: Launch, fault: Fault) -> list[Launch]:
    """Return launches without *fault*, changed as little as possible; other faults may remain."""
    most = fault.allowed
    match fault.cause:
        case Cause.THREADS:
            return [_with_threads(launch, most)]
        case Cause.BLOCK_DIMENSION:
            return [_with_block(launch, _clipped(launch.block_dim, limits.max_block_dim))]
        case Cause.GRID_DIMENSION:
            return [replace(launch, grid_dim=_clipped(launch.grid_dim, limits.max_grid_dim))]
        case Cause.LAUNCH_BOUNDS:
            return [replace(launch, max_threads=launch.threads), _with_threads(launch, most)]
        case Cause.REGISTERS_PER_THREAD:
            return [replace(launch, registers=most)]
        case Cause.REGISTERS_PER_BLOCK:
            return [_fewer_registers(limits, launch), _smaller_block(limits, launch)]
        case Cause.GLOBAL_CACHING:
            return [replace(launch, caching=GlobalCaching.ON)]
        case Cause.STATIC_SHARED_MEMORY:
            return _less_static(limits, launch, most)
        case Cause.DYNAMIC_SHARED_MEMORY:
            return _less_dynamic(limits, launch)
        case Cause.MAX_DYNAMIC_SHARED_MEMORY:
            return _raised_attribute(limits, launch, most)
        case Cause.BARRIERS:
            return [replace(launch, barriers=most)]
        case Cause.CLUSTER:
            return _smaller_cluster(limits, launch, most)
        case Cause.CLUSTER_GRID:
            return [replace(launch, grid_dim=_whole_clusters(limits, launch))]
        case Cause.COOPERATIVE:
            return [replace(launch, grid_dim=(most, 1, 1))]
        case other:
            assert_never(other)


def _with_threads(launch: Launch, most: int) -> Launch:
    """Return *launch* with at most *most* threads, its longest dimension cut where it has any."""
    if launch.block_dim is None:
        return replace(launch, threads=most)
    return _with_block(launch, _cut(launch.block_dim, most))


def _with_block(launch: Launch, block: Dimensions) -> Launch:
    return replace(launch, block_dim=block, threads=math.prod(block))


def _cut(dimensions: Dimensions, most: int) -> Dimensions:
    """Return *dimensions* with the longest shortened until their product is at most *most*."""
    sizes = list(dimensions)
    while math.prod(sizes) > most:
        longest = sizes.index(max(sizes))
        others = math.prod(sizes) // sizes[longest]
        sizes[longest] = max(1, most // others)
    return sizes[0], sizes[1], sizes[2]


def _clipped(dimensions: Dimensions | None, most: Dimensions) -> Dimensions:
    x, y, z = (min(size, top) for size, top in zip(dimensions or (1, 1, 1), most, strict=True))
    return x, y, z


def _fewer_registers(limits: Limits, launch: Launch) -> Launch:
    return replace(launch, registers=register_budget(limits, launch.threads, 1))


def _smaller_block(limits: Limits, launch: Launch) -> Launch:
    """Return the largest block, in whole warps, whose registers fit; one warp always does."""
    warps, count = -(-launch.threads // limits.warp_size), launch.registers or 1
    fitting = (n for n in range(warps - 1, 0, -1) if registers.blocks(limits, n, count))
    return _with_threads(launch, next(fitting, 1) * limits.warp_size)


def _less_static(limits: Limits, launch: Launch, most: int) -> list[Launch]:
    """Return the excess moved to dynamic memory where that can hold it, and cut off."""
    dynamic = launch.dynamic_shared + launch.static_shared - most
    cut = replace(launch, static_shared=most)
    if not launch.optin or most + dynamic > limits.shared_memory_per_block_optin:
        return [cut]
    attribute = launch.max_dynamic_shared
    if attribute is not None:
        attribute = max(attribute, dynamic)
    return [replace(cut, dynamic_shared=dynamic, max_dynamic_shared=attribute), cut]


def _less_dynamic(limits: Limits, launch: Launch) -> list[Launch]:
    room = shared.allowance(limits, launch) - launch.static_shared
    cut = replace(launch, dynamic_shared=room)
    if not launch.optin and launch.shared_memory <= limits.shared_memory_per_block_optin:
        return [replace(launch, optin=True), cut]
    return [cut]


def _raised_attribute(limits: Limits, launch: Launch, most: int) -> list[Launch]:
    cut = replace(launch, dynamic_shared=most)
    if launch.shared_memory <= limits.shared_memory_per_block_optin:
        return [replace(launch, max_dynamic_shared=launch.dynamic_shared), cut]
    return [cut]


def _smaller_cluster(limits: Limits, launch: Launch, most: int) -> list[Launch]:
    cut = replace(launch, cluster_dim=_cut(launch.cluster_dim, most))
    if launch.cluster_size <= (limits.max_cluster_size_nonportable or 0):
        return [replace(launch, nonportable_cluster=True), cut]
    return [cut]


def _whole_clusters(limits: Limits, launch: Launch) -> Dimensions:
    """Return the grid rounded up to whole clusters; down where the grid cannot be that large."""
    axes = zip(launch.grid_dim or (1, 1, 1), launch.cluster_dim, limits.max_grid_dim, strict=True)
    x, y, z = (_multiple(size, step, most) for size, step, most in axes)
    return x, y, z


def _multiple(size: int, step: int, most: int) -> int:
    above = -(-size // step) * step
    return above if above <= most else size // step * step
