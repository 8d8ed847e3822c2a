"""The scalar model's limits over numpy arrays; for whole grids of launches at once.

Each function returns blocks per SM, at most what an SM can hold, in one byte each. Tests prove
them equal to the scalar model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

import numpy as np

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.limits import RegisterAllocation, SharedMode
from gpuadvise.advisor.occupancy import allocation
from gpuadvise.advisor.occupancy.checks import first_fault
from gpuadvise.advisor.occupancy.launch import GlobalCaching

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.launch import Launch


Ints: TypeAlias = "NDArray[np.int64]"
Blocks: TypeAlias = "NDArray[np.uint8]"


def axis(launch: Launch, name: str, axes: Mapping[str, ArrayLike]) -> Ints:
    """Return the values of one axis, or the launch's own; raises BadInput as Launch does."""
    values = np.asarray(axes[name] if name in axes else getattr(launch, name))
    if values.dtype.kind not in "iu":
        raise BadInput(f"The axis {name} takes whole numbers, not {values.dtype}.")
    for extreme in (values.min(), values.max()) if values.size else ():
        changed: dict[str, Any] = {name: int(extreme), "block_dim": None}
        replace(launch, **changed)
    return values.astype(np.int64)


def registers_axis(launch: Launch, axes: Mapping[str, ArrayLike]) -> Ints | None:
    """Return the axis of registers, or None where their number is not known."""
    known = "registers" in axes or launch.registers is not None
    return axis(launch, "registers", axes) if known else None


