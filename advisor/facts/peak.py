"""The peak of the units that a described kernel computes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.number_types import parse_number_type
from gpuadvise.advisor.peaks import peak

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timing import Work

TENSOR = "_tensor"


def peak_of(work: Work, device: Device) -> float | None:
    """Return the FLOP/s that *device* has for the type of *work*, None when nobody knows."""
    number_type = parse_number_type(work.dtype.removesuffix(TENSOR))
    try:
        return peak(device, number_type, tensor=work.dtype.endswith(TENSOR) or None).rate
    except BadInput:
        return None
