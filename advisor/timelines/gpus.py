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


def traced_device(
    *, name: object, major: object, minor: object, sm_count: object, memory_bytes: object
) -> Device | None:
    """Return the device that these words of a file describe; None where they are unusable.

    What the file says of the GPU (a slice has fewer multiprocessors) goes before the catalogue.
    """
    if not (isinstance(major, int) and isinstance(minor, int) and isinstance(name, str)):
        return None
    sms = sm_count if isinstance(sm_count, int) and 0 < sm_count <= _MOST_SMS else None
    memory = memory_bytes if isinstance(memory_bytes, int) and 0 < memory_bytes < 2**50 else None
    capability = Capability(major, minor)
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
