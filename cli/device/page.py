"""The text of ``gpuadvise device``: one GPU in full, or several side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.quantity import show_bytes, show_hertz, show_share
from gpuadvise.cli.blocks import Block, Cell, Column, Fact, Facts, Heading, Line, Table, Tone
from gpuadvise.cli.device import facts
from gpuadvise.cli.device.state import state
from gpuadvise.cli.devices import device_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.gpu import Gpu, Identity, Machine

_LIVE = (
    ("SM clock", "sm_clock_hz", show_hertz),
    ("Power", "power_watts", lambda watts: f"{watts:.0f} W"),
    ("Temp.", "temperature_celsius", lambda heat: f"{heat} °C"),
    ("Busy", "gpu_utilisation", show_share),
    ("Memory used", "memory_used_bytes", show_bytes),
)


def one_gpu(gpu: Gpu, machine: Machine | None) -> list[Block]:
    """Return everything about one GPU."""
    blocks: list[Block] = [Line(device_line(gpu.device), Tone.STRONG)]
    blocks.append(Facts((*_address(gpu.identity, machine), *facts.facts(gpu.device).rows)))
    blocks += [Line(note) for note in gpu.device.notes]
    if gpu.telemetry:
        blocks += state(gpu.telemetry)
    return [*blocks, *_remarks(machine)]


def whole_machine(machine: Machine) -> list[Block]:
    """Return every GPU of *machine* side by side, and what did not answer."""
    if len(machine.gpus) == 1:
        return one_gpu(machine.gpus[0], machine)
    blocks: list[Block] = []
    if machine.gpus:
        blocks = [_list(machine.gpus), Heading("Side by side"), _comparison(machine.gpus)]
        blocks += [Line(f"{_label(g)}: {note}") for g in machine.gpus for note in g.device.notes]
    return [*blocks, *_remarks(machine)]


def _remarks(machine: Machine | None) -> list[Block]:
    """Return what holds for the whole machine, and a sentence for each part that is sick."""
    if machine is None:
        return []
    sick = [Line(problem, Tone.BAD) for problem in machine.problems]
    return [*map(Line, machine.notes), *sick]


def _address(own: Identity, machine: Machine | None) -> tuple[Fact, ...]:
    versions = (machine.driver_version, machine.cuda_version) if machine else (None, None)
    rows = (
        ("Index (PCI order)", own.index),
        ("CUDA device", own.cuda_index),
        ("UUID", own.uuid),
        ("PCI id", own.pci_bus_id),
        ("Slice of", own.mig and own.mig.parent_name),
        ("Driver", versions[0]),
        ("CUDA of the driver", versions[1]),
    )
    return tuple(
        Fact(label=label, value=Cell(str(value))) for label, value in rows if value is not None
    )


def _list(gpus: Sequence[Gpu]) -> Table:
    live = any(gpu.telemetry for gpu in gpus)
    titles = [Column("GPU"), Column("CUDA", right=True), Column("PCI id"), Column("UUID")]
    titles += [Column(title, right=True) for title, _, _ in _LIVE] if live else []
    return Table(columns=tuple(titles), rows=tuple(_listed(gpu, live) for gpu in gpus))


def _listed(gpu: Gpu, live: bool) -> tuple[Cell, ...]:
    own = gpu.identity
    cuda = "hidden" if own.cuda_index is None else str(own.cuda_index)
    texts = [_label(gpu), cuda, own.pci_bus_id or "", own.uuid or ""]
    return tuple(map(Cell, texts + (_now(gpu) if live else [])))


def _now(gpu: Gpu) -> list[str]:
    values = [(getattr(gpu.telemetry, field, None), show) for _, field, show in _LIVE]
    return ["not known" if value is None else show(value) for value, show in values]


def _label(gpu: Gpu) -> str:
    index = gpu.identity.cuda_index if gpu.identity.index is None else gpu.identity.index
    mig = gpu.identity.mig
    return f"{index}" if mig is None else f"{index} slice {mig.gpu_instance}/{mig.compute_instance}"


def _comparison(gpus: Sequence[Gpu]) -> Table:
    """Return one column for each group of GPUs that are alike in every shown fact."""
    groups: dict[tuple[str, tuple[Cell, ...]], list[str]] = {}
    for gpu in gpus:
        key = (gpu.device.name, tuple(facts.cells(gpu.device)))
        groups.setdefault(key, []).append(_label(gpu))
    titles = [Column(f"{name} ({and_list(labels)})") for (name, _), labels in groups.items()]
    columns = [cells for _, cells in groups]
    rows = zip((Cell(row.label) for row in facts.ROWS), *columns, strict=True)
    return Table(columns=(Column(""), *titles), rows=tuple(rows))
