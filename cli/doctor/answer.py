"""The answer of ``gpuadvise doctor``: checks, findings and what the machine runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.json_records import named_fields, plain
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.advisor.topology import links_up
from gpuadvise.cli import not_judged
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import (
    Block,
    Cell,
    Column,
    Fact,
    Heading,
    LabelledFacts,
    Line,
    Tone,
    table,
)
from gpuadvise.cli.device.connections import label
from gpuadvise.cli.exits import Exit, exit_of
from gpuadvise.cli.findings import finding_object
from gpuadvise.cli.schemas import columns_of
from gpuadvise.rules.machine_checks import CheckStatus, DoctorCheck
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpuadvise.advisor.gpu import Gpu, Machine
    from gpuadvise.advisor.software import Software
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.cli.render.svg import Picture
    from gpuadvise.rules.fail_on import FailOn
    from gpuadvise.rules.report import Finding

_TONES = {
    CheckStatus.OK: Tone.GOOD,
    CheckStatus.FINDING: Tone.BAD,
    CheckStatus.IDLE: Tone.FAINT,
    CheckStatus.UNAVAILABLE: Tone.FAINT,
}


def answer(
    machine: Machine,
    software: Software | None,
    checks: Sequence[DoctorCheck],
    inputs: Mapping[str, Any],
    *,
    limit: FailOn | None,
    full: bool,
    with_ids: bool,
) -> Answer:
    """Return the answer; exit 3 where no GPU answers, 1 where a finding meets *limit*.

    *full* lists every check and the software; *with_ids* leaves UUIDs and PCI addresses in.
    """
    findings = [finding for check in checks for finding in check.findings]
    findings.sort(key=lambda finding: finding.rank())
    left = [
        not_judged.NotJudged(path=f"GPU {label(gpu)}", reason=_UNREAD)
        for gpu in machine.gpus
        if not has_readings(gpu)
    ]
    result = {
        "verdict": _verdict(machine, findings),
        "not_judged": not_judged.records(left),
        "counts": {str(status): _count(checks, status) for status in CheckStatus},
        "gpus": [_gpu_record(gpu, number, with_ids) for number, gpu in enumerate(machine.gpus)],
        "driver_version": machine.driver_version,
        "cuda_version": machine.cuda_version,
        "problems": list(machine.problems),
        "checks": [
            {
                "check": check.rule.id,
                "gpu": check.gpu,
                "status": str(check.status),
                "reason": check.reason or None,
            }
            for check in checks
        ],
        "software": plain(software) if software else None,
    }
    return Answer(
        command="doctor",
        device=None,
        input=inputs,
        result=result,
        rows=[_row(check) for check in checks],
        columns=lambda: columns_of("doctor"),
        findings=[finding_object(finding) for finding in findings],
        blocks=lambda: blocks(machine, software, checks, full=full),
        documents={"github": lambda: workflow_commands(machine, checks)},
        notes=_notes(machine, left),
        failed=_failed(machine, checks, findings, limit) if machine.gpus else [],
        exit=_exit(machine, findings, limit),
        pictures=lambda: _pictures(machine),
    )


def _pictures(machine: Machine) -> list[Picture]:
    """Return how hot, loaded and full each GPU is, of those with readings."""
    from gpuadvise.cli.render import svg

    drawn = []
    for gpu in machine.gpus:
        parts = [svg.Part(*level) for level in _levels(gpu.telemetry)] if gpu.telemetry else []
        if parts:
            drawn.append(svg.meters(f"GPU {label(gpu)}: {gpu.device.name}", parts, whole=1.0))
    return drawn


def _levels(now: Telemetry) -> Iterator[tuple[str, float, str]]:
    """Yield what is measured, its share of the most there can be, and how both are said."""
    hot, slow = now.temperature_celsius, now.temperature_slowdown_celsius
    if hot is not None and slow:
        yield "temperature", hot / slow, f"{hot} °C; clocks fall at {slow} °C"
    if now.power_watts is not None and now.power_limit_watts:
        power, limit = now.power_watts, now.power_limit_watts
        yield "power", power / limit, f"{power:.0f} of {limit:.0f} W"
    if now.memory_used_bytes is not None and now.memory_total_bytes:
        used, total = now.memory_used_bytes, now.memory_total_bytes
        yield "memory", used / total, f"{show_bytes(used)} of {show_bytes(total)}"
    if now.gpu_utilisation is not None:
        yield "busy", now.gpu_utilisation, f"{now.gpu_utilisation:.0%} of the time"


def _verdict(machine: Machine, findings: Sequence[Finding]) -> str:
    if not machine.gpus or machine.problems:
        return "broken"
    if findings:
        return "findings"
    return "unknown" if any(not has_readings(gpu) for gpu in machine.gpus) else "healthy"


def has_readings(gpu: Gpu) -> bool:
    """Whether sensors or counters of *gpu* were read: not where --telemetry was left out."""
    readings = plain(gpu.telemetry) if gpu.telemetry else {}
    return not all(value in (None, [], {}) for name, value in readings.items() if name != "reasons")


_UNREAD = "No reading of this GPU is there, so errors, heat and power were not judged."


def _notes(machine: Machine, left: Sequence[not_judged.NotJudged]) -> list[str]:
    """Return what stands on stderr: why the answer is none, or what it leaves out."""
    if not machine.gpus:
        return [*machine.problems] or [headline(machine, ())]
    if len(left) == len(machine.gpus):
        return ["No reading of any GPU is there: save device --all --telemetry --format json."]
    return [f"{item.path}: {item.reason}" for item in left]


def _failed(
    machine: Machine, checks: Sequence[DoctorCheck], findings: Sequence[Finding], limit: FailOn | None
) -> list[str]:  # fmt: skip
    """Return why ``--fail-on`` says no; raises BadInput where no check could have met *limit*."""
    if limit is None:
        return []
    met = sum(limit.meets(finding.category, finding.priority) for finding in findings)
    if not met and not any(map(has_readings, machine.gpus)):
        raise BadInput(
            f"--fail-on {limit} has nothing to compare: no reading of any GPU is there.",
            hint="Save device --all --telemetry --format json, or nvidia-smi -q -x.",
        )
    judged = (CheckStatus.OK, CheckStatus.FINDING)
    urgent = (check for check in checks if limit.meets(check.rule.category, check.rule.priority))
    if not met and checks and not any(check.status in judged for check in urgent):
        raise BadInput(
            f"--fail-on {limit} has nothing to compare: no check of that priority was possible.",
            hint="--all says of each check why.",
        )
    return [f"{plural(met, 'finding')} at --fail-on {limit} or above."] if met else []


def _exit(machine: Machine, findings: Sequence[Finding], limit: FailOn | None) -> Exit:
    if not machine.gpus or machine.problems:
        return Exit.UNAVAILABLE
    met = limit and any(limit.meets(each.category, each.priority) for each in findings)
    return exit_of(met, in_part=limit and not all(map(has_readings, machine.gpus)))


def _count(checks: Sequence[DoctorCheck], status: CheckStatus) -> int:
    return sum(check.status is status for check in checks)


def _gpu_record(gpu: Gpu, number: int, with_ids: bool) -> dict[str, Any]:
    identity = gpu.identity
    return {
        "index": identity.index if identity.index is not None else number,
        "cuda_index": identity.cuda_index,
        "name": gpu.device.name,
        **(named_fields(identity, "uuid pci_bus_id") if with_ids else {}),
        **named_fields(gpu.telemetry, _READINGS),
    }


# What the line of a GPU says of it.
_READINGS = (
    "temperature_celsius power_watts power_limit_watts memory_used_bytes memory_total_bytes "
    "gpu_utilisation xids"
)


def _row(check: DoctorCheck) -> dict[str, Any]:
    finding = check.findings[0] if check.findings else None
    return {
        **named_fields(check, "gpu check=rule.id status"),
        **named_fields(finding, "priority message action=advice.action"),
        "reason": check.reason or None,
    }


def blocks(
    machine: Machine, software: Software | None, checks: Sequence[DoctorCheck], *, full: bool
) -> list[Block]:
    """Return the page: the verdict, one line per GPU, the findings, then what was not judged."""
    page: list[Block] = [Line(headline(machine, checks), Tone.STRONG)]
    page += [Line(problem, Tone.BAD) for problem in machine.problems]
    page += [Line(_gpu_line(gpu), indent=2) for gpu in machine.gpus]
    labels = [label(gpu) for gpu in machine.gpus]
    page += _findings(checks, labels)
    page += _all_checks(checks, labels) if full else _silent(checks)
    page += [Line(note, Tone.FAINT) for note in machine.notes]
    if software and full:
        page += software_blocks(software)
    elif software:
        page += [Line(note, Tone.POOR) for note in software.notes]
    return page


def workflow_commands(machine: Machine, checks: Sequence[DoctorCheck]) -> str:
    """Return a workflow command for each part that is sick and each finding; a notice for none."""
    from gpuadvise.cli.render import github

    labels = [label(gpu) for gpu in machine.gpus]
    findings = [
        {**finding_object(finding), "message": f"{where}{finding.message}"}
        for check in checks
        for where in ["" if check.gpu is None else f"GPU {labels[check.gpu]}: "]
        for finding in check.findings
    ]
    sick = [github.annotation("error", "gpuadvise doctor", text) for text in machine.problems]
    said = "".join(sick) + github.render(findings, None)
    return said or github.annotation("notice", "gpuadvise doctor", headline(machine, checks))


def headline(machine: Machine, checks: Sequence[DoctorCheck]) -> str:
    """Return the verdict in one sentence."""
    if not machine.gpus:
        return "No GPU of this machine answers."
    driver = f", driver {machine.driver_version}" if machine.driver_version else ""
    cuda = f" (CUDA {machine.cuda_version} or older)" if machine.cuda_version else ""
    counts = [
        plural(sum(len(check.findings) for check in checks), "finding"),
        f"{plural(_count(checks, CheckStatus.OK), 'check')} passed",
    ]
    if idle := _count(checks, CheckStatus.IDLE):
        counts.append(f"{idle} not judged because the GPU is idle")
    if missing := _count(checks, CheckStatus.UNAVAILABLE):
        counts.append(f"{missing} not available")
    slices = sum(gpu.identity.mig is not None for gpu in machine.gpus)
    gpus = plural(len(machine.gpus) - slices, "GPU")
    if slices:
        gpus += f" with {plural(slices, 'MIG slice')}"
    return f"{gpus}{driver}{cuda}: {', '.join(counts)}."


def _gpu_line(gpu: Gpu) -> str:
    now = gpu.telemetry
    said = [f"GPU {label(gpu)}", gpu.device.name]
    if gpu.topology and gpu.topology.nvlinks:
        said.append(f"{len(links_up(gpu.topology))} of {len(gpu.topology.nvlinks)} NVLinks up")
    if now is None:
        return "  ".join(said)
    if now.temperature_celsius is not None:
        said.append(f"{now.temperature_celsius} °C")
    if now.power_watts is not None and now.power_limit_watts:
        said.append(f"{now.power_watts:.0f} of {now.power_limit_watts:.0f} W")
    if now.memory_used_bytes is not None and now.memory_total_bytes:
        used, total = show_bytes(now.memory_used_bytes), show_bytes(now.memory_total_bytes)
        said.append(f"{used} of {total} used")
    if now.gpu_utilisation is not None:
        said.append(f"{now.gpu_utilisation:.0%} busy")
    if now.xids:
        said.append(f"Xid {', '.join(map(str, dict.fromkeys(now.xids)))} in the kernel's log")
    return "  ".join(said)


def _findings(checks: Sequence[DoctorCheck], labels: Sequence[str]) -> list[Block]:
    """Return the findings, most urgent first; what several GPUs share is said once."""
    places: dict[tuple[str, str], list[str]] = {}
    shared: dict[tuple[str, str], Finding] = {}
    for check in checks:
        for finding in check.findings:
            key = finding.rule.id, finding.advice.message
            places.setdefault(key, []).append("" if check.gpu is None else labels[check.gpu])
            shared[key] = finding
    page: list[Block] = []
    for key in sorted(shared, key=lambda key: shared[key].rank()):
        finding, numbers = shared[key], [number for number in places[key] if number]
        where = f"GPU {', '.join(numbers)}: " if numbers else ""
        tone = Tone.BAD if finding.priority is Priority.HIGH else Tone.POOR
        page += [
            Heading(f"{finding.priority.upper()}  {finding.rule.id}"),
            Line(f"{where}{finding.message}", tone, indent=2),
            Line(f"Do: {finding.advice.action}", indent=2),
            Line(f"Source: {finding.rule.citations[0].document}, "
                 f"{finding.rule.citations[0].section}", Tone.FAINT, indent=2),
        ]  # fmt: skip
    return page


def _silent(checks: Sequence[DoctorCheck]) -> list[Block]:
    """Return one line for what was not judged and one for what could not be."""
    page: list[Block] = []
    for status, title in (
        (CheckStatus.IDLE, "Not judged"),
        (CheckStatus.UNAVAILABLE, "Not available"),
    ):
        reasons: dict[str, list[str]] = {}
        for check in checks:
            if check.status is status and check.rule.id not in reasons.get(check.reason, ()):
                reasons.setdefault(check.reason, []).append(check.rule.id)
        page += [
            Line(f"{title}: {', '.join(names)} ({reason}).", Tone.FAINT)
            for reason, names in reasons.items()
        ]
    return [Line(""), *page] if page else []


def _all_checks(checks: Sequence[DoctorCheck], labels: Sequence[str]) -> list[Block]:
    def reason(check: DoctorCheck) -> str:
        return check.reason or (check.findings[0].advice.message if check.findings else "")

    listed = table(
        checks,
        (">GPU", lambda check: "all" if check.gpu is None else labels[check.gpu]),
        ("check", lambda check: check.rule.id),
        ("status", lambda check: Cell(str(check.status), _TONES[check.status])),
        (Column("reason", prose=True), reason),
    )
    return [Heading("Checks"), listed]


def software_blocks(software: Software) -> list[Block]:
    """Return what the machine runs, for a ticket."""
    virtual = {True: "virtual machine", False: "bare metal", None: None}[software.virtual]
    around = [software.container and f"{software.container} container", virtual]
    if software.wsl:
        around.append("WSL")
    facts = {
        "System": software.system,
        "Kernel": " ".join(filter(None, (software.kernel, software.machine))),
        "Runs in": ", ".join(filter(None, around)),
        "Python": software.python,
        "CUDA toolkits": ", ".join(software.toolkits) or "none found",
        **{f"lib{name}": ", ".join(versions) for name, versions in software.libraries.items()},
        "PTX cache": (
            show_bytes(software.jit_cache_bytes) if software.jit_cache_bytes is not None else None
        ),
    }
    page: list[Block] = [Heading("Software"), _labelled(facts)]
    if software.packages:
        page += [Heading("Python packages"), _labelled(software.packages)]
    if software.variables:
        page += [Heading("Environment"), _labelled(software.variables)]
    return [*page, *(Line(note, Tone.POOR) for note in software.notes)]


def _labelled(facts: Mapping[str, str | None]) -> LabelledFacts:
    return LabelledFacts(tuple(Fact(label, Cell(value)) for label, value in facts.items() if value))
