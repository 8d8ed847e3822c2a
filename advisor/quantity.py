"""Sizes, times and rates: from what people type to base units, and back to what they read.

Base units are bytes, seconds, hertz and bytes per second. ``K``, ``M``, ``G`` and ``KiB``,
``MiB``, ``GiB`` are powers of 1024; ``kB``, ``MB``, ``GB`` powers of 1000. ``KB`` is refused:
half of its writers mean one, half the other.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

# Compiled on first use: most runs parse no size, and start-up is short.
_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_EXPONENT = r"[eE][+-]?[0-9]{1,3}"
_NUMBER = rf"\s*({_DIGITS}(?:\.[0-9]*)?(?:{_EXPONENT})?|\.[0-9]+)\s*([^\s\d_]\S*)?\s*"
_COUNT = rf"\s*(-?)({_DIGITS}(?:(?:\.[0-9]*)?{_EXPONENT})?)\s*"
# Longest text that can still be one number and its unit.
_LONGEST = 64
_BINARY = {"K": 1, "M": 2, "G": 3, "T": 4}
_DECIMAL = {"": 0, "K": 3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}  # powers of ten
# The base units in one of each unit; a time's are the parts of a second, all whole numbers.
_BYTES: dict[str, int] = {
    "": 1,
    "B": 1,
    **{unit: 1024**power for unit, power in _BINARY.items()},
    **{f"{unit}iB": 1024**power for unit, power in _BINARY.items()},
    **{unit + "B": 1000**power for unit, power in (("k", 1), ("M", 2), ("G", 3), ("T", 4))},
}
_PARTS_OF_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "µs": 10**6, "μs": 10**6, "ns": 10**9}
_RATES = {f"{unit}/s": scale for unit, scale in _BYTES.items() if unit.endswith("B")}
_HERTZ = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
_OPERATIONS = {
    name: 10**power
    for unit, power in _DECIMAL.items()
    for name in (unit, f"{unit}FLOP", f"{unit}OP")
}
_OPERATION_RATES = {
    f"{unit}{noun}/s": 10**power for unit, power in _DECIMAL.items() for noun in ("FLOP", "OP")
}
_FLOPS = (("PFLOP/s", 1e15), ("TFLOP/s", 1e12), ("GFLOP/s", 1e9), ("MFLOP/s", 1e6))
LARGEST_BYTES = 2**63 - 1
# No time, rate or count is that far from one; products of such numbers stay finite.
_BEYOND = 1e30
# Outside of this, numbers are shown with an exponent: two decimals would say 0.
_TINY, _LONG = 0.005, 1e9


class Ratio(NamedTuple):
    """A number exactly as it was written: what stands above and below the line."""

    above: int
    below: int = 1

    def times(self, above: int, below: int = 1) -> Ratio:
        """Return this number times *above* / *below*."""
        return Ratio(self.above * above, self.below * below)

    def nearest(self) -> float:
        """Return the float nearest to this number; infinity where there is none."""
        try:
            return self.above / self.below  # Python rounds a quotient of whole numbers correctly
        except OverflowError:
            return math.inf


def whole_number(text: str) -> int | None:
    """Return the whole number that ``1000000``, ``1_000_000`` or ``1e6`` writes; None for another text."""
    if len(text) > _LONGEST:
        return None
    if text.isascii() and text.isdigit():  # lists are long, and re is slow
        return int(text)
    match = re.fullmatch(_COUNT, text, re.ASCII)
    if not match:
        return None
    written = _exactly(match[2])
    number, rest = divmod(written.above, written.below)
    return None if rest else -number if match[1] else number


def parse_bytes(text: str, *, minimum: int = 0) -> int:
    """Return the bytes that ``49152``, ``48K``, ``48KiB``, ``48kB`` or ``1.5GB`` names.

    Raises BadInput when it is no size, no whole number of bytes, or out of range.
    """
    accepted = "Write a size as 49152, 48K, 48KiB, 48kB or 1.5GB."
    number, unit = _split(text, accepted)
    if unit == "KB":
        raise BadInput(
            f"{quoted(text)} can mean 1000 or 1024 bytes.",
            hint="Write KiB for 1024 bytes or kB for 1000.",
        )
    if unit not in _BYTES:
        raise BadInput(f"{quoted(text)} is not a size.", hint=accepted)
    size, rest = divmod(number.above * _BYTES[unit], number.below)
    if rest or not minimum <= size <= LARGEST_BYTES:
        raise BadInput(
            f"{quoted(text)} is not a whole number of bytes from {minimum} to 2^63-1.",
            hint=accepted,
        )
    return size


def parse_seconds(text: str, *, zero: bool = False) -> float:
    """Return the seconds that ``3ms``, ``250us`` or ``1.2s`` names; raises BadInput."""
    accepted = "Write a time as 1.2s, 3ms, 250us or 800ns."
    number, unit = _split(text, accepted)
    if unit not in _PARTS_OF_A_SECOND:
        raise BadInput(f"{quoted(text)} is not a time.", hint=accepted)
    exact = number.times(1, _PARTS_OF_A_SECOND[unit])
    return _in_range(exact, text, "time", accepted, zero=zero)


def parse_rate(text: str) -> float:
    """Return the bytes per second that ``25GB/s`` names; raises BadInput."""
    return _scaled(text, _RATES, "rate", "Write a rate as 25GB/s, 800MB/s or 23.3GiB/s.")


def parse_hertz(text: str) -> float:
    """Return the hertz that ``1.85GHz`` or ``877MHz`` names; raises BadInput."""
    return _scaled(text, _HERTZ, "frequency", "Write a frequency as 1.85GHz or 877MHz.")


def parse_operations(text: str) -> float:
    """Return the operations that ``2e9``, ``2G`` or ``2GFLOP`` names; raises BadInput."""
    return _scaled(text, _OPERATIONS, "number of operations", "Write operations as 2e9 or 2GFLOP.")


def parse_operation_rate(text: str) -> float:
    """Return the operations per second that ``80TFLOP/s`` names; raises BadInput."""
    return _scaled(text, _OPERATION_RATES, "rate", "Write a rate as 80TFLOP/s or 1.9POP/s.")


def parse_share(text: str) -> float:
    """Return the fraction (0 to 1) that ``50%``, ``0.5`` or ``1/2`` names; raises BadInput."""
    accepted = "Write a share as 50%, 0.5 or 1/2."
    share = _share(text)
    if share is not None and share.above <= share.below:
        return share.nearest()
    if share is not None and text.strip().isdigit() and share.above <= 100:
        accepted = f"Write {share.above}% or {share.above / 100:g}."
    raise BadInput(f"{quoted(text)} is not a share.", hint=accepted)


def _share(text: str) -> Ratio | None:
    """Return the number that *text* writes as per cent, as a fraction or as a quotient."""
    first, slash, second = text.partition("/")
    try:
        if slash:
            above, below = _plain(first), _plain(second)
            return above.times(below.below, below.above) if below.above else None
        per_cent = text.rstrip().endswith("%")
        number = _plain(text.rstrip().removesuffix("%"))
        return number.times(1, 100) if per_cent else number
    except BadInput:
        return None


def _plain(text: str) -> Ratio:
    number, unit = _split(text, "")
    if unit:
        raise BadInput(f"{quoted(text)} has a unit.")
    return number


def _scaled(text: str, units: Mapping[str, int], noun: str, accepted: str) -> float:
    number, unit = _split(text, accepted)
    if unit not in units:
        raise BadInput(f"{quoted(text)} is not a {noun}.", hint=accepted)
    return _in_range(number.times(units[unit]), text, noun, accepted)


def _in_range(exact: Ratio, text: str, noun: str, accepted: str, *, zero: bool = False) -> float:
    value = exact.nearest()
    if not (1 / _BEYOND < value < _BEYOND or (value == 0 and zero)):
        raise BadInput(f"{quoted(text)} is out of range for a {noun}.", hint=accepted)
    return value


def _split(text: str, accepted: str) -> tuple[Ratio, str]:
    """Return the number of *text*, exactly, and its unit; raises BadInput."""
    match = re.fullmatch(_NUMBER, text, re.ASCII) if len(text) <= _LONGEST else None
    if not match:
        raise BadInput(f"{quoted(text)} is not a number with a unit.", hint=accepted)
    return _exactly(match[1]), match[2] or ""


def _exactly(digits: str) -> Ratio:
    """Return the number that *digits*, perhaps with a point and an exponent, write."""
    mantissa, _, exponent = digits.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    power = int(exponent or 0) - len(decimals)
    return Ratio(int(whole + decimals), 10 ** max(-power, 0)).times(10 ** max(power, 0))


def show_bytes(size: int) -> str:
    """Return *size* as people read device memory: ``227 KiB``, ``139.8 GiB``, ``100 B``."""
    for power, unit in enumerate(("PiB", "TiB", "GiB", "MiB", "KiB")):
        scale = 1024 ** (5 - power)
        if size >= scale:
            return f"{_short(size / scale)} {unit}"
    return f"{size} B"


def show_rate(rate: float) -> str:
    """Return *rate* in bytes per second as ``4.81 TB/s`` or ``177.6 GB/s``."""
    return _decimal(rate, (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)), "B/s")


def show_binary_rate(rate: float) -> str:
    """Return *rate* in bytes per second by powers of 1024: ``165.4 GiB/s``, ``2.5 MiB/s``."""
    for unit, scale in (("GiB/s", 2.0**30), ("MiB/s", 2.0**20), ("KiB/s", 2.0**10)):
        if rate >= scale:
            return f"{_short(rate / scale)} {unit}"
    return f"{_short(rate)} B/s"


def show_hertz(frequency: float) -> str:
    """Return *frequency* as ``1980 MHz``: the unit that drivers and data sheets use."""
    return f"{_short(frequency / 1e6)} MHz"


def show_seconds(time: float) -> str:
    """Return *time* as ``1.2 s``, ``3 ms``, ``250 us`` or ``12 ns``."""
    return _decimal(time, (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)), "ns", 1e-9)


def show_flops(rate: float) -> str:
    """Return *rate* in operations per second as ``66.9 TFLOP/s``."""
    return _decimal(rate, _FLOPS, "FLOP/s")


@lru_cache(maxsize=1024)  # occupancies are few, and several findings of a kernel say them
def show_share(share: float) -> str:
    """Return *share* (0 to 1) as ``62.5 %``."""
    return f"{_short(share * 100)} %"


def show_number(value: float) -> str:
    """Return *value* with three digits, and no exponent where people read it so: ``1,510``."""
    if value >= _LONG or value < 1:
        return f"{value:.3g}"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits else text


def _decimal(
    value: float, units: tuple[tuple[str, float], ...], least: str, least_scale: float = 1.0
) -> str:
    for unit, scale in units:
        if value >= scale:
            return f"{_short(value / scale)} {unit}"
    return f"{_short(value / least_scale)} {least}"


def _short(value: float) -> str:
    if value >= _LONG or 0 < value < _TINY:
        return f"{value:.3g}"
    digits = 1 if value >= 10 else 2
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".")
