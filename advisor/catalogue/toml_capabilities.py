"""``capabilities.toml`` unfolded: every record complete, in the units of ``Limits``."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from gpuadvise.advisor.limits import Limits
from gpuadvise.advisor.throughput import Throughput

_HERE = Path(__file__).parent
_NEVER_INHERITED = ("cc", "like", "without", "chips", "status", "notes", "nvcc_last")
_PER_CLOCK = ("syncthreads_per_clock", "instructions_per_scheduler_per_clock")
# What an absent key means where Limits asks for more than "not known".
_ABSENT: dict[str, Any] = {
    "barrier_limit_applied": False,
    "partitioned_global_caching": False,
    "register_allocation_unit_special_counts": [],
}


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
