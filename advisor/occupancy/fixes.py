"""For each fault, the nearest launches that do not have it."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.occupancy import allocation
from gpuadvise.advisor.occupancy.budget import register_budget
from gpuadvise.advisor.occupancy.checks import first_fault
from gpuadvise.advisor.occupancy.fault import Cause
from gpuadvise.advisor.occupancy.launch import GlobalCaching, Launch
from gpuadvise.advisor.prose import and_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.fault import LaunchFault


Dimensions = tuple[int, int, int]
_NAMES = tuple(field.name for field in fields(Launch))
_VALUES = attrgetter(*_NAMES)


def repairs(limits: Limits, launch: Launch, fault: LaunchFault) -> list[Launch]:
    """Return launches without *fault*, changed as little as possible; other faults may remain."""
    most = fault.allowed
    match fault.cause:
        case Cause.THREADS:
            return [_with_threads(launch, most)]
        case Cause.BLOCK_DIMENSION:
            return [_with_block(launch, _clipped(launch.block_dim, limits.max_block_dim))]
        case Cause.GRID_DIMENSION:
            return [launch.but(grid_dim=_clipped(launch.grid_dim, limits.max_grid_dim))]
        case Cause.LAUNCH_BOUNDS:
            return [launch.but(max_threads=launch.threads), _with_threads(launch, most)]
        case Cause.REGISTERS_PER_THREAD:
            return [launch.but(registers=most)]
        case Cause.REGISTERS_PER_BLOCK:
            return [_fewer_registers(limits, launch), _smaller_block(limits, launch)]
        case Cause.GLOBAL_CACHING:
            return [launch.but(caching=GlobalCaching.ON)]
        case Cause.STATIC_SHARED_MEMORY:
            return _less_static(limits, launch, most)
        case Cause.DYNAMIC_SHARED_MEMORY:
            return _less_dynamic(limits, launch)
        case Cause.MAX_DYNAMIC_SHARED_MEMORY:
            return _raised_attribute(limits, launch, most)
        case Cause.BARRIERS:
            return [launch.but(barriers=most)]
        case Cause.CLUSTER:
            return _smaller_cluster(limits, launch, most)
        case Cause.CLUSTER_GRID:
            return [launch.but(grid_dim=_whole_clusters(limits, launch))]
        case other:
            assert_never(other)


def _with_threads(launch: Launch, most: int) -> Launch:
    """Return *launch* with at most *most* threads, its longest dimension cut where it has any."""
    if launch.block_dim is None:
        return launch.with_threads(most)
    return _with_block(launch, _cut(launch.block_dim, most))


def _with_block(launch: Launch, block: Dimensions) -> Launch:
    return launch.with_threads(math.prod(block), block)


def _cut(dimensions: Dimensions, most: int) -> Dimensions:
    """Return *dimensions* with the longest shortened until their product is at most *most*."""
    sizes = list(dimensions)
    while math.prod(sizes) > most:
        longest = sizes.index(max(sizes))
        area = math.prod(sizes) // sizes[longest]  # of the other two
        sizes[longest] = max(1, most // area)
    return sizes[0], sizes[1], sizes[2]


def _clipped(dimensions: Dimensions | None, most: Dimensions) -> Dimensions:
    x, y, z = (min(size, top) for size, top in zip(dimensions or (1, 1, 1), most, strict=True))
    return x, y, z


def _fewer_registers(limits: Limits, launch: Launch) -> Launch:
    return launch.but(registers=register_budget(limits, launch.threads, 1))


def _smaller_block(limits: Limits, launch: Launch) -> Launch:
    """Return the largest block, in whole warps, whose registers fit; one warp always does."""
    warps, count = -(-launch.threads // limits.warp_size), launch.registers or 1
    # Larger blocks never fit where a smaller one does not: the sizes that fit come first.
    largest = bisect_left(
        range(1, warps), True, key=lambda n: not allocation.blocks(limits, n, count)
    )
    return _with_threads(launch, max(1, largest) * limits.warp_size)


def _less_static(limits: Limits, launch: Launch, most: int) -> list[Launch]:
    """Return the excess moved to dynamic memory where that can hold it, and cut off."""
    dynamic = launch.dynamic_shared + launch.static_shared - most
    cut = launch.but(static_shared=most)
    if not launch.optin or most + dynamic > limits.shared_memory_per_block_optin:
        return [cut]
    attribute = launch.max_dynamic_shared
    if attribute is not None:
        attribute = max(attribute, dynamic)
    return [cut.but(dynamic_shared=dynamic, max_dynamic_shared=attribute), cut]


def _less_dynamic(limits: Limits, launch: Launch) -> list[Launch]:
    room = allocation.allowance(limits, launch) - launch.static_shared
    ways = [launch.but(dynamic_shared=room)]
    if not launch.optin and launch.shared_memory <= limits.shared_memory_per_block_optin:
        ways.insert(0, launch.but(optin=True))
    if launch.dynamic_per_thread:
        too_many = -(-(launch.dynamic_shared - room) // launch.dynamic_per_thread)
        fewer = (launch.threads - too_many) // limits.warp_size * limits.warp_size
        if fewer > 0:
            ways = [_with_threads(launch, fewer)]
    return ways


def _raised_attribute(limits: Limits, launch: Launch, most: int) -> list[Launch]:
    cut = launch.but(dynamic_shared=most)
    if launch.shared_memory <= limits.shared_memory_per_block_optin:
        return [launch.but(max_dynamic_shared=launch.dynamic_shared), cut]
    return [cut]


def _smaller_cluster(limits: Limits, launch: Launch, most: int) -> list[Launch]:
    cut = launch.but(cluster_dim=_cut(launch.cluster_dim, most))
    if launch.cluster_size <= (limits.max_cluster_size_nonportable or 0):
        return [launch.but(nonportable_cluster=True), cut]
    return [cut]


def _whole_clusters(limits: Limits, launch: Launch) -> Dimensions:
    """Return the grid rounded up to whole clusters; down where the grid cannot be that large."""
    axes = zip(launch.grid_dim or (1, 1, 1), launch.cluster_dim, limits.max_grid_dim, strict=True)
    x, y, z = (_multiple(size, step, most) for size, step, most in axes)
    return x, y, z


def _multiple(size: int, step: int, most: int) -> int:
    above = -(-size // step) * step
    return above if above <= most else size // step * step


# How a changed field of the launch is said; "{}" is its new value.
_WORDS = {
    "threads": "launch {} threads per block",
    "registers": "compile for at most {} registers per thread (-maxrregcount={})",
    "static_shared": "declare at most {:,} bytes of static shared memory",
    "dynamic_shared": "ask for {:,} bytes of dynamic shared memory",
    "max_dynamic_shared": "set the kernel's MaxDynamicSharedMemorySize to {}",
    "optin": "raise the kernel's MaxDynamicSharedMemorySize before the launch",
    "caching": "let the caching of global loads be given up where a block is too large",
    "barriers": "use at most {} named barriers",
    "grid_dim": "launch a grid of {} blocks",
    "cluster_dim": "use clusters of {} blocks",
    "nonportable_cluster": "set the kernel's NonPortableClusterSizeAllowed",
    "max_threads": "compile with __launch_bounds__({})",
}


# A kernel that asks for less than it uses runs out of bounds.
_SMALLER = "make the tile smaller, so that it needs at most {:,} bytes of dynamic shared memory"
_BOUNDED = "compile with __launch_bounds__({}), which keeps the kernel to {} registers per thread"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFix:
    """A launch near an impossible one that can start, and *how* to get there."""

    launch: Launch
    how: str
    loss: float  # what the changed figures give up, each as a share of itself


def fixes(limits: Limits, launch: Launch, fault: LaunchFault) -> tuple[LaunchFix, ...]:
    """Return changes that rid *launch* of *fault* and all others, the smallest first."""
    by_sentence = {
        _sentence(launch, fixed): fixed
        for mended in repairs(limits, launch, fault)
        for fixed in _repaired(limits, mended)
    }
    ranked = [
        LaunchFix(launch=to, how=how, loss=_loss(launch, to)) for how, to in by_sentence.items()
    ]
    needed = [fix for fix in ranked if not any(_does_more(launch, fix, less) for less in ranked)]
    return tuple(sorted(needed, key=lambda fix: fix.loss))


def _does_more(launch: Launch, fix: LaunchFix, less: LaunchFix) -> bool:
    """Return whether *less* is a part of *fix* that loses no more, so that the rest is for nothing."""
    part, whole = (_values_changed(launch, way.launch) for way in (less, fix))
    return part < whole and less.loss <= fix.loss


# Faults that are mended one after the other: no launch has more kinds of them.
_MOST_FAULTS = 8


def _repaired(limits: Limits, launch: Launch, left: int = _MOST_FAULTS) -> Iterator[Launch]:
    """Yield every launch without a fault that mending one fault after the other leads to.

    On a saved device with odd limits a repair may lead back to the fault: after *left* of them
    there is none.
    """
    fault = first_fault(limits, launch)
    if fault is None:
        yield launch
    elif left:
        for mended in repairs(limits, launch, fault):
            yield from _repaired(limits, mended, left - 1)


def _changed(before: Launch, after: Launch) -> list[str]:
    pairs = zip(_NAMES, _VALUES(before), _VALUES(after), strict=True)
    return [name for name, old, new in pairs if old != new]


def _values_changed(before: Launch, after: Launch) -> frozenset[tuple[str, object]]:
    return frozenset((name, getattr(after, name)) for name in _changed(before, after))


def _sentence(before: Launch, after: Launch) -> str:
    changed = _changed(before, after)
    if "block_dim" in changed and after.block_dim:
        changed.remove("threads")
    bounded = after.max_threads is not None and "registers" in changed
    if bounded:
        changed = [name for name in changed if name not in ("registers", "max_threads")]
    less = after.dynamic_shared < before.dynamic_shared and after.threads == before.threads
    parts = [
        _SMALLER.format(after.dynamic_shared)
        if name == "dynamic_shared" and less
        else _words(name, getattr(after, name))
        for name in changed
    ]
    if bounded:  # -maxrregcount does nothing to a kernel with launch bounds
        parts.append(_BOUNDED.format(after.threads, after.registers))
    text = and_list([part for part in parts if part])
    return f"{text[:1].upper()}{text[1:]}."


def _words(name: str, value: object) -> str:
    if name == "block_dim":
        return f"launch blocks of {_shape(value)} threads" if value else ""
    if name == "cluster_dim" and value == (1, 1, 1):
        return "launch without clusters"
    words = _WORDS[name]
    return words.format(value) if "{:,}" in words else words.replace("{}", _shape(value))


def _shape(value: object) -> str:
    """Return a number as it is, dimensions as ``33x31``."""
    if not isinstance(value, tuple):
        return str(value)
    x, y, z = value
    return f"{x}x{y}x{z}" if z > 1 else f"{x}x{y}" if y > 1 else f"{x}"


def _loss(before: Launch, after: Launch) -> float:
    """Return the shares by which figures shrink, added up; growing ones cost nothing."""
    pairs = (
        (before.threads, after.threads),
        (before.registers or 0, after.registers or 0),
        (before.shared_memory, after.shared_memory),
        (before.barriers, after.barriers),
        (before.cluster_size, after.cluster_size),
    )
    return sum(max(0, old - new) / old for old, new in pairs if old)
