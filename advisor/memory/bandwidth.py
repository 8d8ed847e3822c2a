"""Theoretical and effective bandwidth, and what their ratio says.

Best Practices Guide, sections "Theoretical Bandwidth Calculation" and "Effective Bandwidth
Calculation". Every rate is in bytes per second; gigabytes and gibibytes meet only in output.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device

# The guide's note on ECC: about 20 % less attainable. Its newest edition limits that to GDDR;
# HBM has room for the check bits.
ECC_FACTOR_GDDR = 0.8
# Catalogue and formula may differ by rounding in a data sheet; more than this is a contradiction.
AGREEMENT = 0.05


class Band(StrEnum):
    """How an effective bandwidth compares with the theoretical one."""

    IMPOSSIBLE = "impossible"
    BAD = "bad"
    POOR = "poor"
    FAIR = "fair"
    GOOD = "good"


# Upper ends of the bands. HBM copies reach 85 to 92 % of theoretical (measured: 87 % on a
# H200), so 80 % and more is as good as a kernel gets.
_BANDS = ((0.4, Band.BAD), (0.6, Band.POOR), (0.8, Band.FAIR), (1.0, Band.GOOD))


def theoretical_bandwidth(clock_hz: float, bus_bits: int, data_rate: int = 2) -> float:
    """Return bytes/s: clock x bus width in bytes x transfers per clock.

    *data_rate* is 2 for the memory clock that drivers report, on GDDR and HBM alike.
    """
    return clock_hz * (bus_bits / 8) * data_rate


def derived_bandwidth(device: Device) -> float | None:
    """Return the bytes/s that the formula gives for *device*, None when a factor is unknown."""
    clock, bits, rate = device.memory_clock_hz, device.memory_bus_bits, device.memory_data_rate
    if clock is None or bits is None or rate is None:
        return None
    return theoretical_bandwidth(clock, bits, rate)


def effective_bandwidth(read_bytes: int, write_bytes: int, seconds: float) -> float:
    """Return bytes/s: what a kernel read and wrote, divided by its time. Raises BadInput."""
    if not seconds > 0:
        raise BadInput("An effective bandwidth needs a time above zero.")
    if read_bytes < 0 or write_bytes < 0 or read_bytes + write_bytes == 0:
        raise BadInput("An effective bandwidth needs bytes that were read or written.")
    return (read_bytes + write_bytes) / seconds


def band(effective: float, theoretical: float) -> Band:
    """Return the verdict on *effective* out of *theoretical* (both bytes/s)."""
    ratio = effective / theoretical
    return next((name for top, name in _BANDS if ratio < top), _above(ratio))


def _above(ratio: float) -> Band:
    return Band.GOOD if ratio == 1 else Band.IMPOSSIBLE


def is_gddr(device: Device) -> bool | None:
    """Return whether ECC costs bandwidth on this memory; None when its type is unknown."""
    kind = device.memory_type
    return None if kind is None else kind.upper().startswith("GDDR")


def attainable_with_ecc(device: Device, theoretical: float) -> float:
    """Return the bytes/s that ECC leaves: *theoretical*, or less when ECC is on over GDDR."""
    return theoretical * ECC_FACTOR_GDDR if device.ecc and is_gddr(device) else theoretical
