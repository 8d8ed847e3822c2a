"""The peak of a device that a kernel of some number type can reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.number_types import NumberType, parse_number_type
from gpuadvise.advisor.prose import and_list

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device

TENSOR = "_tensor"
# Types that kernels compute in on the ordinary units unless they say otherwise; the narrower
# ones are of use on tensor cores only.
_ORDINARY = (NumberType.FP64, NumberType.FP32)

# The first capability with units for a type: PTX ISA, mma, and fma for bf16.
_FIRST_WITH = {
    NumberType.BF16: (8, 0),
    NumberType.TF32: (8, 0),
    NumberType.FP8: (8, 9),
    NumberType.FP4: (10, 0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitPeak:
    """A dense peak in FLOP/s (OP/s for integers) and the unit that has it."""

    key: str  # of Device.peaks
    rate: float
    source: str


def fp64_ratio(device: Device | None) -> float | None:
    """Return the rate of *device* in FP64 beside that in FP32, on ordinary units; None where it is not known."""
    peaks = device.peaks if device else {}
    single, double = peaks.get("fp32"), peaks.get("fp64")
    return double / single if single and double else None


def peak(device: Device, number_type: NumberType, *, tensor: bool | None = None) -> UnitPeak:
    """Return the peak of *device* for *number_type*; *tensor* chooses the unit.

    By default fp64 and fp32 mean the ordinary units, other types the tensor cores where there
    are any. Raises BadInput that lists the known peaks.
    """
    keys = [f"{number_type}{TENSOR}", str(number_type)]
    if tensor is not None:
        keys = keys[:1] if tensor else keys[1:]
    elif number_type in _ORDINARY:
        keys.reverse()
    for key in keys:
        if key in device.peaks:
            return _unit(device, key)
    unit = " on tensor cores" if tensor else ""
    known = and_list(sorted(device.peaks)) if device.peaks else "none"
    first = _FIRST_WITH.get(number_type)
    message = f"No {number_type} peak{unit} is known of {device.name}."
    if first is not None and (device.capability.major, device.capability.minor) < first:
        message = (
            f"{device.name} has no {number_type} units: they begin with compute capability "
            f"{first[0]}.{first[1]}."
        )
    raise BadInput(message, hint=f"Known peaks: {known}. --peak gives one.")


def arithmetic(text: str) -> tuple[NumberType, bool | None]:
    """Return the type that ``fp16`` or ``fp16_tensor`` names, and whether it says tensor cores.

    None leaves the unit to ``peak``. Raises BadInput.
    """
    clean = text.strip().lower()
    return parse_number_type(clean.removesuffix(TENSOR)), clean.endswith(TENSOR) or None


def all_peaks(device: Device) -> list[UnitPeak]:
    """Return every peak of *device*, the lowest first."""
    return sorted((_unit(device, key) for key in device.peaks), key=lambda unit: unit.rate)


def other_peaks(
    device: Device, number_type: NumberType, now: UnitPeak
) -> list[tuple[NumberType, UnitPeak]]:
    """Return the units beside *now* that could take *number_type*'s work, by type.

    That is the same type on another unit, and every type of the same kind (floating point or
    integer) with as many bits or fewer, on its tensor cores where there are any.
    """
    peaks = []
    for candidate in NumberType:
        if candidate.is_integer is not number_type.is_integer or candidate.bits > number_type.bits:
            continue
        keys = [key for key in (f"{candidate}{TENSOR}", str(candidate)) if key in device.peaks]
        if keys and keys[0] != now.key:
            peaks.append((candidate, _unit(device, keys[0])))
    return peaks


def _unit(device: Device, key: str) -> UnitPeak:
    source = device.sources.get(f"peaks.{key}", device.sources.get("peaks", str(device.origin)))
    return UnitPeak(key=key, rate=device.peaks[key], source=source)
