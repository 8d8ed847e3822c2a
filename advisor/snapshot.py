"""GPUs as JSON and back: what ``device`` prints is what ``--from`` reads."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.capability import Capability, parse_capability
from gpuadvise.advisor.catalogue.capabilities import limits_of
from gpuadvise.advisor.device import Device, Origin
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.gpu import Gpu, Identity, Machine
from gpuadvise.advisor.json_records import plain, rebuilt
from gpuadvise.advisor.limits import Limits
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator


_SCHEMA = "gpuadvise.device/1"  # of the answer that is read
_TERA = 1e12
# From and to: some eight times what any GPU has. What enumerates launches trusts these numbers.
RANGES: dict[str, tuple[float, float]] = {
    "sm_count": (1, 1 << 16),
    "sm_clock_hz": (1, _TERA),
    "sm_clock_max_hz": (1, _TERA),
    "tensor_clock_hz": (1, _TERA),
    "memory_bytes": (1, 1 << 60),
    "memory_bus_bits": (1, 1 << 20),
    "memory_clock_hz": (1, _TERA),
    "memory_data_rate": (1, 1024),
    "memory_bandwidth": (1, 1e18),
    "published_bandwidth": (1, 1e18),
    "l2_bytes": (1, 1 << 44),
    "persisting_l2_bytes": (0, 1 << 44),
    "async_engines": (0, 1024),
    "pcie_generation": (1, 64),
    "pcie_lanes": (1, 256),
    "nvlink_bandwidth": (0, 1e18),
    "power_limit_watts": (1, 1e6),
    "peaks": (1, 1e24),
    "warp_size": (1, 128),
    "max_threads_per_block": (1, 4096),
    "max_block_dim": (1, 1 << 20),
    "max_grid_dim": (1, 1 << 40),
    "max_warps_per_sm": (1, 512),
    "max_threads_per_sm": (1, 1 << 14),
    "max_blocks_per_sm": (1, 512),
    "max_blocks_per_sm_in_clusters": (1, 512),
    "registers_per_sm": (1024, 1 << 20),
    "registers_per_block": (1024, 1 << 20),
    "max_registers_per_thread": (1, 2048),
    "register_allocation_unit": (32, 4096),
    "register_allocation_unit_special": (1, 4096),
    "register_allocation_unit_special_counts": (1, 2048),
    "register_subpartitions": (1, 64),
    "warp_allocation_granularity": (1, 64),
    "shared_memory_per_sm": (1024, 1 << 24),
    "shared_memory_per_block": (1024, 1 << 24),
    "shared_memory_per_block_optin": (1024, 1 << 24),
    "shared_memory_reserved_per_block": (0, 1 << 16),
    "shared_memory_allocation_unit": (1, 1 << 16),
    "shared_memory_configs": (0, 1 << 24),
    "shared_memory_banks": (1, 512),
    "shared_memory_bank_width": (1, 128),
    "warp_schedulers": (1, 64),
    "arithmetic_latency_cycles": (1, 10_000),
    "named_barriers_per_block": (1, 4096),
    "barriers_per_sm": (1, 1 << 14),
    "max_cluster_size_portable": (1, 1024),
    "max_cluster_size_nonportable": (1, 1024),
    "virtual_resources_per_sm": (1, 1 << 20),
    "max_resident_grids": (1, 1 << 16),
    "unified_l1_shared": (1, 1 << 26),
    "l1_texture_cache": (1, 1 << 26),
    "local_memory_per_thread": (1, 1 << 30),
    "constant_memory": (1, 1 << 26),
    "constant_cache_per_sm": (1, 1 << 26),
}
_ANY = (0, 2**63 - 1)
_MOST_CONFIGS = 64
# The first is never larger than the second.
_ORDERED = (
    ("max_threads_per_block", "max_threads_per_sm"),
    ("registers_per_block", "registers_per_sm"),
    ("register_allocation_unit", "registers_per_sm"),
    ("shared_memory_per_block", "shared_memory_per_block_optin"),
    ("shared_memory_per_block_optin", "shared_memory_per_sm"),
    ("shared_memory_allocation_unit", "shared_memory_per_block"),
    ("warp_size", "max_threads_per_block"),
)


def refuse_impossible(device: Device, where: str) -> None:
    """Raise BadInput naming the first number of *device* that no GPU can have."""
    limits = device.limits
    peaks = (("peaks", rate) for rate in device.peaks.values())
    for name, value in (*_numbers(device), *_numbers(limits), *peaks):
        least, most = RANGES.get(name, _ANY)
        if not least <= value <= most:
            raise BadInput(
                f"{where}.{name}: {value:,} is not a number from {least:,.0f} to {most:,.0f}."
            )
    if not 0 < len(limits.shared_memory_configs) <= _MOST_CONFIGS:
        raise BadInput(f"{where}.shared_memory_configs is no list of up to {_MOST_CONFIGS} sizes.")
    for less, more in _ORDERED:
        if getattr(limits, less) > getattr(limits, more):
            raise BadInput(f"{where}.{less}: {getattr(limits, less):,} is more than {more}.")
    if max(limits.shared_memory_configs) > limits.shared_memory_per_sm:
        raise BadInput(f"{where}.shared_memory_configs: one is more than shared_memory_per_sm.")


def _numbers(record: Device | Limits) -> Iterator[tuple[str, float]]:
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield field.name, value
        elif isinstance(value, tuple) and field.name in RANGES:
            yield from ((field.name, number) for number in value)


# Longest list of GPUs that is read; the largest machines hold 16 GPUs of 7 slices.
_MOST_GPUS = 1024
# What annotations name that their own modules import for type checkers only.
_TYPES = {"Capability": Capability, "Limits": Limits}
# What a GPU has of its own objects in JSON; older files lack some.
_PARTS = ("features", "topology", "telemetry")
# Names in JSON where they say more than the field's.
_RENAMED = {"id": "catalogue_id", "capability": "compute_capability"}
_UNDOCUMENTED = "no document that was found tells it"
_PRODUCT_UNKNOWN = "it depends on the product, and only a capability was named"
_NO_LIMIT = "this capability has none, or nobody documents it"
_LIMIT_NAMES = tuple(field.name for field in fields(Limits))
# Limits that older answers lack: those of the catalogue.
_LATER = ("max_blocks_per_sm_in_clusters",)
_APART = ("limits", "capability", "sources", "reasons", "peaks", "extrapolated", "origin")


def device_record(device: Device) -> dict[str, Any]:
    """Return *device* as a flat JSON object: its fields and those of its limits by name.

    Units are those of the fields; ``sources`` and ``reasons`` are keyed by the same names.
    """
    device = _complete(device)
    record: dict[str, Any] = {
        "name": device.name,
        "compute_capability": str(device.capability),
        "capability_variant": device.capability.variant,
    }
    for field in fields(Device):
        if field.name not in _APART:
            record[_RENAMED.get(field.name, field.name)] = plain(getattr(device, field.name))
    record |= plain(device.limits)
    record["peaks"] = plain(device.peaks)
    record["extrapolated"] = device.extrapolated
    record["origin"] = str(device.origin)
    record["sources"] = _renamed(device.sources, _RENAMED)
    record["reasons"] = _renamed(device.reasons, _RENAMED)
    return record


def gpu_record(gpu: Gpu) -> dict[str, Any]:
    """Return *gpu* as a JSON object: its device's record, its identity and telemetry."""
    parts = {name: plain(getattr(gpu, name)) for name in _PARTS}
    return {**device_record(gpu.device), **plain(gpu.identity), **parts}


