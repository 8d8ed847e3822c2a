"""The CSV of ``nvidia-smi --query-gpu=... --format=csv``: one line for each GPU of a machine."""

from __future__ import annotations

import csv
import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.readings import NvmlGpu, NvmlReport
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.telemetry import Telemetry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpuadvise.advisor.gpu import Machine

_MIB, _MHZ = 1 << 20, 1_000_000
_MOST_GPUS = 1024
_HEAD = 8192  # bytes in which the header stands
_NUMBER = re.compile(r"\s*(-?[0-9]{1,15}(?:\.[0-9]{1,9})?)(?![0-9])")
_UNIT = re.compile(r"\s*\[[^\]]*\]\s*$")  # of the title: "power.draw [W]"
_ABSENT = "it was not asked of nvidia-smi, or is not offered"
_MODEL = ("name", "gpu_name")


def _titles(line: str) -> list[str]:
    return [_UNIT.sub("", title).strip() for title in line.split(",")]


def is_query(content: bytes) -> bool:
    """Return whether *content* begins with the titles of such a query, the model among them."""
    line = content[:_HEAD].lstrip().partition(b"\n")[0].decode("utf-8", "replace")
    titles = _titles(line)
    known = sum(title in _READINGS or title in _IDENTITY for title in titles)
    return len(titles) > 1 and known > 1 and any(name in titles for name in _MODEL)


def machine_from_csv(content: bytes) -> Machine:
    """Return the machine that *content*, for which ``is_query`` holds, describes; raises BadInput."""
    from gpuadvise.advisor.backends.merge import merged
    from gpuadvise.advisor.snapshot import as_snapshot

    lines = content.decode("utf-8", "replace").strip().splitlines()
    titles = _titles(lines[0])
    gpus: list[NvmlGpu] = []
    driver = None
    for number, values in enumerate(csv.reader(lines[1 : _MOST_GPUS + 1], skipinitialspace=True)):
        if len(values) != len(titles):
            raise BadInput(
                f"line {number + 2} has {len(values)} values under {len(titles)} titles.",
                hint="Save: nvidia-smi --query-gpu=... --format=csv, all lines of one call.",
            )
        row = {
            title: value.strip()
            for title, value in zip(titles, values, strict=True)
            if value.strip().strip("[]") not in _NO_READING
        }
        driver = driver or row.get("driver_version")
        gpus.append(_gpu(number, row))
    machine = merged(NvmlReport(driver_version=driver, gpus=tuple(gpus)), None, {})
    return replace(machine, gpus=tuple(map(as_snapshot, machine.gpus)))


_NO_READING = ("", "N/A", "Not Supported", "Unknown Error", "Not Active")
_LOST = ("GPU is lost", "GPU requires reset", "Unable to determine the device handle")


def _gpu(number: int, row: Mapping[str, str]) -> NvmlGpu:
    index = _scaled(1)(row.get("index", ""))
    lost = next((words for words in _LOST for value in row.values() if words in value), None)
    model = next((row[name] for name in _MODEL if name in row), None)
    if lost or model is None:
        reason = f"nvidia-smi says: {lost}" if lost else "nvidia-smi could not read it"
        return NvmlGpu(source="nvidia-smi", index=number, problem=reason)
    readings = {
        field: value
        for title, (field, read) in _READINGS.items()
        if title in row and (value := read(row[title])) is not None
    }
    missing = {f.name: _ABSENT for f in fields(Telemetry) if f.name not in readings}
    del missing["reasons"]
    now = Telemetry(**readings, reasons=missing)
    capability = re.fullmatch(r"(\d{1,2})\.(\d)", row.get("compute_cap", ""))
    return NvmlGpu(
        source="nvidia-smi",
        index=number if index is None else index,
        name=model,
        uuid=row.get("uuid") or row.get("gpu_uuid"),
        pci_bus_id=row.get("pci.bus_id") or row.get("gpu_bus_id"),
        compute_capability=(int(capability[1]), int(capability[2])) if capability else None,
        memory_bytes=now.memory_total_bytes,
        sm_clock_hz=now.sm_clock_max_hz,
        memory_clock_hz=now.memory_clock_max_hz,
        pcie_generation=now.pcie_generation_max,
        pcie_lanes=now.pcie_lanes_max,
        power_limit_watts=now.power_limit_watts,
        ecc=now.ecc_enabled,
        telemetry=now,
    )


