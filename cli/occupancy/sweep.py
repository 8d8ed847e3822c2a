"""``--sweep block|regs|smem``: one figure of a kernel varied, all others as given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, assert_never

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.occupancy.budget import dynamic_shared_budget
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.record import record
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.launch import Launch

_KIB = 1024


class Axis(StrEnum):
    """What a sweep varies; the value is the key of the option and of the row's first column."""

    BLOCK = "block"
    REGS = "regs"
    SMEM = "dynamic_smem"


_SPELLED = {"block": Axis.BLOCK, "regs": Axis.REGS, "smem": Axis.SMEM, "dynamic_smem": Axis.SMEM}
TITLES = {
    Axis.BLOCK: "Threads per block",
    Axis.REGS: "Registers per thread",
    Axis.SMEM: "Dynamic shared memory, bytes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The answer at one value of the axis."""

    value: int
    found: Occupancy


def axis(text: str) -> Axis:
    """Return the axis that ``--sweep`` names; raises BadInput."""
    found = _SPELLED.get(text.strip().lower())
    if found is None:
        raise BadInput(f"--sweep: {quoted(text)} cannot be swept.", hint="Use block, regs or smem.")
    return found


def swept(limits: Limits, launch: Launch, by: Axis) -> tuple[Point, ...]:
    """Return the answer at every value of *by* that makes a difference, the smallest first.

    Block sizes are whole warps. Shared memory is in steps of 1 KiB and at the exact sizes
    where a block is lost.
    """
    match by:
        case Axis.BLOCK:
            sizes = range(limits.warp_size, limits.max_threads_per_block + 1, limits.warp_size)
            launches = [(n, replace(launch, threads=n, block_dim=None)) for n in sizes]
        case Axis.REGS:
            counts = range(1, limits.max_registers_per_thread + 1)
            launches = [(n, replace(launch, registers=n)) for n in counts]
        case Axis.SMEM:
            sizes_in_bytes = sorted(_shared_sizes(limits, launch))
            launches = [(n, replace(launch, dynamic_shared=n)) for n in sizes_in_bytes]
        case other:
            assert_never(other)
    return tuple(Point(value=n, found=occupancy(limits, each)) for n, each in launches)


def rows(points: Iterable[Point], by: Axis) -> list[dict[str, Any]]:
    """Return the points as JSON."""
    return [{by.value: point.value, **record(point.found)} for point in points]


def stairs(points: Iterable[Point], by: Axis) -> list[tuple[int, int, Occupancy]]:
    """Return runs of points with one answer: first and last value, and the first's answer.

    A run of bytes begins right behind the last, for a block is lost there and not at the KiB.
    """
    runs: list[tuple[int, int, Occupancy]] = []
    for point in points:
        if runs and _same(runs[-1][2], point.found, by):
            runs[-1] = (runs[-1][0], point.value, runs[-1][2])
        else:
            first = runs[-1][1] + 1 if runs and by is Axis.SMEM else point.value
            runs.append((first, point.value, point.found))
    return runs


def _shared_sizes(limits: Limits, launch: Launch) -> Iterator[int]:
    optin = limits.shared_memory_per_block_optin if launch.optin else 0
    most = max(limits.shared_memory_per_block, optin) - launch.static_shared
    yield from range(0, most + 1, _KIB)
    for blocks in range(1, limits.max_blocks_per_sm + 1):
        edge = dynamic_shared_budget(limits, launch, blocks)
        if edge is not None:
            yield edge


def _same(one: Occupancy, other: Occupancy, by: Axis) -> bool:
    # Where a second limiter joins is exact in warps and registers only.
    limited = by is Axis.SMEM or one.limiters == other.limiters
    return (
        one.warps_per_sm == other.warps_per_sm and limited and bool(one.fault) == bool(other.fault)
    )