def machine_record(machine: Machine) -> dict[str, Any]:
    """Return *machine* as a JSON object; ``devices`` holds a record of each GPU."""
    record: dict[str, Any] = {"devices": [gpu_record(gpu) for gpu in machine.gpus]}
    names = [field.name for field in fields(Machine) if field.name != "gpus"]
    return record | {name: plain(getattr(machine, name)) for name in names}


def read_device(record: Any, where: str = "device") -> Device:
    """Return the device that ``device_record`` wrote; raises BadInput naming the field."""
    if not isinstance(record, dict):
        raise BadInput(f"{where} is not an object.")
    back = {new: old for old, new in _RENAMED.items()}
    data = {back.get(name, name): value for name, value in record.items()}
    capability = _capability(record, where)
    later = {name: getattr(limits_of(capability)[0], name) for name in _LATER if name not in record}
    data["limits"] = {**record, **later}
    data["capability"] = plain(capability)
    for name in ("sources", "reasons"):
        if isinstance(record.get(name), dict):
            data[name] = _renamed(record[name], back)
    device = rebuilt(Device, data, _TYPES, where)
    refuse_impossible(device, where)
    return _brief(device)


def read_gpu(record: Any, where: str = "device") -> Gpu:
    """Return the GPU that ``gpu_record`` wrote; raises BadInput naming the field."""
    device = read_device(record, where)
    return Gpu(
        device=device,
        identity=rebuilt(Identity, record, _TYPES, where),
        **{name: _part(record, name, where) for name in _PARTS},
    )