def _number(text: str) -> float | None:
    match = _NUMBER.match(text)
    if match:
        return float(match[1])
    if re.match(r"\s*-?[0-9]", text):
        raise BadInput(f"{quoted(text)} is more than any counter holds.")
    return None


def _scaled(scale: int) -> Callable[[str], int | None]:
    def read(text: str) -> int | None:
        number = _number(text)
        return None if number is None else round(number * scale)

    return read


def _share(text: str) -> float | None:
    number = _number(text)
    return None if number is None else number / 100


def _flag(yes: str, no: str) -> Callable[[str], bool | None]:
    return {yes: True, no: False}.get


def _state(text: str) -> int | None:
    return int(text[1:]) if re.fullmatch(r"P\d{1,2}", text) else None


def _mode(text: str) -> str:
    return text.lower().replace("_", " ")


_ON = _flag("Enabled", "Disabled")
_IDENTITY = (
    "index",
    "uuid",
    "gpu_uuid",
    "driver_version",
    "pci.bus_id",
    "gpu_bus_id",
    "compute_cap",
)
_READINGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "temperature.gpu": ("temperature_celsius", _scaled(1)),
    "temperature.memory": ("memory_temperature_celsius", _scaled(1)),
    "power.draw": ("power_watts", _number),
    "power.draw.instant": ("power_watts", _number),
    "power.limit": ("power_limit_requested_watts", _number),
    "enforced.power.limit": ("power_limit_watts", _number),
    "power.default_limit": ("power_limit_default_watts", _number),
    "power.min_limit": ("power_limit_min_watts", _number),
    "power.max_limit": ("power_limit_max_watts", _number),
    "clocks.sm": ("sm_clock_hz", _scaled(_MHZ)),
    "clocks.current.sm": ("sm_clock_hz", _scaled(_MHZ)),
    "clocks.max.sm": ("sm_clock_max_hz", _scaled(_MHZ)),
    "clocks.mem": ("memory_clock_hz", _scaled(_MHZ)),
    "clocks.current.memory": ("memory_clock_hz", _scaled(_MHZ)),
    "clocks.max.mem": ("memory_clock_max_hz", _scaled(_MHZ)),
    "clocks.max.memory": ("memory_clock_max_hz", _scaled(_MHZ)),
    "pstate": ("performance_state", _state),
    "utilization.gpu": ("gpu_utilisation", _share),
    "utilization.memory": ("memory_utilisation", _share),
    "memory.total": ("memory_total_bytes", _scaled(_MIB)),
    "memory.used": ("memory_used_bytes", _scaled(_MIB)),
    "memory.reserved": ("memory_reserved_bytes", _scaled(_MIB)),
    "memory.free": ("memory_free_bytes", _scaled(_MIB)),
    "pcie.link.gen.current": ("pcie_generation", _scaled(1)),
    "pcie.link.gen.gpucurrent": ("pcie_generation", _scaled(1)),
    "pcie.link.gen.max": ("pcie_generation_max", _scaled(1)),
    "pcie.link.width.current": ("pcie_lanes", _scaled(1)),
    "pcie.link.width.max": ("pcie_lanes_max", _scaled(1)),
    "ecc.mode.current": ("ecc_enabled", _ON),
    "ecc.mode.pending": ("ecc_enabled_after_reboot", _ON),
    "ecc.errors.corrected.volatile.total": ("ecc_corrected", _scaled(1)),
    "ecc.errors.uncorrected.volatile.total": ("ecc_uncorrected", _scaled(1)),
    "ecc.errors.corrected.aggregate.total": ("ecc_corrected_lifetime", _scaled(1)),
    "ecc.errors.uncorrected.aggregate.total": ("ecc_uncorrected_lifetime", _scaled(1)),
    "retired_pages.single_bit_ecc.count": ("pages_retired_single_bit", _scaled(1)),
    "retired_pages.double_bit.count": ("pages_retired_double_bit", _scaled(1)),
    "retired_pages.pending": ("page_retirement_pending", _flag("Yes", "No")),
    "persistence_mode": ("persistence_mode", _ON),
    "compute_mode": ("compute_mode", _mode),
    "gpu_recovery_action": ("recovery_action", str.lower),
}  # fmt: skip
