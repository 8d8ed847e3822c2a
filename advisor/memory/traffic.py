"""What memory or a link could carry, what a kernel or a copy moved, and why it is not more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.bandwidth import (
    AGREEMENT,
    Band,
    attainable_with_ecc,
    derived_bandwidth,
    effective_bandwidth,
    theoretical_bandwidth,
)
from gpuadvise.advisor.quantity import show_bytes, show_hertz, show_seconds
from gpuadvise.advisor.transfers.copies import copy_seconds, latency_share
from gpuadvise.advisor.transfers.links import host_link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.transfers.copies import Direction
    from gpuadvise.advisor.transfers.links import Link, LinkModel


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedCopy:
    """One copy between host and device, of pinned memory unless *pageable*."""

    direction: Direction
    bytes: int
    seconds: float
    pageable: bool


# A launch and its first memory accesses take some microseconds; a kernel this short is mostly
# that (a minimal kernel takes about 2 us on a H200).
_SHORT = 10e-6


def causes(device: Device | None, traffic: KernelTraffic, band: Band) -> list[str]:
    """Return the likely causes of *band*, the ones that the numbers show first."""
    return [*_shown(device, traffic, band), *_usual(band)]


def _shown(device: Device | None, traffic: KernelTraffic, band: Band) -> Iterator[str]:
    cache = device.l2_bytes if device else None
    if cache and traffic.moved and traffic.moved <= cache:
        yield (
            f"The data fit the L2 cache of {show_bytes(cache)}: repeated runs measure the cache, "
            "so use larger data."
        )
    if traffic.seconds and traffic.seconds < _SHORT and band is not Band.IMPOSSIBLE:
        yield (
            f"{show_seconds(traffic.seconds)} is little more than a launch takes: give the "
            "kernel more work before judging it."
        )


def _usual(band: Band) -> Iterator[str]:
    match band:
        case Band.IMPOSSIBLE:
            yield (
                "More than memory can deliver: bytes counted twice, served by a cache, or GiB "
                "taken for GB, or a time without synchronisation."
            )
        case Band.BAD | Band.POOR:
            yield "Uncoalesced or misaligned accesses: see gpuadvise access."
            yield "Too few bytes in flight: occupancy, or narrow words (try 16 bytes per load)."
            yield "Another limit than memory: see gpuadvise roofline."
        case Band.FAIR:
            yield "Wider words or more independent loads per thread often close the rest."
        case Band.GOOD:
            pass


# Of its time: a copy with more of it before the first byte moves is too small to show a rate.
_MUCH_LATENCY = 0.2
# Pageable copies differ from host to host: as slow as one within this factor.
_AS_PAGEABLE = 1.5


def copy_causes(copy: TypedCopy, model: LinkModel, band: Band) -> Iterator[str]:
    """Yield why a copy is as fast as it is, the likeliest first."""
    expected = copy_seconds(copy.bytes, model, copy.direction, pageable=copy.pageable)
    kind = "pageable" if copy.pageable else "pinned"
    yield (
        f"A {kind} copy of {show_bytes(copy.bytes)} takes about {show_seconds(expected)} here"
        f"{', as on the host of an H200' if copy.pageable else ''}."
    )
    if band is Band.IMPOSSIBLE:
        yield "More than the link carries: a time without synchronisation, or another link."
        return
    if latency_share(copy.bytes, model, copy.direction) > _MUCH_LATENCY:
        yield (
            f"It is small: {show_seconds(model.copy_latency)} pass before the first byte moves. Join "
            "small copies into one."
        )
    if band is Band.GOOD:
        return
    if copy.pageable:
        yield "Pinned memory is copied at the rate of the link: cudaMallocHost, or pin_memory=True."
        return
    pageable = copy_seconds(copy.bytes, model, copy.direction, pageable=True)
    if copy.seconds < _AS_PAGEABLE * pageable and pageable > expected:
        yield (
            f"Pageable memory takes {show_seconds(pageable)} or so: is it pinned (cudaMallocHost, "
            "pin_memory=True)?"
        )
    yield "The link may run below its best: see gpuadvise device --telemetry, and doctor --load."
    yield "Copies both ways at once, or of other GPUs behind the same switch, share a link."
