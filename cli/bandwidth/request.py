"""The theoretical bandwidth of a device or of typed factors, with its formula and source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.bandwidth import (
    AGREEMENT,
    attainable_with_ecc,
    derived_bandwidth,
    effective_bandwidth,
    theoretical_bandwidth,
)
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.quantity import (
    LARGEST_BYTES,
    show_hertz,
)
from gpuadvise.advisor.transfers.copies import Direction
from gpuadvise.advisor.transfers.links import host_link
from gpuadvise.cli import options

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.transfers.links import Link
    from gpuadvise.advisor.values import CopyAmount


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """A theoretical bandwidth in bytes/s and where it comes from.

    ``derived`` is what the formula gives, ``published`` what the data sheet says; ``agree``
    is None unless both are known. ``attainable`` takes ECC over GDDR into account.
    """

    theoretical: float
    source: str
    formula: str | None
    derived: float | None = None
    published: float | None = None
    attainable: float | None = None

    @property
    def agree(self) -> bool | None:
        """Whether formula and data sheet differ by 5 % at most."""
        if self.derived is None or self.published is None:
            return None
        return abs(self.derived / self.published - 1) <= AGREEMENT


def typed_peak(hertz: float, bits: int, factor: int) -> Peak:
    """Return the peak of the options' factors; raises BadInput."""
    derived = theoretical_bandwidth(hertz, bits, factor)
    return Peak(
        theoretical=derived,
        source="you",
        formula=_formula(hertz, bits, factor),
        derived=derived,
        attainable=derived,
    )


def device_peak(device: Device) -> Peak:
    """Return the peak of *device*; raises BadInput where the catalogue knows none."""
    rate = device.memory_bandwidth
    if rate is None:
        raise BadInput(
            f"The memory bandwidth of {device.name} is not known.",
            hint="Name a GPU with --gpu, or give --memory-clock and --bus.",
        )
    clock, bits, factor = device.memory_clock_hz, device.memory_bus_bits, device.memory_data_rate
    formula = None
    if clock is not None and bits is not None and factor is not None:
        formula = _formula(clock, bits, factor)
    return Peak(
        theoretical=rate,
        source=device.sources.get("memory_bandwidth", str(device.origin)),
        formula=formula,
        derived=derived_bandwidth(device),
        published=device.published_bandwidth,
        attainable=attainable_with_ecc(device, rate),
    )


def _formula(hertz: float, bits: int, factor: int) -> str:
    return f"{show_hertz(hertz)} x {bits} bit / 8 x {factor}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedCopy:
    """One copy between host and device, of pinned memory unless *pageable*."""

    direction: Direction
    bytes: int
    seconds: float
    pageable: bool


def typed_copy(
    *, h2d: CopyAmount | None, d2h: CopyAmount | None, time: float | None, pageable: bool
) -> TypedCopy | None:
    """Return the copy that the options describe, None without one; raises BadInput."""
    if h2d is None and d2h is None:
        if pageable:
            raise BadInput("--pageable is about a copy.", hint="Give --h2d or --d2h, and --time.")
        return None
    if h2d is not None and d2h is not None:
        raise BadInput("--h2d and --d2h: one copy at a time has a rate.", hint="Leave one out.")
    direction, copied = (Direction.H2D, h2d) if h2d is not None else (Direction.D2H, d2h)
    size = copied.size if copied else None
    if not size:
        raise BadInput(f"--{direction} takes a size here: 256MiB.", hint="--time is its time.")
    if time is None:
        raise BadInput(f"--{direction} needs the time of the copy.", hint="Give it: --time 20ms.")
    return TypedCopy(direction=direction, bytes=size, seconds=time, pageable=pageable)


def link_peak(device: Device, slot: Link | None) -> Peak:
    """Return what the link of *device* to its host can carry one way; raises BadInput without one."""
    link = slot or host_link(device)
    if link is None:
        why = (
            "shares its memory with the host"
            if device.integrated
            else "has no known link to a host"
        )
        raise BadInput(f"{device.name} {why}.", hint="Name the slot: --pcie 4x16.")
    return Peak(
        theoretical=link.theoretical,
        source="you" if slot else f"derived: {link.name}",
        formula=link.formula,
        attainable=link.attainable,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTraffic:
    """Bytes read and written by a kernel and its time; ``None`` is not given."""

    read_bytes: int | None = None
    write_bytes: int | None = None
    seconds: float | None = None

    @property
    def effective(self) -> float | None:
        """Effective bandwidth in bytes/s, None without bytes or time."""
        if self.seconds is None or self.moved is None:
            return None
        return effective_bandwidth(self.moved, 0, self.seconds)

    @property
    def moved(self) -> int | None:
        """Bytes read and written together."""
        if self.read_bytes is None and self.write_bytes is None:
            return None
        return (self.read_bytes or 0) + (self.write_bytes or 0)


def traffic(
    *,
    read: int | None,
    write: int | None,
    time: float | None,
    matrix: str | None,
    dtype: str,
    copies: int,
) -> KernelTraffic:
    """Return what the options say; raises BadInput for half of a measurement."""
    if matrix is not None and (read is not None or write is not None):
        raise BadInput("--matrix gives the bytes: leave out --read and --write.")
    if matrix is not None:
        read, write = _matrix(matrix, dtype, copies)
    kernel = KernelTraffic(read_bytes=read, write_bytes=write, seconds=time)
    if (time is None) != (kernel.moved is None):
        raise BadInput(
            "An effective bandwidth needs bytes and a time.",
            hint="Give --read, --write or --matrix together with --time.",
        )
    return kernel


def _matrix(matrix: str, dtype: str, passes: int) -> tuple[int, int]:
    """Return the bytes read and written: half of the passes each, the odd one read."""
    from gpuadvise.advisor.memory.number_types import storage_bytes
    from gpuadvise.advisor.peaks import arithmetic

    rows, columns = options.read("matrix", matrix)
    number_type, _ = arithmetic(options.read("dtype", dtype))
    size = storage_bytes(rows * columns, number_type)
    if size * passes > LARGEST_BYTES:
        raise BadInput(f"--matrix: {quoted(matrix)} has more than 2^63-1 bytes.")
    return size * (passes - passes // 2), size * (passes // 2)
