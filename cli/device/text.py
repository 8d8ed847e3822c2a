"""What a GPU does now, as labelled values for people."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_bytes, show_hertz, show_seconds, show_share
from gpuadvise.advisor.telemetry import IDLE_REASON, Telemetry, link_is_idle
from gpuadvise.cli.blocks import (
    Block,
    Cell,
    Column,
    Fact,
    Heading,
    LabelledFacts,
    Line,
    Table,
    Tone,
    known,
    table,
)
from gpuadvise.cli.device import connections, facts
from gpuadvise.cli.devices import device_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.advisor.features import Features
    from gpuadvise.advisor.gpu import Gpu, Identity, Machine

    Words = Callable[[Telemetry], Cell | None]


_UNKNOWN = Cell("not known", Tone.FAINT)


def _of(now: float | None, most: float | None, show: Callable[[float], str]) -> Cell | None:
    if now is None:
        return None
    return Cell(show(now) + (f" of {show(most)}" if most is not None else ""))


def _watts(value: float) -> str:
    return f"{value:.0f} W"


def _power_limit(now: Telemetry) -> Cell | None:
    """Return the limit in force, beside the product's own; a lowered one costs speed."""
    if now.power_limit_watts is None:
        return None
    text, default = _watts(now.power_limit_watts), now.power_limit_default_watts
    if default is not None and default != now.power_limit_watts:
        text += f", not the default {_watts(default)}"
    least, most = now.power_limit_min_watts, now.power_limit_max_watts
    if least is not None and most is not None:
        text += f"; may be set from {least:.0f} to {_watts(most)}"
    lowered = default is not None and now.power_limit_watts < default
    return Cell(text, Tone.POOR if lowered else Tone.PLAIN)


def _heat(now: Telemetry) -> Cell | None:
    if now.temperature_celsius is None:
        return None
    slow, memory = now.temperature_slowdown_celsius, now.memory_temperature_celsius
    limit = f", slows down at {slow} °C" if slow is not None else ""
    return Cell(
        f"{now.temperature_celsius} °C{limit}" + (f"; memory {memory} °C" if memory else "")
    )


def _held_back(now: Telemetry) -> Cell | None:
    if not now.clock_limit_seconds:
        return None
    held = [(name, seconds) for name, seconds in now.clock_limit_seconds.items() if seconds]
    return Cell("; ".join(f"{name} {show_seconds(seconds)}" for name, seconds in held) or "never")


def _memory(now: Telemetry) -> Cell | None:
    if now.memory_used_bytes is None or now.memory_total_bytes is None:
        return None
    kept = now.memory_reserved_bytes
    own = f", {show_bytes(kept)} reserved by the driver" if kept is not None else ""
    used, total = show_bytes(now.memory_used_bytes), show_bytes(now.memory_total_bytes)
    return Cell(f"{used} of {total} used{own}")


def _link(now: Telemetry) -> Cell | None:
    if now.pcie_generation is None:
        return None
    text = f"generation {now.pcie_generation} x{now.pcie_lanes or '?'}"
    if now.pcie_generation_max is not None:
        text += f" of generation {now.pcie_generation_max} x{now.pcie_lanes_max or '?'}"
    return Cell(text + (" (idle: the link rests to save power)" if link_is_idle(now) else ""))


def _events(now: Telemetry) -> Cell | None:
    events = now.clock_event_reasons
    if events is None:
        return None
    harmless = set(events) <= {IDLE_REASON}
    return Cell("; ".join(events) or "none", Tone.PLAIN if harmless else Tone.POOR)


def _ecc(now: Telemetry) -> Cell | None:
    if now.ecc_enabled is None:
        return None
    later = now.ecc_enabled_after_reboot
    text = "on" if now.ecc_enabled else "off"
    if later is not None and later != now.ecc_enabled:
        text += f", {'on' if later else 'off'} after a restart"
    if now.ecc_corrected is not None and now.ecc_uncorrected is not None:
        text += f"; {now.ecc_corrected} corrected, {now.ecc_uncorrected} uncorrected errors"
    if now.ecc_corrected_lifetime is not None and now.ecc_uncorrected_lifetime is not None:
        text += f"; {now.ecc_corrected_lifetime} and {now.ecc_uncorrected_lifetime} in its lifetime"
    return Cell(text, Tone.BAD if now.ecc_uncorrected else Tone.PLAIN)


