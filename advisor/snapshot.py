"""GPUs as JSON and back: what ``device`` prints is what ``--from`` reads."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from gpuadvise.advisor.capability import Capability, parse_capability
from gpuadvise.advisor.device import Device, Origin
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.gpu import Gpu, Identity, Machine, MigSlice
from gpuadvise.advisor.limits import Limits, RegisterAllocation, SharedMode
from gpuadvise.advisor.record import plain, rebuilt
from gpuadvise.advisor.telemetry import Process, ProcessKind, Telemetry

# Longest list of GPUs that is read; the largest machines hold 16 GPUs of 7 slices.
_MOST_GPUS = 1024
_TYPES = {
    kind.__name__: kind
    for kind in (
        Capability, Device, Gpu, Identity, Limits, Machine, MigSlice, Origin, Process, ProcessKind,
        RegisterAllocation, SharedMode, Telemetry,
    )
}  # fmt: skip
# Names in JSON where they say more than the field's.
_RENAMED = {"id": "catalogue_id", "capability": "compute_capability"}
_LIMIT_NAMES = frozenset(field.name for field in fields(Limits))
_APART = ("limits", "capability", "sources", "reasons", "peaks", "extrapolated", "origin")


def device_record(device: Device) -> dict[str, Any]:
    """Return *device* as a flat JSON object: its fields and those of its limits by name.

    Units are those of the fields; ``sources`` and ``reasons`` are keyed by the same names.
    """
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
    record["sources"] = _renamed(_complete(device), _RENAMED)
    record["reasons"] = _renamed(device.reasons, _RENAMED)
    return record


def gpu_record(gpu: Gpu) -> dict[str, Any]:
    """Return *gpu* as a JSON object: its device's record, its identity and telemetry."""
    own = {**plain(gpu.identity), "telemetry": plain(gpu.telemetry)}
    return {**device_record(gpu.device), **own}


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
    data["limits"] = record
    data["capability"] = plain(_capability(record, where))
    for name in ("sources", "reasons"):
        if isinstance(record.get(name), dict):
            data[name] = _renamed(record[name], back)
    device = rebuilt(Device, data, _TYPES, where)
    return replace(device, sources=_brief(device))


def read_gpu(record: Any, where: str = "device") -> Gpu:
    """Return the GPU that ``gpu_record`` wrote; raises BadInput naming the field."""
    device = read_device(record, where)
    return Gpu(
        device=device,
        identity=rebuilt(Identity, record, _TYPES, where),
        telemetry=_telemetry(record.get("telemetry"), where),
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
    records = result.get("devices", [result])
    if not isinstance(records, list) or not 0 < len(records) <= _MOST_GPUS:
        raise BadInput("The file holds no list of devices, or an endless one.")
    gpus = [read_gpu(record, f"devices.{n}") for n, record in enumerate(records)]
    # The answer for one GPU carries that GPU's notes under the name of the machine's.
    own = "notes" if "devices" in result else ""
    about = ("driver_version", "cuda_version", "problems", own)
    rest = {name: result[name] for name in about if name in result}
    machine = rebuilt(Machine, rest, _TYPES)
    return replace(machine, gpus=tuple(map(_as_snapshot, gpus)))


def _as_snapshot(gpu: Gpu) -> Gpu:
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


def _telemetry(data: Any, where: str) -> Telemetry | None:
    return None if data is None else rebuilt(Telemetry, data, _TYPES, f"{where}.telemetry")


def _limits_source(device: Device) -> str:
    return device.sources.get("limits", f"catalogue: capability {device.capability}")


def _complete(device: Device) -> dict[str, str]:
    """Return the sources with every limit named, not only those from elsewhere."""
    return dict.fromkeys(_LIMIT_NAMES, _limits_source(device)) | dict(device.sources)


def _brief(device: Device) -> dict[str, str]:
    """Return the sources without the limits that come from where limits come from."""
    usual = _limits_source(device)
    named = device.sources.items()
    return {name: text for name, text in named if name not in _LIMIT_NAMES or text != usual}


def _renamed(table: Any, names: dict[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in table.items()}
