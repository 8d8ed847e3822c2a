"""The catalogue's TOML, which people edit: read, checked, in the units of ``Limits`` and ``Device``."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from gpuadvise.advisor.limits import Limits
from gpuadvise.advisor.throughput import Throughput

_HERE = Path(__file__).parent
Documents = dict[str, dict[str, str]]
_MHZ, _KIB, _GIB, _GB, _TERA = 1e6, 2**10, 2**30, 1e9, 1e12

# Key of the TOML -> field of Device, scale to its base unit, group in [gpu.source].
_FACTS: dict[str, tuple[str, float | None, str]] = {
    "architecture": ("architecture", None, "product"),
    "chip": ("chip", None, "product"),
    "compute_capability": ("capability", None, "product"),
    "integrated": ("integrated", None, "product"),
    "coherent_host_memory": ("coherent_host_memory", None, "product"),
    "sm_count": ("sm_count", None, "product"),
    "boost_clock_mhz": ("sm_clock_hz", _MHZ, "product"),
    "driver_max_clock_mhz": ("sm_clock_max_hz", _MHZ, "driver"),
    "tensor_peak_clock_mhz": ("tensor_clock_hz", _MHZ, "tensor_clock"),
    "memory_type": ("memory_type", None, "product"),
    "memory_gib": ("memory_bytes", _GIB, "product"),
    "memory_bus_bits": ("memory_bus_bits", None, "product"),
    "memory_clock_mhz": ("memory_clock_hz", _MHZ, "product"),
    "memory_data_rate": ("memory_data_rate", None, "product"),
    "published_bandwidth_gb_s": ("published_bandwidth", _GB, "published"),
    "l2_kib": ("l2_bytes", _KIB, "product"),
    "persisting_l2_kib": ("persisting_l2_bytes", _KIB, "driver"),
    "async_engines": ("async_engines", None, "driver"),
    "pcie_generation": ("pcie_generation", None, "product"),
    "pcie_lanes": ("pcie_lanes", None, "product"),
    "nvlink_gb_s": ("nvlink_bandwidth", _GB, "published"),
    "ecc": ("ecc", None, "product"),
    "power_w": ("power_limit_watts", 1.0, "product"),
}
_WHOLE = ("memory_bytes", "l2_bytes", "persisting_l2_bytes")
# The files of gpus/, in the order in which the catalogue is listed.
FILES = (
    "data-centre",
    "workstation",
    "geforce-rtx",
    "laptop",
    "titan",
    "geforce-gtx",
    "embedded",
    "legacy",
)
_DERIVED = "derived: SMs x results per clock x 2 x clock"
_IDENTITY = {"id", "name", "aliases", "driver_names", "class", "notes", "peak_tflops"}
_OTHER = {"shared_names", "tensor_cores", "derive_peaks", "source"}
# A published FP32 peak further than this from SMs x rate x 2 x clock speaks of another clock
# or of cut rates: then nothing is derived for that GPU.
AGREES = 0.02
_PLAIN = {"fp32": "fp32_fma", "fp64": "fp64_fma", "fp16": "fp16_fma"}
_NEVER_INHERITED = ("cc", "like", "without", "chips", "status", "notes", "nvcc_last")
_PER_CLOCK = ("syncthreads_per_clock", "instructions_per_scheduler_per_clock")
# What an absent key means where Limits asks for more than "not known".
_ABSENT: dict[str, Any] = {
    "barrier_limit_applied": False,
    "partitioned_global_caching": False,
    "register_allocation_unit_special_counts": [],
}


def read_gpus() -> list[dict[str, Any]]:
    """Return the entries of every file in ``gpus/``, as they are written."""
    return [gpu for file in FILES for gpu in _parsed(f"gpus/{file}.toml")["gpu"]]


def read_documents() -> Documents:
    """Return the documents of ``sources.toml`` by id: title, status, and where one finds it."""
    documents: Documents = _parsed("sources.toml")["sources"]
    return documents


def _parsed(name: str) -> dict[str, Any]:
    return tomllib.loads((_HERE / name).read_text(encoding="utf-8"))


def record_of(
    gpu: dict[str, Any], documents: Documents, capability: dict[str, Any]
) -> dict[str, Any]:
    """Return one entry in base units, with the source of each fact as a sentence.

    *capability* is the record of its compute capability, for the peaks that follow from it. Raises ValueError for a key that nobody knows, or a fact without a source.
    """
    if unknown := gpu.keys() - _FACTS.keys() - _IDENTITY - _OTHER:
        raise ValueError(f"{gpu['id']}: unknown keys {sorted(unknown)}")
    record = {key: gpu[key] for key in ("id", "name", "class", "aliases", "driver_names")}
    record["shared_names"] = gpu.get("shared_names", [])
    sources: dict[str, str] = {}
    for key, (field, scale, group) in _FACTS.items():
        if key in gpu:
            record[field] = _scaled(gpu[key], scale, whole=field in _WHOLE)
            sources[field] = _source(gpu, key, group, documents)
    _add_bandwidth(record, sources)
    published = {kind: value * _TERA for kind, value in gpu.get("peak_tflops", {}).items()}
    derived = derived_peaks(gpu, capability)
    record["peaks"] = derived | published
    if published:
        sources["peaks"] = _source(gpu, "peak_tflops", "published", documents)
    sources.update({f"peaks.{kind}": _DERIVED for kind in derived if kind not in published})
    return {**record, "notes": gpu.get("notes", []), "sources": _inverted(sources)}


def _inverted(sources: dict[str, str]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for field, sentence in sources.items():
        fields.setdefault(sentence, []).append(field)
    return fields


def _scaled(value: Any, scale: float | None, *, whole: bool) -> Any:
    if scale is None:
        return value
    return round(value * scale) if whole else value * scale


def _source(gpu: dict[str, Any], key: str, group: str, documents: Documents) -> str:
    named = gpu["source"].get(key) or gpu["source"].get(group)
    if not named:
        raise ValueError(f"{gpu['id']}: {key} has no source")
    return "catalogue: " + "; ".join(_title(documents[each]) for each in _listed(named))


def _listed(named: str | list[str]) -> list[str]:
    return [named] if isinstance(named, str) else named


def _title(document: dict[str, str]) -> str:
    return document["title"] + (" (recalled)" if document["status"] == "recalled" else "")


def _add_bandwidth(record: dict[str, Any], sources: dict[str, str]) -> None:
    clock, bits, rate = (record.get(f"memory_{x}") for x in ("clock_hz", "bus_bits", "data_rate"))
    if clock and bits and rate:
        record["memory_bandwidth"] = clock * bits * rate / 8
        sources["memory_bandwidth"] = "derived: memory clock x bus width x data rate"
    elif "published_bandwidth" in record:
        record["memory_bandwidth"] = record["published_bandwidth"]
        sources["memory_bandwidth"] = sources["published_bandwidth"]


def derived_peaks(gpu: dict[str, Any], capability: dict[str, Any]) -> dict[str, float]:
    """Return dense FLOP/s by kind (``fp32``, ``bf16_tensor``) of one TOML entry.

    *capability* is the record of its compute capability. Empty where SM count or clock is not
    known, or where the published FP32 peak contradicts them.
    """
    if "sm_count" not in gpu or "boost_clock_mhz" not in gpu:
        return {}
    if not gpu.get("derive_peaks", True) or _contradicted(gpu, capability):
        return {}
    rates = _rates(gpu, capability)
    return {kind: _peak(gpu, kind, rate) for kind, rate in rates.items()}


def _contradicted(gpu: dict[str, Any], capability: dict[str, Any]) -> bool:
    published: float | None = gpu.get("peak_tflops", {}).get("fp32")
    rate: int | None = capability.get("throughput", {}).get("fp32_fma")
    if published is None or rate is None:
        return False
    return abs(_peak(gpu, "fp32", rate) / (published * 1e12) - 1) > AGREES


def _peak(gpu: dict[str, Any], kind: str, rate: int) -> float:
    clock = gpu["boost_clock_mhz"]
    if "tensor" in kind:
        clock = gpu.get("tensor_peak_clock_mhz", clock)
    return float(2 * rate * gpu["sm_count"] * clock * _MHZ)


def _rates(gpu: dict[str, Any], capability: dict[str, Any]) -> dict[str, int]:
    plain = capability.get("throughput", {})
    rates = {kind: _rate(gpu, plain, name) for kind, name in _PLAIN.items() if name in plain}
    if not gpu.get("tensor_cores", True):
        return rates
    tensor = capability.get("tensor_dense_fma", {})
    for name in tensor:
        base, geforce, _ = name.partition("_acc32_geforce")
        if geforce and gpu["class"] == "geforce":
            rates[f"{base}_tensor_fp32_acc"] = tensor[name]
        elif not name.endswith("_geforce"):
            rates[f"{name}_tensor"] = _rate(gpu, tensor, name)
    return rates


def _rate(gpu: dict[str, Any], rates: dict[str, int], name: str) -> int:
    geforce = f"{name}_geforce" if gpu["class"] == "geforce" else name
    return rates.get(geforce, rates[name])


def read_capabilities() -> dict[str, dict[str, Any]]:
    """Return the records of ``capabilities.toml`` by capability, inheritance resolved."""
    text = (_HERE / "capabilities.toml").read_text(encoding="utf-8")
    records: dict[str, dict[str, Any]] = {}
    for own in tomllib.loads(text)["capability"]:
        base = records.get(own.get("like", ""), {})
        records[own["cc"]] = _unfolded(base, own)
    return records


def read_capability_sources() -> dict[str, dict[str, str]]:
    """Return the documents that ``capabilities.toml`` names, by id: title and status."""
    text = (_HERE / "capabilities.toml").read_text(encoding="utf-8")
    sources: dict[str, dict[str, str]] = tomllib.loads(text)["sources"]
    return sources


def _unfolded(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    dropped = (*_NEVER_INHERITED, *own.get("without", ()))
    record = {key: value for key, value in base.items() if key not in dropped}
    record.update({key: value for key, value in own.items() if key not in ("like", "without")})
    source = {**base.get("source", {}), **own.get("source", {})}
    record["source"] = {group: text for group, text in source.items() if text}
    return record


def limits_table(records: dict[str, dict[str, Any]]) -> tuple[list[str], dict[str, list[Any]]]:
    """Return the fields of ``Limits``; by capability: status, architecture, their values."""
    names = [field.name for field in fields(Limits)]
    rows = {
        cc: [record["status"], record["architecture"], *(_limit(record, name) for name in names)]
        for cc, record in records.items()
    }
    return names, rows


def _limit(record: dict[str, Any], name: str) -> Any:
    if name == "shared_memory_configs":
        return [kib * 1024 for kib in record["shared_memory_configs_kib"]]
    return record.get(name, _ABSENT.get(name))


def throughput_table(records: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the fields of ``Throughput`` that are known, by capability."""
    allowed = {field.name for field in fields(Throughput)}
    table: dict[str, dict[str, Any]] = {}
    for cc, record in records.items():
        row = {**record.get("throughput", {}), **{k: record[k] for k in _PER_CLOCK if k in record}}
        if "tensor_dense_fma" in record:
            row["tensor_dense_fma"] = record["tensor_dense_fma"]
        if unknown := row.keys() - allowed:
            raise ValueError(f"{cc}: unknown throughput {sorted(unknown)}")
        table[cc] = row
    return table
