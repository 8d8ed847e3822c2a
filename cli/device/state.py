"""What a GPU does now, as labelled values for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_hertz, show_share
from gpuadvise.advisor.telemetry import IDLE_REASON, link_is_idle
from gpuadvise.cli.blocks import Block, Cell, Column, Fact, Facts, Heading, Table, Tone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.advisor.telemetry import Process, Telemetry

    Words = Callable[[Telemetry], Cell | None]


def _of(now: float | None, most: float | None, show: Callable[[float], str]) -> Cell | None:
    if now is None:
        return None
    return Cell(show(now) + (f" of {show(most)}" if most is not None else ""))


def _watts(value: float) -> str:
    return f"{value:.0f} W"


def _heat(now: Telemetry) -> Cell | None:
    if now.temperature_celsius is None:
        return None
    slow = now.temperature_slowdown_celsius
    limit = f", slows down at {slow} °C" if slow is not None else ""
    return Cell(f"{now.temperature_celsius} °C{limit}")


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
    return Cell(text, Tone.BAD if now.ecc_uncorrected else Tone.PLAIN)


def _rows(now: Telemetry) -> Cell | None:
    if now.row_remap_pending is None:
        return None
    if now.row_remap_failed:
        return Cell("a remapping failed: the memory is worn out", Tone.BAD)
    pending = now.row_remap_pending
    return Cell("pending: restart the GPU" if pending else "none pending", Tone.PLAIN)


def _on(state: bool | None) -> Cell | None:
    return None if state is None else Cell("on" if state else "off")


def _share(value: float | None) -> Cell | None:
    return None if value is None else Cell(show_share(value))


# Label, the field whose reason stands where nothing is known, the words.
ROWS: tuple[tuple[str, str, Words], ...] = (
    ("SM clock", "sm_clock_hz", lambda t: _of(t.sm_clock_hz, t.sm_clock_max_hz, show_hertz)),
    (
        "Memory clock",
        "memory_clock_hz",
        lambda t: _of(t.memory_clock_hz, t.memory_clock_max_hz, show_hertz),
    ),
    ("Clocks held back by", "clock_event_reasons", _events),
    ("Power", "power_watts", lambda t: _of(t.power_watts, t.power_limit_watts, _watts)),
    ("Temperature", "temperature_celsius", _heat),
    ("Time with a kernel", "gpu_utilisation", lambda t: _share(t.gpu_utilisation)),
    ("Time with memory access", "memory_utilisation", lambda t: _share(t.memory_utilisation)),
    ("Memory", "memory_used_bytes", _memory),
    ("PCIe link", "pcie_generation", _link),
    ("ECC", "ecc_enabled", _ecc),
    ("Remapped rows", "row_remap_pending", _rows),
    ("Persistence mode", "persistence_mode", lambda t: _on(t.persistence_mode)),
    ("Compute mode", "compute_mode", lambda t: Cell(t.compute_mode) if t.compute_mode else None),
)


def state(now: Telemetry) -> list[Block]:
    """Return what the GPU does, each gap with its reason, and its processes."""
    rows = (_fact(now, *row) for row in ROWS)
    blocks: list[Block] = [Heading("Now"), Facts((*rows, _count(now)))]
    return [*blocks, _processes(now.processes)] if now.processes else blocks


def _fact(now: Telemetry, label: str, field: str, words: Words) -> Fact:
    cell = words(now)
    if cell:
        return Fact(label=label, value=cell)
    return Fact(label=label, value=_unknown(), remark=now.reasons.get(field, ""))


def _count(now: Telemetry) -> Fact:
    if now.processes is None:
        why = now.reasons.get("processes", "")
        return Fact(label="Processes", value=_unknown(), remark=why)
    number = len(now.processes)
    return Fact(label="Processes", value=Cell(plural(number, "process", "processes")))


def _unknown() -> Cell:
    return Cell("not known", Tone.FAINT)


def _processes(some: Sequence[Process]) -> Table:
    titles = (Column("Process", right=True), Column("Kind"), Column("Memory", right=True))
    return Table(columns=(*titles, Column("Name")), rows=tuple(map(_process, some)))


def _process(one: Process) -> tuple[Cell, ...]:
    used = "not known" if one.memory_bytes is None else show_bytes(one.memory_bytes)
    return Cell(str(one.pid)), Cell(str(one.kind)), Cell(used), Cell(one.name or "not known")