def read_machine(document: Any) -> Machine:
    """Return the machine that a saved ``device`` answer describes, its GPUs as snapshots.

    Takes the whole envelope, of ``device`` for one GPU or with ``--all``. Raises BadInput.
    """
    result = document.get("result") if isinstance(document, dict) else None
    if not isinstance(result, dict):
        raise BadInput(
            "The file is not a saved answer of the device command.",
            hint="Write one with: gpuadvise device --all --format json > box.json",
        )
    schema = document.get("schema", _SCHEMA)
    if schema != _SCHEMA:
        raise BadInput(f"The file is {quoted(str(schema))}; {_SCHEMA} is read.")
    records = result.get("devices", [result])
    if not isinstance(records, list) or len(records) > _MOST_GPUS:
        raise BadInput(f"The file holds no list of up to {_MOST_GPUS} devices.")
    gpus = [read_gpu(record, f"devices.{n}") for n, record in enumerate(records)]
    # The answer for one GPU carries that GPU's notes under the name of the machine's.
    own = "notes" if "devices" in result else ""
    about = ("driver_version", "cuda_version", "problems", own)
    rest = {name: result[name] for name in about if name in result}
    machine = rebuilt(Machine, rest, _TYPES)
    problems = machine.problems or (() if gpus else (_NO_GPU,))
    return replace(machine, gpus=tuple(map(as_snapshot, gpus)), problems=problems)


_NO_GPU = "The file holds no GPU: none answered on the machine that it was saved on."


def as_snapshot(gpu: Gpu) -> Gpu:
    """Return *gpu* as recorded: what was live when it was saved is not live here."""
    if gpu.device.origin is not Origin.LIVE:
        return gpu
    return replace(gpu, device=replace(gpu.device, origin=Origin.SNAPSHOT))


def _capability(record: dict[str, Any], where: str) -> Capability:
    text = record.get("compute_capability")
    variant = record.get("capability_variant", "")
    if not isinstance(text, str) or variant not in ("", "a", "f"):
        raise BadInput(f"{where}.compute_capability is not given as text.")
    try:
        return replace(parse_capability(text), variant=variant)
    except BadInput as error:
        raise BadInput(f"{where}.compute_capability: {error.message}") from None


def _part(record: dict[str, Any], name: str, where: str) -> Any:
    data = record.get(name)
    return None if data is None else rebuilt(_kind_of(name), data, _TYPES, f"{where}.{name}")


def _kind_of(part: str) -> type[Any]:
    """Return the class of a GPU's *part*; GPUs of the catalogue have none of them."""
    from gpuadvise.advisor.features import Features
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.advisor.topology import Topology

    return {"features": Features, "topology": Topology, "telemetry": Telemetry}[part]


def _limits_source(device: Device) -> str:
    return device.sources.get("limits", f"catalogue: capability {device.capability}")


def _complete(device: Device) -> Device:
    """Return *device* with a source for every limit and a reason for every unknown."""
    known = (name for name in _LIMIT_NAMES if getattr(device.limits, name) is not None)
    sources = dict.fromkeys(known, _limits_source(device)) | dict(device.sources)
    return replace(device, sources=sources, reasons=_usual_reasons(device) | dict(device.reasons))


def _brief(device: Device) -> Device:
    """Return *device* without the sources and reasons that ``_complete`` would add again."""
    source, reasons = _limits_source(device), _usual_reasons(device)
    named, why = device.sources.items(), device.reasons.items()
    return replace(
        device,
        sources={name: text for name, text in named if name not in _LIMIT_NAMES or text != source},
        reasons={name: text for name, text in why if reasons.get(name) != text},
    )


def _usual_reasons(device: Device) -> dict[str, str]:
    why = _PRODUCT_UNKNOWN if device.origin is Origin.CAPABILITY else _UNDOCUMENTED
    facts = (field.name for field in fields(Device) if field.default is None)
    unknown = {name: why for name in facts if getattr(device, name) is None}
    limits = device.limits
    return unknown | {name: _NO_LIMIT for name in _LIMIT_NAMES if getattr(limits, name) is None}


def _renamed(table: Any, names: dict[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in table.items()}
