"""The GPU of a recording, as the recording describes it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.entries import by_capability
from gpuadvise.advisor.catalogue.lookup import LONGEST, identify
from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device

_MOST_SMS = 4096
_LATEST_MAJOR, _LATEST_MINOR = 99, 9


def traced_device(
    *, name: object, major: object, minor: object, sm_count: object, memory_bytes: object
) -> Device | None:
    """Return the device that these words of a file describe; None where they are unusable.

    What the file says of the GPU (a slice has fewer multiprocessors) goes before the catalogue.
    """
    version = _whole(major, 1, _LATEST_MAJOR), _whole(minor, 0, _LATEST_MINOR)
    if version[0] is None or version[1] is None or not isinstance(name, str):
        return None
    sms = _whole(sm_count, 1, _MOST_SMS)
    memory = _whole(memory_bytes, 1, 2**50)
    capability = Capability(version[0], version[1])
    try:
        device = identify(name[:LONGEST], sm_count=sms, memory_bytes=memory)
        if device is None or device.capability != capability:
            device = by_capability(capability)
    except BadInput:
        return None
    return replace(
        device,
        name=name[:LONGEST],
        sm_count=sms or device.sm_count,
        memory_bytes=memory or device.memory_bytes,
    )


def _whole(value: object, least: int, most: int) -> int | None:
    """Return *value* where it is a whole number of this range; ``true`` is none."""
    return value if type(value) is int and least <= value <= most else None
