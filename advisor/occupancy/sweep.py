"""One figure of a launch varied, all others as given: its values that matter, and the answers as stairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, assert_never

from gpuadvise.advisor.occupancy.budget import dynamic_shared_budget
from gpuadvise.advisor.occupancy.model import occupancy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.launch import Launch

KIB = 1024


class Axis(StrEnum):
    """What a sweep varies; the value is the key of the option and of the row's first column."""

    BLOCK = "block"
    REGS = "regs"
    SMEM = "dynamic_smem"
    BARRIERS = "barriers"

    @property
    def field(self) -> str:
        """The field of Launch that varies."""
        return _FIELDS[self]


_FIELDS = {
    Axis.BLOCK: "threads",
    Axis.REGS: "registers",
    Axis.SMEM: "dynamic_shared",
    Axis.BARRIERS: "barriers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The answer at one value of the axis."""

    value: int
    occupancy: Occupancy


def swept(
    limits: Limits, launch: Launch, by: Axis, values: Sequence[int] | None = None
) -> tuple[Point, ...]:
    """Return the answer at each of *values*, or at every one that makes a difference.

    Block sizes are then whole warps. Shared memory is in steps of 1 KiB and at the exact sizes
    where a block is lost.
    """
    if values is None:
        values = everything(limits, launch, by)
        if by is Axis.SMEM:
            values = sorted({*values, *_edges(limits, launch)})
    return tuple(
        Point(value=n, occupancy=occupancy(limits, _varied(launch, by, n))) for n in values
    )


def everything(limits: Limits, launch: Launch, by: Axis) -> range:
    """Return the values of *by* that a launch can have, in the steps that matter."""
    match by:
        case Axis.BLOCK:
            return range(limits.warp_size, limits.max_threads_per_block + 1, limits.warp_size)
        case Axis.REGS:
            return range(1, limits.max_registers_per_thread + 1)
        case Axis.SMEM:
            optin = limits.shared_memory_per_block_optin if launch.optin else 0
            most = max(limits.shared_memory_per_block, optin) - launch.static_shared
            return range(0, max(0, most) + 1, KIB)
        case Axis.BARRIERS:
            return range(1, limits.named_barriers_per_block + 1)
        case other:
            assert_never(other)


def value_of(launch: Launch, by: Axis) -> int:
    """Return the value of *launch* on the axis *by*."""
    return getattr(launch, by.field) or 0


def _varied(launch: Launch, by: Axis, value: int) -> Launch:
    if by is Axis.BLOCK:
        return launch.with_threads(value)
    change: dict[str, Any] = {by.field: value}
    return replace(launch, **change)


def stairs(
    points: Iterable[Point], by: Axis, *, edges: bool = True
) -> list[tuple[int, int, Occupancy]]:
    """Return runs of points with one answer: first and last value, and the first's answer.

    With *edges* among the points a run of bytes begins right behind the last, for a block is
    lost there and not at the KiB.
    """
    runs: list[tuple[int, int, Occupancy]] = []
    for point in points:
        if runs and _same(runs[-1][2], point.occupancy, by):
            runs[-1] = (runs[-1][0], point.value, runs[-1][2])
        else:
            follows = edges and runs and by is Axis.SMEM
            first = runs[-1][1] + 1 if follows else point.value
            runs.append((first, point.value, point.occupancy))
    return runs


def _edges(limits: Limits, launch: Launch) -> Iterator[int]:
    """Yield the most dynamic memory that keeps each number of blocks."""
    for blocks in range(1, limits.max_blocks_per_sm + 1):
        edge = dynamic_shared_budget(limits, launch, blocks)
        if edge is not None:
            yield edge


def _same(first: Occupancy, second: Occupancy, by: Axis) -> bool:
    # Where a second limiter joins is exact in warps and registers only.
    limited = by is Axis.SMEM or first.limiters == second.limiters
    return (
        first.warps_per_sm == second.warps_per_sm
        and limited
        and bool(first.fault) == bool(second.fault)
    )
