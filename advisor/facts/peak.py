"""The peak of the units that a described kernel computes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.peaks import arithmetic, peak

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timing import Work


def peak_of(work: Work, device: Device) -> float | None:
    """Return the FLOP/s that *device* has for the type of *work*, None when nobody knows."""
    number_type, tensor = arithmetic(work.dtype)
    try:
        return peak(device, number_type, tensor=tensor).rate
    except BadInput:
        return None