def warp_slots(limits: Limits, threads: Ints) -> Blocks:
    """Return the warps per block; of blocks too large to start, some number."""
    return np.minimum(-(-threads // limits.warp_size), 255).astype(np.uint8)


def least(*parts: Blocks) -> Blocks:
    """Return the least of *parts* everywhere, joining the small ones first."""
    joined, *others = sorted(parts, key=np.size)
    for other in others:
        joined = np.minimum(joined, other)
    return joined


def block_limit(limits: Limits, launch: Launch, threads: Ints, count: Ints | None) -> Blocks:
    """Return the blocks that warps, block slots and registers allow together."""
    warps = -(-threads // limits.warp_size)
    halves = launch.caching is not GlobalCaching.OFF and limits.partitioned_global_caching
    whole = _by_registers(limits, warps, count)
    held = np.minimum(limits.max_warps_per_sm // warps, whole)
    if halves:
        half = np.minimum(_halved(limits.max_warps_per_sm, 2, warps), whole)
        if count is not None:
            by_halves = np.where(whole > 0, _by_halves(limits, warps, count), 0)
            strict = launch.caching is GlobalCaching.STRICT
            half = np.where((by_halves > 0) | strict, np.minimum(half, by_halves), held)
        held = half
    largest = min(limits.max_threads_per_block, launch.max_threads or limits.max_threads_per_block)
    return _capped(limits, np.where(threads <= largest, held, 0))


def _by_registers(limits: Limits, warps: Ints, count: Ints | None) -> Ints:
    if count is None:
        return np.asarray(limits.max_blocks_per_sm, dtype=np.int64)
    if limits.register_allocation is RegisterAllocation.BLOCK:
        pairs = _up(warps, limits.warp_allocation_granularity)
        charged = _up(pairs * limits.warp_size * count, limits.register_allocation_unit)
        held = limits.registers_per_sm // charged
    else:
        held = _warpwise(limits, warps, count)
    return np.where(count <= limits.max_registers_per_thread, held, 0)


def _warpwise(limits: Limits, warps: Ints, count: Ints) -> Ints:
    charge = _charge(limits, count)
    parts, checked = limits.register_subpartitions, allocation.check_parts(limits)
    fits = charge * _up(warps, checked) <= limits.registers_per_block
    return np.where(fits, limits.registers_per_sm // parts // charge * parts // warps, 0)


def _charge(limits: Limits, count: Ints) -> Ints:
    unit = limits.register_allocation_unit
    plain = _up(limits.warp_size * count, unit)
    special = limits.register_allocation_unit_special
    if special is None:
        return plain
    listed = np.isin(count, limits.register_allocation_unit_special_counts)
    return np.where(listed, _up(limits.warp_size * count, special), plain)


def _by_halves(limits: Limits, warps: Ints, count: Ints) -> Ints:
    parts = limits.register_subpartitions
    warps_per_part = limits.registers_per_sm // parts // _charge(limits, count)
    return warps_per_part * (parts // 2) // warps * 2


def _halved(have: int, halves: int, each: Ints) -> Ints:
    return have // halves // each * halves


def shared_limit(limits: Limits, launch: Launch, static: Ints, dynamic: Ints) -> Blocks:
    """Return the blocks that shared memory allows."""
    reserve = limits.shared_memory_reserved_per_block
    block = _up(static + dynamic + reserve, limits.shared_memory_allocation_unit)
    most = launch.max_dynamic_shared
    room = limits.shared_memory_per_block
    allowed: Ints = np.asarray(room, dtype=np.int64)
    if launch.optin:
        raised = static + reserve + (dynamic if most is None else most) > room
        allowed = np.where(raised, limits.shared_memory_per_block_optin, room)
    fits = (static <= room) & (block <= allowed + reserve)
    if most is not None:
        fits &= dynamic <= most
    held = _capacity(limits, launch, block) // np.maximum(block, 1)
    held = np.where(block > 0, held, limits.max_blocks_per_sm)
    return _capped(limits, np.where(fits, held, 0))


def _capacity(limits: Limits, launch: Launch, block: Ints) -> Ints:
    wanted, sizes = allocation.preferred(limits, launch), limits.shared_memory_configs
    match limits.shared_memory_config_mode:
        case SharedMode.FIXED:
            return np.asarray(wanted, dtype=np.int64)
        case SharedMode.CACHE_CONFIG:
            return np.where(block <= wanted, wanted, sizes[0])
        case SharedMode.CARVEOUT:
            index = np.searchsorted(sizes, np.maximum(block, wanted))
            return np.asarray(sizes, dtype=np.int64)[np.minimum(index, len(sizes) - 1)]
        case other:
            assert_never(other)


def barrier_limit(limits: Limits, launch: Launch, barriers: Ints) -> Blocks:
    """Return the blocks that barriers allow; 0 everywhere if cluster or grid forbid the launch."""
    have = limits.max_blocks_per_sm
    held: Ints = np.full_like(barriers, have)
    if limits.barrier_limit_applied and limits.barriers_per_sm is not None:
        held = np.where(barriers > 0, limits.barriers_per_sm // np.maximum(barriers, 1), have)
    held = np.where(barriers <= limits.named_barriers_per_block, held, 0)
    return _capped(limits, np.zeros_like(held) if _forbidden(limits, launch) else held)


def _forbidden(limits: Limits, launch: Launch) -> bool:
    """Return whether the launch is impossible for reasons outside every axis."""
    rest = replace(
        launch,
        threads=1,
        block_dim=None,
        registers=None,
        static_shared=0,
        dynamic_shared=0,
        barriers=0,
    )
    return first_fault(limits, rest) is not None


def _up(values: Ints, unit: int) -> Ints:
    return -(-values // unit) * unit


def _capped(limits: Limits, blocks: Ints) -> Blocks:
    return np.minimum(blocks, limits.max_blocks_per_sm).astype(np.uint8)


# The fields of a launch that may vary.
AXES = ("threads", "registers", "static_shared", "dynamic_shared", "barriers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Answers of the model, in the shape that the axes broadcast to."""

    blocks_per_sm: NDArray[np.uint8]  # 0 where the launch is impossible
    warps_per_block: NDArray[np.uint8]  # in the shape of the threads axis
    max_warps_per_sm: int

    @property
    def warps_per_sm(self) -> NDArray[np.uint8]:
        """Resident warps: at most 64, so that a byte holds them."""
        return self.blocks_per_sm * self.warps_per_block

    @property
    def occupancy(self) -> NDArray[np.float64]:
        """Resident warps as a share of the most the SM can hold, 0 to 1."""
        return self.warps_per_sm / self.max_warps_per_sm


def sweep(limits: Limits, launch: Launch, **axes: ArrayLike) -> Sweep:
    """Return the model's answers for *launch* with arrays of whole numbers for some of AXES.

    The arrays broadcast against each other as numpy's do: ``numpy.ix_`` makes an open grid of
    them. Raises BadInput as Launch does.
    """
    unknown = sorted(set(axes) - set(AXES))
    if unknown:
        raise BadInput(f"{unknown[0]} is not an axis of a sweep.", hint=f"Axes: {', '.join(AXES)}.")
    threads = axis(launch, "threads", axes)
    memory = shared_limit(
        limits,
        launch,
        axis(launch, "static_shared", axes),
        axis(launch, "dynamic_shared", axes),
    )
    blocks = block_limit(limits, launch, threads, registers_axis(launch, axes))
    barriers = barrier_limit(limits, launch, axis(launch, "barriers", axes))
    return Sweep(
        blocks_per_sm=least(blocks, memory, barriers),
        warps_per_block=warp_slots(limits, threads),
        max_warps_per_sm=limits.max_warps_per_sm,
    )