def _rows(now: Telemetry) -> Cell | None:
    if now.row_remap_pending is None:
        return None
    if now.row_remap_failed:
        return Cell("a remapping failed: the memory is worn out", Tone.BAD)
    text = "pending: restart the GPU" if now.row_remap_pending else "none pending"
    counts = now.rows_remapped_corrected, now.rows_remapped_uncorrected
    if None not in counts:
        text = f"{counts[0]} after corrected, {counts[1]} after uncorrected errors; {text}"
    return Cell(text, Tone.PLAIN)


def _pages(now: Telemetry) -> Cell | None:
    counts = now.pages_retired_single_bit, now.pages_retired_double_bit
    if None in counts:
        return None
    pending = "; more after a restart" if now.page_retirement_pending else ""
    text = f"{counts[0]} after single-bit, {counts[1]} after double-bit errors{pending}"
    return Cell(text, Tone.POOR if any(counts) else Tone.PLAIN)


def _xids(now: Telemetry) -> Cell | None:
    if now.xids is None:
        return None
    codes = {code: now.xids.count(code) for code in now.xids}
    said = [f"{code} ({plural(times, 'time')})" for code, times in codes.items()]
    return Cell(", ".join(said) or "none in the kernel's log", Tone.BAD if said else Tone.PLAIN)


# Label, the field whose reason stands where nothing is known, the words.
ROWS: tuple[tuple[str, str, Words], ...] = (
    ("SM clock", "sm_clock_hz", lambda t: _of(t.sm_clock_hz, t.sm_clock_max_hz, show_hertz)),
    (
        "Memory clock",
        "memory_clock_hz",
        lambda t: _of(t.memory_clock_hz, t.memory_clock_max_hz, show_hertz),
    ),
    ("Clocks held back by", "clock_event_reasons", _events),
    ("Held back so far", "clock_limit_seconds", _held_back),
    ("Power", "power_watts", lambda t: _of(t.power_watts, t.power_limit_watts, _watts)),
    ("Power limit", "power_limit_watts", _power_limit),
    ("Temperature", "temperature_celsius", _heat),
    ("Time with a kernel", "gpu_utilisation", lambda t: _of(t.gpu_utilisation, None, show_share)),
    (
        "Time with memory access",
        "memory_utilisation",
        lambda t: _of(t.memory_utilisation, None, show_share),
    ),
    ("Memory", "memory_used_bytes", _memory),
    ("PCIe link", "pcie_generation", _link),
    ("ECC", "ecc_enabled", _ecc),
    ("Remapped rows", "row_remap_pending", _rows),
    ("Retired pages", "pages_retired_double_bit", _pages),
    ("Xid errors", "xids", _xids),
    (
        "Persistence mode",
        "persistence_mode",
        lambda t: _of(t.persistence_mode, None, lambda on: "on" if on else "off"),
    ),
    ("Compute mode", "compute_mode", lambda t: Cell(t.compute_mode) if t.compute_mode else None),
)


def state(now: Telemetry) -> list[Block]:
    """Return what the GPU does, each gap with its reason, and its processes."""
    rows = (_fact(now, *row) for row in ROWS)
    blocks: list[Block] = [Heading("Now"), LabelledFacts((*rows, _count(now)))]
    if now.processes:
        processes = table(
            now.processes,
            (">Process", lambda process: str(process.pid)),
            ("Kind", lambda process: str(process.kind)),
            (">Memory", lambda process: known(process.memory_bytes, show_bytes, "not known")),
            ("Name", lambda process: process.name or "not known"),
        )
        blocks.append(processes)
    return blocks


def _fact(now: Telemetry, label: str, field: str, words: Words) -> Fact:
    cell = words(now)
    return Fact(label, cell or _UNKNOWN, "" if cell else now.reasons.get(field, ""))


