"""What a GPU is, as labelled values for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from gpuadvise.advisor.device import Device, Origin
from gpuadvise.advisor.quantity import show_bytes, show_flops, show_hertz, show_rate
from gpuadvise.cli.blocks import Cell, Fact, LabelledFacts, Tone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


T = TypeVar("T")
_DYNAMIC = "with the opt-in"


@dataclass(frozen=True, slots=True)
class FactRow:
    """One line: its *label*, the *field* whose source and reason it has, and its words."""

    label: str
    field: str
    words: Callable[[Device], str | None]


def _memory(device: Device) -> str | None:
    size = _known(device.memory_bytes, show_bytes)
    return f"{size} {device.memory_type or ''}".rstrip() if size else None


def _bus(device: Device) -> str | None:
    if device.memory_bus_bits is None:
        return None
    at = f" at {show_hertz(device.memory_clock_hz)}" if device.memory_clock_hz else ""
    return f"{device.memory_bus_bits} bits{at}"


def _known(value: T | None, show: Callable[[T], str]) -> str | None:
    return None if value is None else show(value)


def _cache(device: Device) -> str | None:
    size = _known(device.l2_bytes, show_bytes)
    kept = device.persisting_l2_bytes
    return f"{size}, up to {show_bytes(kept)} persisting" if size and kept else size


def _shared(device: Device) -> str:
    limits = device.limits
    block = show_bytes(limits.shared_memory_per_block)
    if limits.shared_memory_per_block_optin > limits.shared_memory_per_block:
        block += f", {show_bytes(limits.shared_memory_per_block_optin)} {_DYNAMIC}"
    return block


ROWS = (
    FactRow("Compute capability", "capability", lambda d: str(d.capability)),
    FactRow("Architecture", "architecture", lambda d: d.architecture),
    FactRow("Chip", "chip", lambda d: d.chip),
    FactRow("SMs", "sm_count", lambda d: str(d.sm_count) if d.sm_count else None),
    FactRow("SM clock", "sm_clock_hz", lambda d: _known(d.sm_clock_hz, show_hertz)),
    FactRow("Memory", "memory_bytes", _memory),
    FactRow("Memory bus", "memory_bus_bits", _bus),
    FactRow("Memory bandwidth", "memory_bandwidth", lambda d: _known(d.memory_bandwidth, show_rate)),
    FactRow("L2 cache", "l2_bytes", _cache),
    FactRow(
        "Threads per SM", "max_threads_per_sm",
        lambda d: f"{d.limits.max_threads_per_sm} in {d.limits.max_warps_per_sm} warps, "
        f"{d.limits.max_blocks_per_sm} blocks",
    ),
    FactRow("Registers per SM", "registers_per_sm", lambda d: f"{d.limits.registers_per_sm:,}"),
    FactRow(
        "Shared memory per SM", "shared_memory_per_sm",
        lambda d: show_bytes(d.limits.shared_memory_per_sm),
    ),
    FactRow("Shared memory per block", "shared_memory_per_block_optin", _shared),
    FactRow("Copy engines", "async_engines", lambda d: _known(d.async_engines, str)),
    FactRow(
        "PCIe", "pcie_generation",
        lambda d: _known(d.pcie_generation, f"generation {{}} x{d.pcie_lanes or '?'}".format),
    ),
    FactRow(
        "NVLink, both directions", "nvlink_bandwidth",
        lambda d: _known(d.nvlink_bandwidth, lambda rate: show_rate(rate) if rate else "none"),
    ),
    FactRow("ECC", "ecc", lambda d: _known(d.ecc, lambda on: "on" if on else "off")),
    FactRow(
        "Power limit", "power_limit_watts",
        lambda d: f"{d.power_limit_watts:g} W" if d.power_limit_watts else None,
    ),
)  # fmt: skip


def facts(device: Device) -> LabelledFacts:
    """Return what is known of *device*, each value with its source, each gap with its reason.

    A bare capability has no product's facts, so their gaps are not listed.
    """
    bare = device.origin is Origin.CAPABILITY
    rows = (row for row in ROWS if row.words(device) or not bare)
    return LabelledFacts((*(_fact(device, row) for row in rows), *_peaks(device)))


def cells(device: Device) -> list[Cell]:
    """Return the values of ``ROWS`` for a column of a comparison."""
    return [_cell(row.words(device)) for row in ROWS]


def _fact(device: Device, row: FactRow) -> Fact:
    usual = device.sources.get("limits", f"catalogue: capability {device.capability}")
    words = row.words(device)
    if words is None:
        reason = device.reasons.get(row.field, "")
        return Fact(row.label, _cell(words), _first(reason))
    source = device.sources.get(row.field, usual)
    return Fact(row.label, _cell(words), source=_first(source))


def _first(remark: str) -> str:
    """Return the first of several sources; JSON has them all."""
    return remark.partition(";")[0]


def _cell(words: str | None) -> Cell:
    return Cell(words) if words else Cell("not known", Tone.FAINT)


def _peaks(device: Device) -> Iterator[Fact]:
    usual = device.sources.get("peaks", "")
    for kind, rate in device.peaks.items():
        source = device.sources.get(f"peaks.{kind}", usual)
        label = f"Peak {kind.replace('_', ' ')}"
        yield Fact(label, Cell(show_flops(rate)), source=_first(source))
