"""The scalar model's limits over numpy arrays; for whole grids of launches at once.

Blocks per SM are one byte each. Tests prove every limit equal to the scalar model's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

import numpy as np

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.limits import RegisterAllocation, SharedMode
from gpuadvise.advisor.occupancy import allocation
from gpuadvise.advisor.occupancy.block_sizes import GUIDE_RANGE
from gpuadvise.advisor.occupancy.checks import first_fault
from gpuadvise.advisor.occupancy.launch import GlobalCaching
from gpuadvise.advisor.occupancy.model import most_blocks
from gpuadvise.advisor.occupancy.tiers import IMPOSSIBLE, ROOM, Tier, coded, room

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.launch import Launch


Ints: TypeAlias = "NDArray[np.int64]"
Blocks: TypeAlias = "NDArray[np.uint8]"
# A resource that sets no limit; no SM has as many slots for blocks.
NO_LIMIT = 255


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
    joined, *larger = sorted(parts, key=np.size)
    for part in larger:
        joined = np.minimum(joined, part)
    return joined


def block_limits(limits: Limits, launch: Launch, axes: Mapping[str, ArrayLike]) -> list[Blocks]:
    """Return what each of RESOURCES allows, over its own axes; NO_LIMIT where it sets none."""
    threads, count = axis(launch, "threads", axes), registers_axis(launch, axes)
    dynamic = axis(launch, "dynamic_shared", axes)
    if launch.dynamic_per_thread:
        grown = launch.dynamic_per_thread * (threads - launch.threads)
        dynamic = np.maximum(dynamic + grown, 0)
    by_warps, by_registers = _warps_and_registers(limits, launch, threads, count)
    return [
        by_warps,
        np.asarray(most_blocks(limits, launch), dtype=np.uint8),
        by_registers,
        _shared_limit(limits, launch, axis(launch, "static_shared", axes), dynamic),
        _barrier_limit(limits, axis(launch, "barriers", axes)),
    ]


def allowed(limits: Limits, launch: Launch, axes: Mapping[str, ArrayLike]) -> Blocks:
    """Return 0 where a check that sets no limit on blocks forbids the launch, else NO_LIMIT."""
    threads, barriers = axis(launch, "threads", axes), axis(launch, "barriers", axes)
    started = barriers <= limits.named_barriers_per_block
    if launch.max_threads is not None:
        started = started & (threads <= launch.max_threads)
    if _forbidden(limits, launch):
        started = np.zeros_like(started)
    return np.where(started, NO_LIMIT, 0).astype(np.uint8)


def _warps_and_registers(
    limits: Limits, launch: Launch, threads: Ints, count: Ints | None
) -> tuple[Blocks, Blocks]:
    warps = -(-threads // limits.warp_size)
    by_warps = limits.max_warps_per_sm // warps
    in_halves = _halved(limits.max_warps_per_sm, 2, warps)
    halves = launch.caching is not GlobalCaching.OFF and limits.partitioned_global_caching
    if count is None:
        held = in_halves if halves else by_warps
        by_registers: Ints = np.asarray(NO_LIMIT, dtype=np.int64)
    else:
        held, by_registers = by_warps, _by_registers(limits, warps, count)
        if halves:
            by_halves = _by_halves(limits, warps, count)
            confined = (by_halves > 0) | (launch.caching is GlobalCaching.STRICT)
            held = np.where(confined | (by_registers == 0), in_halves, by_warps)
            within = np.where(confined, by_halves, by_registers)
            by_registers = np.where(by_registers > 0, within, 0)
    held = np.where(threads <= limits.max_threads_per_block, held, 0)
    return _capped(held), by_registers.astype(np.uint8) if count is None else _capped(by_registers)


def _by_registers(limits: Limits, warps: Ints, count: Ints) -> Ints:
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


def _halved(have: int, halves: int, warps: Ints) -> Ints:
    return have // halves // warps * halves


def _shared_limit(limits: Limits, launch: Launch, static: Ints, dynamic: Ints) -> Blocks:
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
    by_size = _capped(np.where(fits, held, 0))
    return np.where(fits & (block == 0), NO_LIMIT, by_size).astype(np.uint8)


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


def _barrier_limit(limits: Limits, barriers: Ints) -> Blocks:
    if not limits.barrier_limit_applied or limits.barriers_per_sm is None:
        return np.asarray(NO_LIMIT, dtype=np.uint8)
    held = _capped(limits.barriers_per_sm // np.maximum(barriers, 1))
    return np.where(barriers > 0, held, NO_LIMIT).astype(np.uint8)


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


def _capped(blocks: Ints) -> Blocks:
    # More blocks than an SM has slots for never are the answer, nor a limit that ties with it.
    return np.minimum(blocks, NO_LIMIT - 1).astype(np.uint8)


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
    parts = block_limits(limits, launch, axes)
    return Sweep(
        blocks_per_sm=least(*parts, allowed(limits, launch, axes)),
        warps_per_block=warp_slots(limits, axis(launch, "threads", axes)),
        max_warps_per_sm=limits.max_warps_per_sm,
    )


def codes(
    limits: Limits, launch: Launch, axes: Sequence[tuple[str, Sequence[int]]]
) -> NDArray[np.int32]:
    """Return the coded answers (see tiers.py) of all combinations of *axes*."""
    grid = np.ix_(*(np.asarray(values, dtype=np.int64) for _, values in axes))
    open_axes = {name: values for (name, _), values in zip(axes, grid, strict=True)}
    parts = block_limits(limits, launch, open_axes)
    blocks = least(*parts, allowed(limits, launch, open_axes))
    blocks = np.broadcast_to(blocks, [len(values) for _, values in axes])
    bits = np.zeros(blocks.shape, dtype=np.uint8)
    for index, part in enumerate(parts):
        bits |= (part == blocks).view(np.uint8) << index
    warps = warp_slots(limits, axis(launch, "threads", open_axes))
    answers = coded(blocks, warps.astype(np.int32), bits.astype(np.int32))
    return np.where(blocks > 0, answers, IMPOSSIBLE)


def tiers(
    limits: Limits, launch: Launch, axes: Sequence[tuple[str, Sequence[int]]]
) -> Iterator[Tier]:
    """Yield the tiers of all combinations of *axes*."""
    grid = np.ix_(*(np.asarray(values, dtype=np.int64) for _, values in axes))
    answers = sweep(
        limits, launch, **{name: axis for (name, _), axis in zip(axes, grid, strict=True)}
    )
    shape = [len(values) for _, values in axes]
    warps = np.broadcast_to(answers.warps_per_sm, shape).ravel()
    order = np.argsort(warps, kind="stable")
    places = np.unravel_index(order, shape)
    columns = [np.asarray(v, dtype=np.int64)[at] for (_, v), at in zip(axes, places, strict=True)]
    counts = np.bincount(warps)
    held = np.flatnonzero(counts)
    starts = np.cumsum(counts)[held] - counts[held]
    lows = [np.minimum.reduceat(column, starts).tolist() for column in columns]
    highs = [np.maximum.reduceat(column, starts).tolist() for column in columns]
    names = [name for name, _ in axes]
    fullest = [column[starts[-1] :] for column in columns]
    for index, resident in enumerate(held.tolist()):
        yield Tier(
            warps_per_sm=resident,
            launches=int(counts[resident]),
            spans=[(low[index], high[index]) for low, high in zip(lows, highs, strict=True)],
            roomiest={
                name: _roomiest(fullest, room(names, name))
                for name in ROOM
                if name in names and resident == held[-1]
            },
        )


def _roomiest(columns: list[Ints], order: room) -> tuple[int, ...]:
    """Return the launch, of the values in *columns*, that *order* puts last."""
    keys = [columns[place] for place in order.places]
    if order.block is not None:
        threads = columns[order.block]
        of_the_guide = (threads >= GUIDE_RANGE.start) & (threads < GUIDE_RANGE.stop)
        keys += [of_the_guide.astype(np.int64), -threads]
    kept = np.arange(len(columns[0]))
    for key in keys:
        of_kept = key[kept]
        kept = kept[of_kept == of_kept.max()]
    return tuple(int(column[kept[0]]) for column in columns)