def _count(now: Telemetry) -> Fact:
    if now.processes is None:
        return Fact("Processes", _UNKNOWN, now.reasons.get("processes", ""))
    return Fact("Processes", Cell(plural(len(now.processes), "process", "processes")))


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
    if machine and len(machine.gpus) > 1:
        blocks.append(Line(f"1 of {len(machine.gpus)} GPUs here; --all lists them.", Tone.FAINT))
    blocks.append(LabelledFacts((*_address(gpu.identity, machine), *facts.facts(gpu.device).rows)))
    blocks += [Line(note) for note in gpu.device.notes]
    if gpu.topology:
        blocks += [Heading("Connections"), connections.gpu(gpu.topology)]
    if gpu.features and (features := _features(gpu.features)).rows:
        blocks += [Heading("Programs may use"), features]
    if gpu.telemetry:
        blocks += state(gpu.telemetry)
    return [*blocks, *_remarks(machine)]


def whole_machine(machine: Machine) -> list[Block]:
    """Return one line for each GPU of *machine*, how they are connected, and what they are."""
    if len(machine.gpus) == 1:
        return one_gpu(machine.gpus[0], machine)
    blocks: list[Block] = []
    if machine.gpus:
        blocks = [_list(machine.gpus), *connections.machine(machine.gpus)]
        blocks += [Heading("Side by side"), _comparison(machine.gpus)]
        blocks += [
            Line(f"{connections.label(g)}: {note}") for g in machine.gpus for note in g.device.notes
        ]
    return [*blocks, *_remarks(machine)]


def _features(features: Features) -> LabelledFacts:
    """Return what programs may use, one line for what is there and one for what is not."""
    values = {name.replace("_", " "): value for name, value in asdict(features).items()}
    rows = [
        ("Yes", ", ".join(name for name, value in values.items() if value is True)),
        ("No", ", ".join(name for name, value in values.items() if value is False)),
        *((name.removesuffix(" bytes").capitalize(), show_bytes(value))
          for name, value in values.items() if type(value) is int),
    ]  # fmt: skip
    return LabelledFacts(tuple(Fact(name, Cell(text)) for name, text in rows if text))


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
        ("Hidden because", own.hidden_because),
        ("Device file", None if own.minor is None else f"/dev/nvidia{own.minor}"),
        ("UUID", own.uuid),
        ("PCI id", own.pci_bus_id),
        ("Slice of", own.mig and own.mig.parent_name),
        ("Driver", versions[0]),
        ("CUDA of the driver", versions[1]),
    )
    return tuple(Fact(label, Cell(str(value))) for label, value in rows if value is not None)


def _list(gpus: Sequence[Gpu]) -> Table:
    def cuda(own: Identity) -> str:
        unseen = "hidden" if own.visible is False else "not known"
        return known(own.cuda_index, str, unseen)

    live = _LIVE if any(gpu.telemetry for gpu in gpus) else ()
    return table(
        gpus,
        ("GPU", connections.label),
        ("Name", lambda gpu: gpu.device.name),
        (">CUDA", lambda gpu: cuda(gpu.identity)),
        ("Device file", lambda gpu: known(gpu.identity.minor, "/dev/nvidia{}".format, "")),
        ("PCI id", lambda gpu: gpu.identity.pci_bus_id or ""),
        ("UUID", lambda gpu: gpu.identity.uuid or ""),
        *((f">{title}", partial(_reading, field, show)) for title, field, show in live),
    )


def _reading(field: str, show: Callable[[Any], str], gpu: Gpu) -> str:
    return known(getattr(gpu.telemetry, field, None), show, "not known")


def _comparison(gpus: Sequence[Gpu]) -> Table:
    """Return one column for each group of GPUs that are alike in every shown fact."""
    groups: dict[tuple[str, tuple[Cell, ...]], list[str]] = {}
    for gpu in gpus:
        key = (gpu.device.name, tuple(facts.cells(gpu.device)))
        groups.setdefault(key, []).append(connections.label(gpu))
    titles = [Column(f"{name} ({and_list(labels)})") for (name, _), labels in groups.items()]
    columns = [cells for _, cells in groups]
    rows = zip((Cell(row.label) for row in facts.ROWS), *columns, strict=True)
    return Table((Column(""), *titles), tuple(rows))
