"""The device of an answer: which it is, and how JSON and text name it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device

_SHOWN = ("sm_count", "sm_clock_hz", "memory_bytes", "memory_bandwidth")


def device_block(device: Device) -> dict[str, Any]:
    """Return the ``device`` object of an answer: identity and the facts most answers rest on.

    Base units; ``gpuadvise device`` gives every field.
    """
    names = ("compute_capability", *_SHOWN)
    sources = {**device.sources, "compute_capability": device.sources.get("capability")}
    return {
        "name": device.name,
        "catalogue_id": device.id,
        "compute_capability": str(device.capability),
        "origin": str(device.origin),
        "extrapolated": device.extrapolated,
        **{name: getattr(device, name) for name in _SHOWN},
        "sources": {name: sources[name] for name in names if sources.get(name)},
        "reasons": {name: device.reasons[name] for name in names if name in device.reasons},
    }


def device_line(device: Device) -> str:
    """Return *device* as people read it: ``NVIDIA H200 (compute capability 9.0, live)``."""
    named = f"compute capability {device.capability}"
    if device.name == named:
        return named
    return f"{device.name} ({named}, {device.origin})"
