"""The answer of ``gpuadvise fleet``: JSON, one row for each GPU, and the exit code."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.fleet.groups import Difference, Group, median_rate
from gpuadvise.advisor.json_records import named_fields, plain
from gpuadvise.advisor.prose import and_list, plural, quoted_path
from gpuadvise.cli import not_judged
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.exits import Exit, exit_of
from gpuadvise.cli.not_judged import NotJudged
from gpuadvise.rules.fleet_report import (
    MachineVerdict,
    category_of,
    is_worth_a_look,
    met,
    priority_of,
    unread,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.backends.machine_dumps import Unread
    from gpuadvise.advisor.fleet.changes import MachineChange
    from gpuadvise.advisor.fleet.machine import FleetGpu, FleetMachine
    from gpuadvise.cli.render.svg import Picture
    from gpuadvise.rules.fail_on import FailOn
    from gpuadvise.rules.fleet_report import Fault, FleetReport

_IDS = ("uuid", "pci_bus_id")
_COLUMNS = (
    "host", "gpu", "model", "driver", "temperature_celsius", "power_watts", "power_limit_watts",
    "ecc_enabled", "ecc_corrected", "ecc_uncorrected", "xids", "pcie_generation",
    "pcie_generation_max", "pcie_lanes", "pcie_lanes_max", "nvlinks", "nvlinks_up", "verdict",
    "reasons", "mig", "memory_used_bytes", "memory_total_bytes", "gpu_utilisation",
    "persistence_mode", "compute_mode", "sm_clock_max_hz", "memory_clock_max_hz",
    "ecc_corrected_lifetime", "ecc_uncorrected_lifetime", "rows_remapped_corrected",
    "rows_remapped_uncorrected", "pages_retired_single_bit", "pages_retired_double_bit",
)  # fmt: skip
_OF_THE_MACHINE = ("host", "gpu", "driver", "verdict", "reasons")
_READ = tuple(name for name in _COLUMNS if name not in _OF_THE_MACHINE)
_DIGITS = 12
_NO_READING = "No reading of its GPUs is there, so errors, heat and power were not judged."


def hashed(name: str) -> str:
    """Return what stands for the machine *name* where names are not to leave the house."""
    return f"host-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:_DIGITS]}"


def answer(
    report: FleetReport,
    unread_files: Sequence[Unread],
    inputs: Mapping[str, Any],
    *,
    limit: FailOn | None,
    hidden: bool,
    with_ids: bool,
    full: bool,
) -> Answer:
    """Return the answer, in which paths are hashed where names are *hidden*; exit 1 where something meets *limit*, 3 where it is set and not all was judged."""
    from gpuadvise.cli.fleet import prometheus, text

    mute = [machine for machine in report.machines if unread(machine)]
    left = [
        NotJudged(
            path=hashed(item.shown) if hidden else item.shown,
            reason=item.reason,
            said=f"{quoted_path(item.shown)}: {item.reason}",
        )
        for item in unread_files
    ]
    left += [NotJudged(path=machine.host, reason=_NO_READING) for machine in mute]
    for machine in report.machines:
        if machine.judged and machine.unread_gpus:
            gpus = and_list([f"GPU {index}" for index in machine.unread_gpus])
            why = f"No reading of {gpus} is there, so errors, heat and power were not judged."
            left.append(NotJudged(path=machine.host, reason=why))
    meeting = met(report, limit) if limit else 0
    code = exit_of(meeting, in_part=limit is not None and left)
    return Answer(
        command="fleet",
        device=None,
        input=inputs,
        result=_result(report, left, with_ids=with_ids),
        rows=_rows(report, with_ids=with_ids),
        columns=lambda: (*_COLUMNS, *(_IDS if with_ids else ())),
        blocks=lambda: text.blocks(report, len(unread_files), full=full),
        documents={"prometheus": lambda: prometheus.exposition(report, len(unread_files))},
        notes=not_judged.notes(left),
        failed=_failed(limit, meeting, len(left)),
        exit=code if report.machines or code is Exit.THRESHOLD else Exit.UNAVAILABLE,
        pictures=lambda: _pictures(report),
    )


_MOST_DRAWN = 12  # faults of a picture; the page lists all of them


def _pictures(report: FleetReport) -> list[Picture]:
    """Return the machines by their verdict, and the faults that most GPUs have."""
    from gpuadvise.cli.render import svg

    counts = [(verdict, report.count(verdict)) for verdict in MachineVerdict]
    machines = [
        svg.Part(str(verdict), count, plural(count, "machine"), verdict is MachineVerdict.UNKNOWN)
        for verdict, count in counts
    ]
    drawn = [svg.account("Machines", machines)] if report.machines else []
    worth = [fault for fault in report.faults if is_worth_a_look(fault.finding)]
    if worth:
        worth.sort(key=lambda fault: len(fault.places), reverse=True)
        bars = [
            svg.Part(fault.finding.title, len(fault.places), plural(len(fault.places), "place"))
            for fault in worth[:_MOST_DRAWN]
        ]
        drawn.append(svg.meters("Faults, by the GPUs and machines that have them", bars))
    return drawn


def _failed(limit: FailOn | None, meeting: int, left: int) -> list[str]:
    """Return why the gate says no."""
    if limit is None or not (meeting or left):
        return []
    if meeting:
        what = "findings, differences, changes for the worse and machines that do not answer"
        return [f"{meeting} at --fail-on {limit} or above: {what}."]
    return [f"--fail-on {limit}: not all was judged, {plural(left, 'file')} of it."]


def _result(report: FleetReport, left: Sequence[NotJudged], *, with_ids: bool) -> dict[str, Any]:
    counts = {str(verdict): report.count(verdict) for verdict in MachineVerdict}
    healthy, to_look_at = counts[MachineVerdict.HEALTHY], counts[MachineVerdict.LOOK]
    gpus = {machine.host: machine.gpus for machine in report.machines}

    def place(item: Difference | MachineChange, names: str) -> dict[str, Any]:
        return {
            "host": item.host,
            "gpu": None if item.gpu is None else gpus[item.host][item.gpu].index,
            **named_fields(item, names),
            "priority": str(priority_of(item)),
            "category": str(category_of(item)),
        }

    return {
        "verdict": "findings" if to_look_at else "healthy" if healthy else "unknown",
        "not_judged": not_judged.records(left),
        "counts": {
            "machines": len(report.machines),
            "gpus": sum(group.gpus for group in report.groups),
            "healthy": healthy,
            "to_look_at": to_look_at,
            "not_judged": counts[MachineVerdict.UNKNOWN],
        },
        "machines": [_machine(report, machine, with_ids) for machine in report.machines],
        "groups": [_group(group) for group in report.groups],
        "differences": [place(item, "fact value usual of") for item in report.differences],
        "splits": [
            {
                **named_fields(split, "kind fact"),
                "values": [{"value": value, "count": count} for value, count in split.counts],
            }
            for split in report.splits
        ],
        "faults": [_fault(fault) for fault in report.faults],
        "changes": [place(item, "fact before now since until") for item in report.changes],
    }


def _machine(report: FleetReport, machine: FleetMachine, with_ids: bool) -> dict[str, Any]:
    rates = {copy.direction: copy.rate for copy in machine.copies}
    return {
        "host": machine.host,
        "verdict": str(report.verdict(machine)),
        "kind": machine.kind or None,
        **named_fields(machine, "driver_version cuda_version problems"),
        "reasons": report.why(machine.host, None),
        "h2d": rates.get("h2d"),
        "d2h": rates.get("d2h"),
        **named_fields(machine, "taken fabric nccl"),
        "gpus": [
            {
                "index": gpu.index,
                **_readings(gpu, with_ids),
                "verdict": str(report.gpu_verdict(machine, position)),
                "reasons": report.why(machine.host, position),
            }
            for position, gpu in enumerate(machine.gpus)
        ],
    }


def _readings(gpu: FleetGpu, with_ids: bool) -> dict[str, Any]:
    return {field: plain(getattr(gpu, field)) for field in (*_READ, *(_IDS if with_ids else ()))}


def _group(group: Group) -> dict[str, Any]:
    return {
        "kind": group.kind,
        "machines": len(group.machines),
        "gpus": group.gpus,
        "h2d": median_rate(group, "h2d"),
        "d2h": median_rate(group, "d2h"),
        "hosts": [machine.host for machine in group.machines],
    }


def _fault(fault: Fault) -> dict[str, Any]:
    return {
        **named_fields(fault.finding, "rule priority category title message"),
        "same_message": not fault.varies,
        "action": fault.finding.action,
        "worth_a_look": is_worth_a_look(fault.finding),
        "gpus": len(fault.places),
        "hosts": list(fault.hosts),
    }


def _rows(report: FleetReport, *, with_ids: bool) -> list[dict[str, Any]]:
    columns = (*_COLUMNS, *(_IDS if with_ids else ()))
    rows = []
    for machine in report.machines:
        told = {"host": machine.host, "driver": machine.driver_version}
        for position, gpu in enumerate(machine.gpus):
            verdict = str(report.gpu_verdict(machine, position))
            said = {"verdict": verdict, "reasons": report.why(machine.host, position)}
            row = {**told, "gpu": gpu.index, **said, **_readings(gpu, with_ids)}
            rows.append({column: row[column] for column in columns})
    return rows
