"""Saved answers of ``doctor`` and ``measure``, as what is kept of their machine."""

from __future__ import annotations

import math
from typing import Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.fleet.machine import (
    CopyRate,
    FleetFinding,
    FleetGpu,
    FleetMachine,
    MachinePart,
)

_MOST = 1024  # GPUs of a machine, findings, checks of a GPU
_PRIORITIES = ("high", "medium", "low")
_CATEGORIES = ("correctness", "performance", "process")
_LARGEST_COUNT = 10**18
# Which copies tell a direction's rate, by their kind in the rows of `measure copies`.
_KINDS = {"h2d": "pinned h2d", "d2h": "pinned d2h"}


def doctor_machine(host: str, document: dict[str, Any]) -> FleetMachine:
    """Return the machine that the answer *document* of ``doctor`` judged; raises BadInput."""
    result = document.get("result")
    if not isinstance(result, dict) or not isinstance(result.get("gpus"), list):
        raise BadInput("It is an answer of doctor without its list of GPUs.")
    checks = _objects(result.get("checks"))
    statuses = [(check.get("check"), check.get("gpu"), check.get("status")) for check in checks]
    return FleetMachine(
        host=host,
        gpus=tuple(_gpu(number, item) for number, item in enumerate(_objects(result["gpus"]))),
        driver_version=_text(result.get("driver_version")),
        cuda_version=_text(result.get("cuda_version")),
        problems=tuple(filter(None, map(_text, _list(result.get("problems"))))),
        findings=tuple(_findings(document, statuses)),
        judged=result.get("verdict") in ("healthy", "findings", "broken"),
    )


def _gpu(number: int, item: dict[str, Any]) -> FleetGpu:
    xids, index = item.get("xids"), _count(item.get("index"))
    known = map(_count, xids[:_MOST]) if isinstance(xids, list) else None
    return FleetGpu(
        index=number if index is None else index,
        model=_text(item.get("name")) or "a GPU without a name",
        temperature_celsius=_count(item.get("temperature_celsius")),
        power_watts=_number(item.get("power_watts")),
        power_limit_watts=_number(item.get("power_limit_watts")),
        memory_used_bytes=_count(item.get("memory_used_bytes")),
        memory_total_bytes=_count(item.get("memory_total_bytes")),
        gpu_utilisation=_number(item.get("gpu_utilisation")),
        xids=None if known is None else tuple(xid for xid in known if xid is not None),
        uuid=_text(item.get("uuid")),
        pci_bus_id=_text(item.get("pci_bus_id")),
    )


def _findings(document: dict[str, Any], statuses: list[tuple[Any, Any, Any]]) -> list[FleetFinding]:
    """Return the findings of *document*, each with the GPU of the check that made it."""
    places: dict[object, list[int | None]] = {}
    for name, gpu, status in statuses:
        if status == "finding" and isinstance(name, str):
            places.setdefault(name, []).append(_count(gpu))
    findings = []
    for item in _objects(document.get("findings")):
        priority, category = item.get("priority"), item.get("category")
        rule = _text(item.get("rule"))
        if rule is None or priority not in _PRIORITIES or category not in _CATEGORIES:
            continue
        left = places.get(rule) or [None]
        findings.append(
            FleetFinding(
                rule=rule,
                title=_text(item.get("title")) or rule,
                category=str(category),
                priority=str(priority),
                message=_text(item.get("message")) or "",
                action=_text(item.get("action")) or "",
                gpu=left.pop(0) if len(left) > 1 else left[0],
            )
        )
    return findings


def measured_machine(host: str, document: dict[str, Any]) -> FleetMachine:
    """Return what the answer *document* of ``measure copies`` says of copies; raises BadInput."""
    result, device = document.get("result"), document.get("device")
    rows = _objects(result.get("rows")) if isinstance(result, dict) else []
    model = _text(device.get("name")) if isinstance(device, dict) else None
    copies = tuple(filter(None, (_copies(direction, rows) for direction in _KINDS)))
    if not copies:
        raise BadInput(
            "It is a measurement without copies between host and device.",
            hint="Save: gpuadvise measure copies --format json",
        )
    return FleetMachine(host=host, copies=copies, measured=model, part=MachinePart.COPIES)


def _copies(direction: str, rows: list[dict[str, Any]]) -> CopyRate | None:
    """Return the rate of the largest copy with pinned memory in *direction*."""
    known = [
        (size, rate, _number(row.get("spread")) or 0.0)
        for row in rows
        if row.get("kind") == _KINDS[direction]
        and (size := _count(row.get("bytes")))
        and (rate := _number(row.get("rate")))
    ]
    if not known:
        return None
    _, rate, spread = max(known)
    return CopyRate(direction=direction, rate=rate, spread=spread)


def _list(value: Any) -> list[Any]:
    return value[: _MOST * 32] if isinstance(value, list) else []


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in _list(value) if isinstance(item, dict)]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= _LARGEST_COUNT else None


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if math.isfinite(value) and 0 <= value <= _LARGEST_COUNT else None
