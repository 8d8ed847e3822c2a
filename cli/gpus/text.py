"""The text of ``gpuadvise gpus``: one GPU in full, a few side by side, many as a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_bytes, show_flops, show_rate
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table, Tone, header
from gpuadvise.cli.device import facts

if TYPE_CHECKING:
    from gpuadvise.advisor.catalogue import CatalogueEntry
    from gpuadvise.advisor.device import Device
    from gpuadvise.cli.gpus.request import Chosen

_UNKNOWN = Cell("-", Tone.FAINT)
_TERA = 1e12
# Narrow enough for 80 columns with the longest id: peaks are bare numbers.
_LIST = header("GPU", ">CC", ">SMs", ">Memory", ">Bandwidth", ">FP32", ">Tensor")


def blocks(selection: Chosen) -> list[Block]:
    """Return the page for *selection*."""
    if len(selection.entries) == 1:
        return _one_gpu(selection.entries[0])
    if selection.compared:
        noted = ((entry.id, note) for entry in selection.entries for note in entry.device.notes)
        return [
            _side_by_side([entry.device for entry in selection.entries]),
            *(Line(f"{id}: {note}") for id, note in noted),
        ]
    count = f"{plural(len(selection.entries), 'GPU')}. Peaks in TFLOP/s; Tensor is dense FP16 with FP32 sums."
    page: list[Block] = [
        Table(_LIST, tuple(_listed(entry.id, entry.device) for entry in selection.entries)),
        Line(count),
    ]
    return [*page, Line(selection.note)] if selection.note else page


def _one_gpu(entry: CatalogueEntry) -> list[Block]:
    names = and_list([f'"{name}"' for name in entry.driver_names], "or")
    about: list[Block] = [Line(entry.device.name, Tone.STRONG), facts.facts(entry.device)]
    about.append(Line(f"--gpu takes {and_list([entry.id, *entry.aliases], 'or')}."))
    if names:
        about.append(Line(f"Drivers call it {names}."))
    return [*about, *map(Line, entry.device.notes)]


def _listed(id: str, device: Device) -> tuple[Cell, ...]:
    return (
        Cell(id),
        Cell(str(device.capability)),
        Cell(str(device.sm_count)) if device.sm_count else _UNKNOWN,
        Cell(show_bytes(device.memory_bytes)) if device.memory_bytes else _UNKNOWN,
        Cell(show_rate(device.memory_bandwidth)) if device.memory_bandwidth else _UNKNOWN,
        _tera(device.peaks.get("fp32")),
        _tera(device.peaks.get("fp16_tensor")),
    )


def _tera(rate: float | None) -> Cell:
    return Cell(f"{rate / _TERA:.1f}") if rate else _UNKNOWN


def _peak(device: Device, kind: str) -> Cell:
    rate = device.peaks.get(kind)
    return Cell(show_flops(rate)) if rate else _UNKNOWN


def _side_by_side(devices: list[Device]) -> Table:
    kinds = list(dict.fromkeys(kind for device in devices for kind in device.peaks))
    labels = [row.label for row in facts.ROWS] + [
        f"Peak {kind.replace('_', ' ')}" for kind in kinds
    ]
    columns = [
        [*facts.cells(device), *(_peak(device, kind) for kind in kinds)] for device in devices
    ]
    titles = [Column(device.name.removeprefix("NVIDIA ")) for device in devices]
    rows = zip(map(Cell, labels), *columns, strict=True)
    return Table((Column(""), *titles), tuple(rows))
