"""One live GPU as a Device: each fact from the best source that has it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.readings import DriverGpu, NvmlGpu
from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue import limits_of, slice_of, throughput_of
from gpuadvise.advisor.device import Device, Origin
from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.limits import Limits


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
_LINKS = "the driver was not asked whether NVLinks are up; the product's figure does not show it"
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
    if name == "nvlink_bandwidth":
        return _why_no_links(nvml)
    if product is None:
        return "no driver answer tells it, and the GPU is not in the catalogue"
    return "neither the driver nor the catalogue tells it"


def _why_no_links(nvml: NvmlGpu) -> str:
    why = nvml.topology and nvml.topology.reasons.get("nvlinks")
    return f"{nvml.source}: {why}; what the product has need not be connected" if why else _LINKS


DRIVER = "driver attribute"
# The clock that the driver reports for GDDR and HBM moves data on both edges.
_DOUBLE_DATA_RATE = 2
# Product facts that do not hold for a part of the product.
_NOT_OF_A_SLICE = frozenset(
    ("id", "memory_bytes", "memory_bandwidth", "published_bandwidth", "memory_bus_bits",
     "l2_bytes", "persisting_l2_bytes", "sm_count", "async_engines", "nvlink_bandwidth", "peaks",
     "power_limit_watts")
)  # fmt: skip
# What a slice has a share of.
_SHARED_OUT = ("memory_bandwidth", "l2_bytes", "async_engines", "peaks")
_NEVER_FROM_PRODUCT = frozenset(
    (
        "name", "capability", "limits", "origin", "extrapolated", "notes", "sources", "reasons",
        "nvlink_bandwidth",
    )
)  # fmt: skip


class _Facts:
    """Values by field name; the first source that knows one wins."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.sources: dict[str, str] = {}

    def add(self, source: str, **values: Any) -> None:
        for name, value in values.items():
            if value is not None and name not in self.values:
                self.values[name] = value
                self.sources[name] = source


def live_device(
    nvml: NvmlGpu | None, cuda: DriverGpu | None, product: Device | None
) -> Device | None:
    """Return the GPU that *nvml* and *cuda* describe, completed by the catalogue's *product*.

    None when no source tells its compute capability: nothing can be said then.
    """
    nvml = nvml or NvmlGpu(index=0)
    cuda = cuda or DriverGpu(cuda_index=0)
    capability = _capability(nvml, cuda) or (product.capability if product else None)
    if capability is None:
        return None
    facts = _Facts()
    _add_driver(facts, cuda)
    _add_nvml(facts, nvml, capability)
    facts.add("driver", name=cuda.name)
    _add_bandwidth(facts, product, is_slice=nvml.mig is not None)
    if product and nvml.mig:
        _add_slice(facts, product, nvml.name or "")
    if product:
        _add_product(facts, product, is_slice=nvml.mig is not None)
    limits, extrapolated = limits_of(capability)
    return Device(
        **{"name": "NVIDIA GPU", **facts.values},
        capability=capability,
        limits=_limits(limits, cuda.attributes),
        origin=Origin.LIVE,
        extrapolated=extrapolated,
        sources=facts.sources | _limit_sources(capability, cuda, nvml),
        reasons=reasons(facts.values, nvml, cuda, product),
    )


def _limits(limits: Limits, attributes: Mapping[str, int]) -> Limits:
    if not attributes:
        return limits
    from gpuadvise.advisor.driver_limits import with_driver

    return with_driver(limits, attributes)


def _capability(nvml: NvmlGpu, cuda: DriverGpu) -> Capability | None:
    if nvml.compute_capability:
        return Capability(*nvml.compute_capability)
    major = cuda.attributes.get("compute_capability_major")
    minor = cuda.attributes.get("compute_capability_minor", 0)
    return Capability(major, minor) if major else None


