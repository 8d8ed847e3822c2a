"""``gpus/*.toml`` read, checked, and turned into the base units of ``Device``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from gpuadvise.advisor.catalogue.derived import derived_peaks

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
