"""The machines of a fleet: each file read, judged as ``doctor`` does, and reduced to what is kept."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from itertools import count as count_from
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuadvise.advisor.backends.machine_dumps import DumpFile, Unread, contents
from gpuadvise.advisor.engines.engine import Lost
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.fleet.changes import same_machine
from gpuadvise.advisor.fleet.machine import CopyRate, FleetFinding, FleetMachine, fleet_machine
from gpuadvise.advisor.fleet.timestamps import taken_at

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from gpuadvise.advisor.engines.cluster import DaskCluster
    from gpuadvise.advisor.engines.engine import TaskEngine
    from gpuadvise.advisor.gpu import Machine
    from gpuadvise.cli.doctor.evaluate import DoctorCheck

# Files that are worth a process each: starting it takes as long as judging so many.
WORTH_PROCESS = 100
# What judging needs: read before the processes fork, so that they share its memory.
JUDGING = ("gpuadvise.cli.doctor.evaluate", "gpuadvise.rules.guide")
_MOST_NAMESAKES = 100  # machines of one name among which a file's is sought
_BATCH = 400  # files whose answers go together: a process that starts takes as long as 200


class JudgedFile(NamedTuple):
    """What one file says of a machine, or why it says nothing."""

    file: DumpFile
    machine: FleetMachine | None
    reason: str = ""


def machine_files(dumps: Iterable[DumpFile]) -> Iterator[JudgedFile]:
    """Yield what each of *dumps* says, in their order."""
    for file, content in contents(list(dumps)):
        yield _judged(file, content)


def judged_files(files: Sequence[DumpFile], engine: TaskEngine) -> Iterator[JudgedFile]:
    """Yield what each of *files* says, in their order, read by *engine*; raises Unavailable as it does.

    Archives and standard input are read here, where they can be opened.
    """
    judged = engine.map(
        machine_files,
        files,
        batch=_BATCH,
        named=attrgetter("shown"),
        here=lambda file: file.member is not None or file.path != file.shown,
    )
    for file, each in zip(files, judged, strict=True):
        yield JudgedFile(file, None, each.reason) if isinstance(each, Lost) else each


def _judged(file: DumpFile, content: bytes | Unread) -> JudgedFile:
    if isinstance(content, Unread):
        return JudgedFile(file, None, content.reason)
    try:
        machine = machine_of(file.host, content)
        return JudgedFile(file, replace(machine, taken=taken_at(content, file.shown)))
    except BadInput as error:
        text = error.message
        text = f"It {text}" if text.startswith(("is ", "holds ")) else text
        hint = f" {error.hint}" if error.hint else ""
        return JudgedFile(file, None, f"{text[:1].upper()}{text[1:]}{hint}")


_SCHEMA = b'"schema"'
_READERS = {"gpuadvise.doctor/1": "doctor_machine", "gpuadvise.measure/1": "measured_machine"}


def machine_of(host: str, content: bytes) -> FleetMachine:
    """Return the machine *host* that *content* of its file describes, judged; raises BadInput.

    The file is an answer of ``device``, ``doctor`` or ``measure copies``, or what ``nvidia-smi -q -x``
    or ``nvidia-smi --query-gpu`` wrote.
    """
    from gpuadvise.advisor.backends.user_files import saved_machine
    from gpuadvise.advisor.fleet import saved_answers

    document = _answer(content)
    reader = _READERS.get(str(document.get("schema"))) if document else None
    if document and reader:
        read: Callable[[str, dict[str, Any]], FleetMachine] = getattr(saved_answers, reader)
        return read(host, document)
    return _examined(host, saved_machine(content), None)


def _examined(host: str, machine: Machine, environment: Mapping[str, str] | None) -> FleetMachine:
    """Return the machine *host* with what ``doctor`` finds in it; *environment* as its checks take it."""
    from gpuadvise.cli.doctor.answer import has_readings
    from gpuadvise.cli.doctor.evaluate import checks

    kept = fleet_machine(host, machine)
    return replace(
        kept,
        findings=tuple(chain.from_iterable(map(_findings, checks(machine, environment)))),
        judged=any(gpu.is_read for gpu in kept.gpus),
        unread_gpus=tuple(
            [n for n, gpu in enumerate(machine.gpus) if not (gpu.identity.mig or has_readings(gpu))]
        ),
    )


def live_machines(copies: bool, hosts: Iterable[str]) -> Iterator[FleetMachine]:
    """Yield the machine that this runs on for each of *hosts*, as ``doctor`` judges it.

    *copies*: between host and GPUs are measured as well.
    """
    from socket import gethostname

    from gpuadvise.advisor.backends.live import live_machine

    for _ in hosts:
        environment = {k: v for k, v in os.environ.items() if k.startswith(("CUDA_", "NVIDIA_"))}
        machine = _examined(gethostname(), live_machine(telemetry=True), environment)
        yield _with_copies(machine) if copies else machine


def _with_copies(machine: FleetMachine) -> FleetMachine:
    """Return *machine* with the rates that ``measure copies --quick`` finds: of its slowest GPU."""
    slowest: dict[str, CopyRate] = {}
    problems = list(machine.problems)
    for gpu in machine.gpus:
        if gpu.mig is not None:
            continue
        try:
            copies = _copies_of(machine.host, gpu.index)
        except BadInput as error:
            problems.append(f"GPU {gpu.index}: copies were not measured. {error.message}")
            continue
        for copy in copies:
            known = slowest.setdefault(copy.direction, copy)
            if copy.rate < known.rate:
                slowest[copy.direction] = copy
    return replace(machine, problems=tuple(problems), copies=tuple(slowest.values()))


def _copies_of(host: str, gpu: int) -> tuple[CopyRate, ...]:
    """Return what copies of the *gpu* reach; raises BadInput where they cannot be measured."""
    import subprocess

    from gpuadvise.advisor.fleet.saved_answers import measured_machine

    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "gpuadvise", "measure", "copies", "--quick"),
            *("--format", "json", "--device", str(gpu)),
        ],
        capture_output=True,
        check=False,
    )
    try:
        if done.stdout:
            return measured_machine(host, json.loads(done.stdout)).copies
        said = json.loads(done.stderr.strip().rpartition(b"\n")[2])  # as for whoever asks for JSON
        raise BadInput(str(said["error"]["message"]))
    except (ValueError, KeyError, TypeError):
        raise BadInput(f"measure ended with exit code {done.returncode}.") from None


def machines_of(
    cluster: DaskCluster, patterns: Sequence[str], *, copies: bool
) -> Iterator[JudgedFile]:
    """Yield the machine of each host of *cluster* that one of *patterns* names; all for none."""
    for address, machine in cluster.on_each_host(partial(live_machines, copies)):
        if isinstance(machine, Lost):
            file = DumpFile(address, address, address)
            yield JudgedFile(file, None, machine.reason)
        elif not patterns or any(fnmatchcase(machine.host, pattern) for pattern in patterns):
            yield JudgedFile(DumpFile(address, f"{address}/{machine.host}", machine.host), machine)


def _answer(content: bytes) -> dict[str, Any] | None:
    """Return the saved answer in *content*, unless it is one that ``saved_machine`` reads."""
    from gpuadvise.advisor.backends.user_files import utf8

    if _SCHEMA not in content and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    try:
        document = json.loads(utf8(content))
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _findings(check: DoctorCheck) -> Iterator[FleetFinding]:
    for finding in check.findings:
        yield FleetFinding(
            rule=finding.rule.id,
            title=finding.rule.title,
            category=str(finding.category),
            priority=str(finding.priority),
            message=finding.message,
            action=finding.advice.action,
            gpu=check.gpu,
        )


def joined(
    answers: Iterable[JudgedFile], since: str = ""
) -> tuple[list[FleetMachine], list[Unread]]:
    """Return the machines of *answers*, what was measured joined to what was read, and what is unread.

    What is known to be taken before *since* is left out. Of several descriptions of one machine the latest counts, and keeps the first as *before*. Two files of one
    name that describe other GPUs are told apart by their folders; nothing is lost.
    """
    machines: dict[str, list[FleetMachine]] = {}  # each with its descriptions and measurements
    names: dict[str, list[str]] = {}  # those of the machines whose files have one name
    unread: list[Unread] = []
    for file, machine, reason in answers:
        if machine is None:
            unread.append(Unread(file.shown, reason))
            continue
        if machine.taken is not None and machine.taken < since:
            continue
        machine = _shared(machine)
        known = names.setdefault(machine.host, [])
        for name in known[-_MOST_NAMESAKES:]:
            if _is_joined(machines[name], machine):
                machines[name].append(machine)
                break
        else:
            name = machine.host if machine.host not in machines else _another_name(file, machines)
            machines[name] = [machine]
            known.append(name)
    return [_over_time(name, parts) for name, parts in machines.items()], unread


def _is_joined(parts: Sequence[FleetMachine], machine: FleetMachine) -> bool:
    """Return whether *machine* is the one of *parts*: measured there, or described at another time."""
    return all(
        _is_measured(part) != _is_measured(machine)
        or (same_machine(part, machine) if part.gpus else _is_later_measurement(part, machine))
        for part in parts
    )


def _is_measured(machine: FleetMachine) -> bool:
    return bool(machine.copies) and not machine.gpus


def _is_later_measurement(one: FleetMachine, other: FleetMachine) -> bool:
    return None not in (one.taken, other.taken) and one.taken != other.taken


def _over_time(name: str, parts: Sequence[FleetMachine]) -> FleetMachine:
    """Return the machine *name* as it was last, with what it was at first as *before*."""
    described = sorted((p for p in parts if not _is_measured(p)), key=lambda p: p.taken or "")
    measured = sorted((p for p in parts if _is_measured(p)), key=lambda p: p.taken or "")
    if not described:
        return replace(measured[-1], host=name, before=_first(measured))
    first, last = described[0], described[-1]
    if measured and not last.copies:
        last = replace(last, copies=measured[-1].copies, measured=measured[-1].measured)
    if len(described) > 1 or len(measured) > 1:
        earlier = _first(measured)
        if earlier is not None and not first.copies:
            first = replace(first, copies=earlier.copies)
        last = replace(last, before=replace(first, host=name))
    return replace(last, host=name)


def _first(parts: Sequence[FleetMachine]) -> FleetMachine | None:
    return parts[0] if len(parts) > 1 else None


def _another_name(file: DumpFile, taken: Container[str]) -> str:
    """Return what tells *file* from those of the same machine: more and more of its folders."""
    parts = file.shown.replace(os.sep, "/").replace("!", "/").split("/")
    for count in range(2, len(parts) + 1):
        if (name := "/".join(parts[-count:])) not in taken:
            return name
    return next(name for n in count_from(2) if (name := f"{file.host} ({n})") not in taken)


def _shared(machine: FleetMachine) -> FleetMachine:
    """Return *machine* with the texts that others have too: thousands say the same."""
    from sys import intern

    findings = tuple(
        replace(
            finding,
            rule=intern(finding.rule),
            title=intern(finding.title),
            message=intern(finding.message),
            action=intern(finding.action),
        )
        for finding in machine.findings
    )
    gpus = tuple(replace(gpu, model=intern(gpu.model)) for gpu in machine.gpus)
    return replace(machine, findings=findings, gpus=gpus)


def matching(files: Iterable[DumpFile], patterns: Sequence[str]) -> list[DumpFile]:
    """Return those of *files* whose machine one of *patterns* (``node0*``) names; all for none."""
    if not patterns:
        return list(files)
    return [file for file in files if any(fnmatchcase(file.host, pattern) for pattern in patterns)]