def _add_driver(facts: _Facts, cuda: DriverGpu) -> None:
    of = cuda.attributes.get
    facts.add("driver", memory_bytes=cuda.memory_bytes)
    facts.add(
        DRIVER,
        sm_count=of("multiprocessor_count") or None,
        sm_clock_hz=_kilohertz(of("clock_rate")),
        memory_bus_bits=of("global_memory_bus_width") or None,
        memory_clock_hz=_kilohertz(of("memory_clock_rate")),
        l2_bytes=of("l2_cache_size") or None,
        persisting_l2_bytes=of("max_persisting_l2_cache_size") or None,
        async_engines=of("async_engine_count"),
        integrated=_flag(of("integrated")),
        coherent_host_memory=_flag(of("pageable_memory_access_uses_host_page_tables")),
        ecc=_flag(of("ecc_enabled")),
    )


def _add_nvml(facts: _Facts, nvml: NvmlGpu, capability: Capability) -> None:
    facts.add(
        nvml.source,
        name=nvml.name,
        sm_count=nvml.sm_count,
        memory_bytes=nvml.memory_bytes,
        memory_bus_bits=nvml.memory_bus_bits or None,
        sm_clock_max_hz=_float(nvml.sm_clock_hz),
        memory_clock_hz=_float(nvml.memory_clock_hz),
        ecc=nvml.ecc,
        pcie_generation=nvml.pcie_generation or None,
        pcie_lanes=nvml.pcie_lanes or None,
        power_limit_watts=nvml.power_limit_watts,
    )
    if nvml.topology:
        from gpuadvise.advisor.topology import nvlink_rate

        facts.add(f"{nvml.source}: links that are up", nvlink_bandwidth=nvlink_rate(nvml.topology))
    if nvml.cores and not nvml.mig and (lanes := throughput_of(capability).fp32_fma):
        source = f"derived: NVML's core count / {lanes} FP32 lanes per SM"
        facts.add(source, sm_count=nvml.cores // lanes)


def _add_bandwidth(facts: _Facts, product: Device | None, *, is_slice: bool) -> None:
    known = facts.values
    clock, bits = known.get("memory_clock_hz"), known.get("memory_bus_bits")
    if is_slice or known.get("integrated") or not (clock and bits):
        return
    if product and product.memory_data_rate:
        _add_fields(facts, product, ["memory_data_rate"])
    facts.add("derived: double data rate", memory_data_rate=_DOUBLE_DATA_RATE)
    rate = clock * bits / 8 * known["memory_data_rate"]
    facts.add("derived: memory clock x bus width x data rate", memory_bandwidth=rate)


def _add_product(facts: _Facts, product: Device, *, is_slice: bool) -> None:
    dropped = _NEVER_FROM_PRODUCT | (_NOT_OF_A_SLICE if is_slice else set())
    if product.nvlink_bandwidth == 0:  # a product without NVLink has none here either
        facts.add(product.sources.get("nvlink_bandwidth", "catalogue"), nvlink_bandwidth=0)
    _add_fields(facts, product, [f.name for f in fields(Device) if f.name not in dropped])


def _add_slice(facts: _Facts, product: Device, name: str) -> None:
    """Add what the catalogue knows of the profile in the slice's *name*: its share of *product*."""
    try:
        share = slice_of(product, name.rpartition("MIG ")[2].partition("+")[0])
    except BadInput:  # a profile that no listing has
        return
    _add_fields(facts, share, [name for name in _SHARED_OUT if getattr(share, name)])


def _add_fields(facts: _Facts, product: Device, names: list[str]) -> None:
    for name in names:
        source = product.sources.get(name, "catalogue")
        facts.add(source, **{name: getattr(product, name) or None})
    if "peaks" in names:
        parts = {name: text for name, text in product.sources.items() if name.startswith("peaks.")}
        facts.sources.update(parts)


def _kilohertz(value: int | None) -> float | None:
    return value * 1e3 if value else None


def _float(value: int | None) -> float | None:
    return float(value) if value else None


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _limit_sources(capability: Capability, cuda: DriverGpu, nvml: NvmlGpu) -> dict[str, str]:
    limits = {
        "capability": _capability_source(nvml, cuda),
        "limits": f"catalogue: capability {capability}",
    }
    if not cuda.attributes:
        return limits
    from gpuadvise.advisor.driver_limits import driver_limits

    return limits | dict.fromkeys(driver_limits(cuda.attributes), DRIVER)


def _capability_source(nvml: NvmlGpu, cuda: DriverGpu) -> str:
    if nvml.compute_capability:
        return nvml.source
    return DRIVER if cuda.attributes else "catalogue"
