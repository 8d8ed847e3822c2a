"""A kernel under the roof of a device: its operations, bytes and time, and what would move it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.peaks import UnitPeak, other_peaks, peak
from gpuadvise.advisor.roofline import Move, Roofline, fused, narrowed, roofline

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timing import Work
    from gpuadvise.advisor.memory.number_types import NumberType

_GIVEN = "you"  # source of a peak that was typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Operations, bytes and perhaps the time of one kernel, computed in one type."""

    name: str | None
    flops: float
    bytes: float
    number_type: NumberType
    seconds: float | None = None
    tensor: bool | None = None  # the unit, where it is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofs:
    """What replaces the device's own peaks; ``None`` is not given. *tensor* picks the unit."""

    peak: float | None = None
    bandwidth: float | None = None
    tensor: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A kernel under its roof, and what would move it."""

    workload: Workload
    unit: UnitPeak
    roofline: Roofline
    moves: tuple[Move, ...]


def workload(name: str | None, work: Work) -> Workload:
    """Return the *work* of the kernel *name* as what has a place under a roof."""
    number_type, tensor = work.arithmetic
    return Workload(
        name=name,
        flops=work.flops,
        bytes=work.bytes,
        number_type=number_type,
        tensor=tensor,
        seconds=work.seconds,
    )


def placed(device: Device, workload: Workload, roofs: Roofs) -> Placed:
    """Return where *workload* stands on *device*; raises BadInput for an unknown roof."""
    rate = roofs.bandwidth or device.memory_bandwidth
    if rate is None:
        raise BadInput(
            f"The memory bandwidth of {device.name} is not known.", hint="--bandwidth gives it."
        )
    unit = _unit(device, workload, roofs)
    position = roofline(workload.flops, workload.bytes, unit.rate, rate, workload.seconds)
    return Placed(
        workload=workload,
        unit=unit,
        roofline=position,
        moves=_moves(device, workload, unit, position),
    )


def _unit(device: Device, workload: Workload, roofs: Roofs) -> UnitPeak:
    if roofs.peak is not None:
        return UnitPeak(key=str(workload.number_type), rate=roofs.peak, source=_GIVEN)
    tensor = workload.tensor if roofs.tensor is None else roofs.tensor
    return peak(device, workload.number_type, tensor=tensor)


def _moves(
    device: Device, workload: Workload, unit: UnitPeak, roofline: Roofline
) -> tuple[Move, ...]:
    kind = workload.number_type
    alternatives = [] if unit.source == _GIVEN else other_peaks(device, kind, unit)
    moves = [
        narrowed(roofline, its_unit.key, kind.bits, narrow.bits, its_unit.rate)
        for narrow, its_unit in alternatives
    ]
    fusion = fused(roofline)
    better = [move for move in (*moves, *([fusion] if fusion else [])) if move.gain > 1]
    return tuple(sorted(better, key=lambda move: move.gain))
