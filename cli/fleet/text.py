"""The page of ``gpuadvise fleet``: how many are well, a line for each GPU, what differs, findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.fleet.groups import Difference, Group, median_rate
from gpuadvise.advisor.prose import and_list, capitalized, plural
from gpuadvise.advisor.quantity import show_bytes, show_hertz, show_rate
from gpuadvise.cli.blocks import (
    Block,
    Cell,
    Column,
    Heading,
    Line,
    Table,
    Tone,
    cells,
    header,
    known,
    left_out,
)
from gpuadvise.rules.fleet_report import FACT_WORDS, MachineVerdict, ecc_words, priority_of
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from gpuadvise.advisor.fleet.changes import MachineChange
    from gpuadvise.advisor.fleet.machine import FleetGpu, FleetMachine
    from gpuadvise.rules.fleet_report import Fault, FleetReport

# Without --all: lines of a screen or two.
_MOST_ROWS = 40
_MOST_HOSTS = 12
_MOST_DIFFERENCES = 20
_HOW = "--all shows them"
_DAY = len("2026-11-20")
_TONES = {
    MachineVerdict.HEALTHY: Tone.GOOD,
    MachineVerdict.LOOK: Tone.BAD,
    MachineVerdict.UNKNOWN: Tone.FAINT,
}
_ORDER = (MachineVerdict.LOOK, MachineVerdict.UNKNOWN, MachineVerdict.HEALTHY)


def blocks(report: FleetReport, unread_files: int, *, full: bool) -> list[Block]:
    """Return the page; *full* leaves nothing out of its lists."""
    page: list[Block] = [Line(headline(report, unread_files), Tone.STRONG)]
    page += _table(report, full=full)
    for group in report.groups:
        page += _group(group, report, full=full)
    page += _changes(report, full=full)
    for fault in report.faults:
        page += _fault(fault, full=full)
    return page


def headline(report: FleetReport, unread_files: int) -> str:
    """Return the verdict in one sentence: how many are well comes first."""
    said = [
        f"{report.count(MachineVerdict.HEALTHY):,} healthy",
        f"{report.count(MachineVerdict.LOOK):,} to look at",
    ]
    if unknown := report.count(MachineVerdict.UNKNOWN):
        said.append(f"{unknown:,} not judged")
    if unread_files:
        said.append(f"{plural(unread_files, 'file')} not read")
    gpus = sum(group.gpus for group in report.groups)
    return (
        f"{', '.join(said)}: {plural(len(report.machines), 'machine')} with {plural(gpus, 'GPU')}."
    )


def _table(report: FleetReport, *, full: bool) -> list[Block]:
    """Return a line for each GPU, those to look at first."""
    lines = [
        (report.gpu_verdict(machine, position), machine, position)
        for machine in report.machines
        for position in range(len(machine.gpus))
    ]
    lines += [
        (report.verdict(machine), machine, -1) for machine in report.machines if not machine.gpus
    ]
    lines.sort(key=lambda line: _ORDER.index(line[0]))
    shown = lines if full else lines[:_MOST_ROWS]
    if not shown:
        return []
    columns = header(
        "host", ">GPU", "model", "driver", ">temperature", ">power", "ECC", "Xid", "link",
        Column("verdict", prose=True),
    )  # fmt: skip
    table = Table(columns, tuple(_cells(report, *line) for line in shown))
    return [table, *left_out(len(lines) - len(shown), "line", _HOW)]


def _cells(
    report: FleetReport, verdict: MachineVerdict, machine: FleetMachine, position: int
) -> tuple[Cell, ...]:
    why = report.why(machine.host, position if position >= 0 else None)
    last = Cell(", ".join(why) if why else str(verdict), _TONES[verdict])
    if position < 0:
        return cells(machine.host, "", machine.measured or "", *[""] * 6, last)
    gpu = machine.gpus[position]
    number = str(gpu.index) if gpu.mig is None else f"{gpu.index}/{gpu.mig}"
    heat = known(gpu.temperature_celsius, "{} °C".format, "")
    xids = known(gpu.xids, lambda codes: ", ".join(map(str, dict.fromkeys(codes))) or "none", "")
    ecc = Cell(ecc_words(gpu), Tone.BAD if gpu.ecc_uncorrected else Tone.PLAIN)
    driver = machine.driver_version or ""
    return cells(
        machine.host, number, gpu.model, driver, heat, _power(gpu), ecc, xids, _link(gpu), last
    )


def _power(gpu: FleetGpu) -> str:
    if gpu.power_watts is None:
        return ""
    limit = f" of {gpu.power_limit_watts:.0f}" if gpu.power_limit_watts else ""
    return f"{gpu.power_watts:.0f}{limit} W"


def _link(gpu: FleetGpu) -> str:
    parts = []
    if gpu.pcie_lanes is not None:
        generation = f" {gpu.pcie_generation}" if gpu.pcie_generation else ""
        fewer = gpu.pcie_lanes_max and gpu.pcie_lanes < gpu.pcie_lanes_max
        most = f" of {gpu.pcie_lanes_max}" if fewer else ""
        parts.append(f"PCIe{generation} x{gpu.pcie_lanes}{most}")
    if gpu.nvlinks:
        parts.append(f"{gpu.nvlinks_up} of {gpu.nvlinks} NVLinks")
    return ", ".join(parts)


def _group(group: Group, report: FleetReport, *, full: bool) -> list[Block]:
    """Return what the machines of *group* have in common, and what differs."""
    rates = [
        f"{FACT_WORDS[direction]} at {show_rate(rate)} (median)"
        for direction in ("h2d", "d2h")
        if (rate := median_rate(group, direction)) is not None
    ]
    many = len(group.machines)
    page: list[Block] = [Heading(f"{plural(many, 'machine')} with {group.kind}")]
    page += [Line(f"{capitalized(rate)}.", indent=2) for rate in rates]
    members = {machine.host: machine for machine in group.machines}
    odd = [item for item in report.differences if item.host in members]
    lines = _differences(odd, members, full=full)
    shown = lines if full else lines[:_MOST_DIFFERENCES]
    page += [Line(line, Tone.POOR, indent=2) for line in shown]
    page += left_out(len(lines) - len(shown), "difference", _HOW, indent=2)
    for split in report.splits:
        if split.kind == group.kind:
            held = [f"{_value(split.fact, value)} on {count}" for value, count in split.counts]
            more = len(held) - (len(held) if full else _MOST_HOSTS)
            values = [*held[:-more], f"{more} more values"] if more > 0 else held
            said = f"{capitalized(FACT_WORDS[split.fact])} without a majority: {and_list(values)}."
            page.append(Line(said, indent=2))
    if not lines and many > 1:
        page.append(Line("None differs from most of them.", Tone.FAINT, indent=2))
    return page


def _differences(
    odd: Sequence[Difference], members: dict[str, FleetMachine], *, full: bool
) -> list[str]:
    """Return a sentence for each fact and value, with those that have it."""
    places: dict[tuple[str, Hashable, Hashable], list[str]] = {}
    for item in odd:
        where = _where(item, members[item.host].gpus)
        places.setdefault((item.fact, item.value, item.usual), []).append(where)
    return [
        f"{capitalized(FACT_WORDS[fact])}: {_value(fact, value)} on {_listed(hosts, full=full)};"
        f" usual is {_value(fact, usual)}."
        for (fact, value, usual), hosts in places.items()
    ]


def _where(item: Difference | MachineChange, gpus: Sequence[FleetGpu]) -> str:
    several = item.gpu is not None and len(gpus) > 1
    return f"{item.host} GPU {gpus[item.gpu or 0].index}" if several else item.host


def _listed(hosts: Sequence[str], *, full: bool) -> str:
    return and_list(hosts, most=None if full else _MOST_HOSTS)


def _value(fact: str, value: Hashable) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if not isinstance(value, int | float):
        return str(value)
    if fact in ("h2d", "d2h"):
        return show_rate(value)
    if fact.endswith("_bytes"):
        return show_bytes(int(value))
    if fact.endswith("_hz"):
        return show_hertz(value)
    unit = " W" if fact.endswith("_watts") else " °C" if fact.endswith("_celsius") else ""
    return f"{value:g}{unit}"


def _changes(report: FleetReport, *, full: bool) -> list[Block]:
    """Return what became worse, a line for each."""
    if not report.changes:
        return []
    gpus = {machine.host: machine.gpus for machine in report.machines}
    lines = [
        f"{_where(item, gpus[item.host])}: {FACT_WORDS[item.fact]} {_value(item.fact, item.before)}, "
        f"now {_value(item.fact, item.now)} ({item.since[:_DAY]} to {item.until[:_DAY]})."
        for item in sorted(report.changes, key=lambda change: priority_of(change).rank)
    ]
    shown = lines if full else lines[:_MOST_DIFFERENCES]
    page: list[Block] = [Heading("Worse than before")]
    page += [Line(line, Tone.POOR, indent=2) for line in shown]
    return page + left_out(len(lines) - len(shown), "change", _HOW, indent=2)


def _fault(fault: Fault, *, full: bool) -> list[Block]:
    first = fault.finding
    tone = Tone.BAD if first.priority == Priority.HIGH else Tone.POOR
    on = f"On {plural(len(fault.hosts), 'machine')}: {_listed(fault.hosts, full=full)}."
    said = f"For example: {first.message}" if fault.varies else first.message
    return [
        Heading(f"{first.priority.upper()}  {first.rule}"),
        Line(on, tone, indent=2),
        Line(said, indent=2),
        Line(f"Do: {first.action}", indent=2),
    ]
