"""The theoretical bandwidth of a device or of typed factors, with its formula and source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.bandwidth import (
    AGREEMENT,
    attainable_with_ecc,
    derived_bandwidth,
    theoretical_bandwidth,
)
from gpuadvise.advisor.quantity import parse_hertz, show_hertz
from gpuadvise.cli.args import named, whole

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device


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


def typed_peak(clock: str, bus: str, rate: str) -> Peak:
    """Return the peak of the options' factors; raises BadInput."""
    hertz = named("--memory-clock", parse_hertz, clock)
    bits = whole("--bus", bus, low=8, high=65_536)
    factor = whole("--data-rate", rate, low=1, high=16)
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
