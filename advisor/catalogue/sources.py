"""The catalogue's TOML, which people edit: read, checked, in the units of Limits and Device."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from gpuadvise.advisor.catalogue.keys import KEYS, check_entry
from gpuadvise.advisor.limits import Limits
from gpuadvise.advisor.throughput import Throughput

_HERE = Path(__file__).parent
Documents = dict[str, dict[str, str]]
_MHZ, _TERA = 1e6, 1e12
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
# A published peak further than this from SMs x rate x 2 x clock speaks of another clock or of
# cut rates: then nothing of its kind is derived for that GPU.
AGREES = 0.02
TENSOR_AGREES = 0.04  # published with two or three digits
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
    """Return the entries of every file in ``gpus/``, as they are written.

    Raises ValueError for an entry whose keys are not those of ``keys.KEYS``.
    """
    gpus = []
    for file in FILES:
        for gpu in _parsed(f"gpus/{file}.toml")["gpu"]:
            check_entry(gpu, f"gpus/{file}.toml")
            gpus.append(gpu)
    return gpus


def read_documents() -> Documents:
    """Return the documents of ``sources.toml`` by id: title, status, and where one finds it."""
    documents: Documents = _parsed("sources.toml")["sources"]
    return documents


def read_families() -> list[dict[str, Any]]:
    """Return the records of ``families.toml``: what the GPUs of a chip have in common."""
    families: list[dict[str, Any]] = _parsed("families.toml")["family"]
    return families


def read_slices() -> list[dict[str, Any]]:
    """Return the records of ``slices.toml``: GPUs, and the MIG profiles that they share."""
    slices: list[dict[str, Any]] = _parsed("slices.toml")["gpus"]
    return slices


def read_clouds() -> list[dict[str, Any]]:
    """Return the records of ``clouds.toml``: patterns of instance names, and their GPU."""
    clouds: list[dict[str, Any]] = _parsed("clouds.toml")["instances"]
    return clouds


def _parsed(name: str) -> dict[str, Any]:
    return tomllib.loads((_HERE / name).read_text(encoding="utf-8"))


def record_of(
    gpu: dict[str, Any],
    documents: Documents,
    capability: dict[str, Any],
    families: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return one entry in base units, with the source of each fact as a sentence.

    *capability* is the record of its compute capability, for the peaks that follow from it;
    *families* supply what the entry does not say. Raises ValueError for a fact without a source,
    and for an entry that lacks what its users ask for first.
    """
    record = {key: gpu[key] for key in ("id", "name", "class", "aliases", "driver_names")}
    record["shared_names"] = gpu.get("shared_names", [])
    record["exact_names"] = gpu.get("exact_names", [])
    sources: dict[str, str] = {}
    for key, about in KEYS.items():
        if about.field and key in gpu:
            _set(record, key, gpu[key])
            sources[about.field] = "catalogue: " + _titles(_named(gpu, key), documents)
    _add_assumed(record, sources, gpu, families, documents)
    _add_bandwidth(record, sources)
    published = {kind: value * _TERA for kind, value in gpu.get("peak_tflops", {}).items()}
    derived = derived_peaks(gpu, capability)
    record["peaks"] = _ordered(derived | published)
    if published:
        sources["peaks"] = "catalogue: " + _titles(_named(gpu, "peak_tflops"), documents)
    sources.update({f"peaks.{kind}": _DERIVED for kind in derived if kind not in published})
    _check_complete(record, gpu, capability)
    return {**record, "notes": _notes(gpu), "sources": _inverted(sources)}


def _ordered(peaks: dict[str, float]) -> dict[str, float]:
    order = KEYS["peak_tflops"].accepted
    return {kind: peaks[kind] for kind in order if kind in peaks}


def _set(record: dict[str, Any], key: str, value: Any) -> None:
    about = KEYS[key]
    scaled = value if about.scale is None else value * about.scale
    record[str(about.field)] = round(scaled) if about.field in _WHOLE else scaled


def _named(gpu: dict[str, Any], key: str) -> str | list[str]:
    source: dict[str, str | list[str]] = gpu["source"]
    named = source.get(key) or source.get(KEYS[key].group)
    if not named:
        raise ValueError(
            f"{gpu['id']}: {key} has no source: under [gpu.source] add {key} or "
            f"{KEYS[key].group}, a document of sources.toml"
        )
    return named


def _titles(named: str | list[str], documents: Documents) -> str:
    return "; ".join(_title(documents[id]) for id in _listed(named))


def _listed(named: str | list[str]) -> list[str]:
    return [named] if isinstance(named, str) else named


def _title(document: dict[str, str]) -> str:
    return document["title"] + (" (recalled)" if document["status"] == "recalled" else "")


def _add_assumed(
    record: dict[str, Any],
    sources: dict[str, str],
    gpu: dict[str, Any],
    families: list[dict[str, Any]],
    documents: Documents,
) -> None:
    """Add what the family of the chip has and the entry does not say, marked as assumed."""
    chip = gpu.get("chip")
    for family in families:
        if chip not in family["chips"] or gpu["class"] not in family.get("classes", [gpu["class"]]):
            continue
        for key, named in family["source"].items():
            if key not in gpu and (field := KEYS[key].field):
                _set(record, key, family[key])
                titles = _titles(named, documents)
                sources[field] = f"assumed: as other GPUs of the chip {chip}; {titles}"


