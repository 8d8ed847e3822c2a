"""Why a fact of a live GPU is not known, in words."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.device import Device

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.backends.readings import DriverGpu, NvmlGpu

# Device fields and the driver's names of the attributes that would tell them.
_ATTRIBUTE = {
    "sm_count": "multiprocessor_count",
    "sm_clock_hz": "clock_rate",
    "memory_bus_bits": "global_memory_bus_width",
    "memory_clock_hz": "memory_clock_rate",
    "l2_bytes": "l2_cache_size",
    "persisting_l2_bytes": "max_persisting_l2_cache_size",
    "async_engines": "async_engine_count",
    "coherent_host_memory": "pageable_memory_access_uses_host_page_tables",
}
_SLICE = "this is a MIG slice: the whole GPU's figure does not hold for it"
_SHARED = "the GPU uses the host's memory, whose clock and width the driver does not tell"
_BANDWIDTH = frozenset(
    ("memory_bandwidth", "memory_clock_hz", "memory_bus_bits", "memory_data_rate")
)


def reasons(
    known: Mapping[str, Any], nvml: NvmlGpu, cuda: DriverGpu, product: Device | None
) -> dict[str, str]:
    """Return for each field of Device that is not *known* why it is not."""
    optional = {field.name for field in fields(Device) if field.default is None} | {"peaks"}
    return {
        name: _reason(name, bool(known.get("integrated")), nvml, cuda, product)
        for name in sorted(optional - known.keys())
    }


def _reason(
    name: str, integrated: bool, nvml: NvmlGpu, cuda: DriverGpu, product: Device | None
) -> str:
    if nvml.mig and product:
        return _SLICE
    if integrated and name in _BANDWIDTH:
        return _SHARED
    for source, why in (
        ("NVML", nvml.reasons.get(name)),
        ("driver", cuda.reasons.get(_ATTRIBUTE.get(name, name))),
    ):
        if why:
            return f"{source}: {why}"
    if product is None:
        return "no driver answer tells it, and the GPU is not in the catalogue"
    return "neither the driver nor the catalogue tells it"
