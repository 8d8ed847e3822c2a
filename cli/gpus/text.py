"""The text of ``gpuadvise gpus``: one GPU in full, a few side by side, many as a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_bytes, show_flops, show_rate
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table, Tone, table
from gpuadvise.cli.device import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gpuadvise.advisor.catalogue import CatalogueEntry
    from gpuadvise.advisor.device import Device
    from gpuadvise.cli.gpus.request import Chosen

_UNKNOWN = Cell("-", Tone.FAINT)
_TERA = 1e12
T = TypeVar("T")


def blocks(selection: Chosen) -> list[Block]:
    """Return the page for *selection*."""
    if len(selection.entries) == 1:
        return _one_gpu(selection.entries[0])
    if selection.compared:
        devices = _side_by_side([entry.device for entry in selection.entries])
        noted = ((entry.id, note) for entry in selection.entries for note in entry.device.notes)
        return [devices, *(Line(f"{id}: {note}") for id, note in noted)]
    count = f"{plural(len(selection.entries), 'GPU')}. Peaks in TFLOP/s; Tensor is dense FP16 with FP32 sums."
    page: list[Block] = [_list(selection.entries), Line(count)]
    return [*page, Line(selection.note)] if selection.note else page


def _one_gpu(entry: CatalogueEntry) -> list[Block]:
    names = and_list([f'"{name}"' for name in entry.driver_names], "or")
    about: list[Block] = [Line(entry.device.name, Tone.STRONG), facts.facts(entry.device)]
    about.append(Line(f"--gpu takes {and_list([entry.id, *entry.aliases], 'or')}."))
    if names:
        about.append(Line(f"Drivers call it {names}."))
    return [*about, *map(Line, entry.device.notes)]


def _list(entries: Iterable[CatalogueEntry]) -> Table:
    # Narrow enough for 80 columns with the longest id: peaks are bare numbers.
    return table(
        [(entry.id, entry.device) for entry in entries],
        ("GPU", lambda row: row[0]),
        (">CC", lambda row: str(row[1].capability)),
        (">SMs", lambda row: _shown(row[1].sm_count, str)),
        (">Memory", lambda row: _shown(row[1].memory_bytes, show_bytes)),
        (">Bandwidth", lambda row: _shown(row[1].memory_bandwidth, show_rate)),
        (">FP32", lambda row: _shown(row[1].peaks.get("fp32"), _tera)),
        (">Tensor", lambda row: _shown(row[1].peaks.get("fp16_tensor"), _tera)),
    )


def _tera(rate: float) -> str:
    return f"{rate / _TERA:.1f}"


def _shown(value: T | None, show: Callable[[T], str]) -> Cell:
    return Cell(show(value)) if value else _UNKNOWN


def _side_by_side(devices: list[Device]) -> Table:
    kinds = list(dict.fromkeys(kind for device in devices for kind in device.peaks))
    labels = [row.label for row in facts.ROWS]
    labels += [f"Peak {kind.replace('_', ' ')}" for kind in kinds]
    columns = [
        [*facts.cells(device), *(_shown(device.peaks.get(kind), show_flops) for kind in kinds)]
        for device in devices
    ]
    titles = [Column(device.name.removeprefix("NVIDIA ")) for device in devices]
    rows = zip(map(Cell, labels), *columns, strict=True)
    return Table((Column(""), *titles), tuple(rows))