def _add_bandwidth(record: dict[str, Any], sources: dict[str, str]) -> None:
    clock, bits, rate = (record.get(f"memory_{x}") for x in ("clock_hz", "bus_bits", "data_rate"))
    if clock and bits and rate:
        record["memory_bandwidth"] = clock * bits * rate / 8
        sources["memory_bandwidth"] = "derived: memory clock x bus width x data rate"
    elif "published_bandwidth" in record:
        record["memory_bandwidth"] = record["published_bandwidth"]
        sources["memory_bandwidth"] = sources["published_bandwidth"]


def _check_complete(
    record: dict[str, Any], gpu: dict[str, Any], capability: dict[str, Any]
) -> None:
    lacks = [field for field in ("memory_bandwidth",) if field not in record]
    if "pcie_generation" not in record and not record.get("integrated"):
        lacks.append("a link to the host (pcie_generation, or integrated)")
    wanted = {"fp32"}
    if gpu.get("tensor_cores", True) and "tensor_dense_fma" in capability:
        wanted |= {f"{kind}_tensor" for kind in ("fp16", "bf16", "fp8")} & {
            f"{kind}_tensor" for kind in capability["tensor_dense_fma"]
        }
    wanted -= record["peaks"].keys() | set(gpu.get("without_peaks", ()))
    lacks += sorted(f"the peak {kind}" for kind in wanted)
    if lacks:
        raise ValueError(f"{gpu['id']}: an entry needs {', '.join(lacks)}")


def _notes(gpu: dict[str, Any]) -> list[str]:
    notes: list[str] = list(gpu.get("notes", []))
    if lowest := gpu.get("lowest_boost_clock_mhz"):
        highest = gpu["boost_clock_mhz"]
        notes.insert(
            0,
            f"Its boost clock is between {lowest:g} and {highest:g} MHz, by the power that the "
            "laptop allows; the peaks here are for the highest.",
        )
    return notes


def _inverted(sources: dict[str, str]) -> dict[str, list[str]]:
    fields_of: dict[str, list[str]] = {}
    for field, sentence in sources.items():
        fields_of.setdefault(sentence, []).append(field)
    return fields_of


def derived_peaks(gpu: dict[str, Any], capability: dict[str, Any]) -> dict[str, float]:
    """Return dense FLOP/s by kind (``fp32``, ``bf16_tensor``) of one TOML entry.

    *capability* is the record of its compute capability. Peaks of the ordinary units, or of the
    tensor cores, are left out where a published one contradicts SMs, rate and clock; all are
    where SM count or clock is not known.
    """
    if "sm_count" not in gpu or "boost_clock_mhz" not in gpu or not gpu.get("derive_peaks", True):
        return {}
    computed = computed_peaks(gpu, capability)
    published = gpu.get("peak_tflops", {})
    plain, tensor = False, False
    for kind in computed.keys() & published.keys():
        off = abs(computed[kind] / (published[kind] * _TERA) - 1)
        plain |= kind == "fp32" and off > AGREES
        tensor |= "tensor" in kind and kind != "fp64_tensor" and off > TENSOR_AGREES
    cut = gpu.get("without_peaks", ())
    return {
        kind: peak
        for kind, peak in computed.items()
        if kind not in cut and not (tensor if "tensor" in kind else plain)
    }


def computed_peaks(gpu: dict[str, Any], capability: dict[str, Any]) -> dict[str, float]:
    """Return SMs x rate x 2 x clock of every kind that the capability has rates for."""
    return {kind: _peak(gpu, kind, rate) for kind, rate in _rates(gpu, capability).items()}


def _peak(gpu: dict[str, Any], kind: str, rate: int) -> float:
    clock = gpu["boost_clock_mhz"]
    # Sheets print the fp64 peak of tensor cores for the boost clock (H100: 67 TFLOP/s).
    if "tensor" in kind and kind != "fp64_tensor":
        clock = gpu.get("tensor_peak_clock_mhz", clock)
    return float(2 * rate * gpu["sm_count"] * clock * _MHZ)


def _rates(gpu: dict[str, Any], capability: dict[str, Any]) -> dict[str, int]:
    """Return results per clock and SM by kind of peak; tensor kinds accumulate in FP32."""
    plain = capability.get("throughput", {})
    rates = {kind: _rate(gpu, plain, name) for kind, name in _PLAIN.items() if name in plain}
    if not gpu.get("tensor_cores", True):
        return rates
    tensor = capability.get("tensor_dense_fma", {})
    for name in tensor:
        if name.endswith("_geforce"):
            continue
        slow = tensor.get(f"{name}_acc32_geforce") if gpu["class"] == "geforce" else None
        if slow is None:
            rates[f"{name}_tensor"] = _rate(gpu, tensor, name)
        else:
            rates[f"{name}_tensor"] = slow
            rates[f"{name}_tensor_fp16_acc"] = tensor[name]
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
