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
from gpuadvise.advisor.fleet.machine import (
    CopyRate,
    FleetFinding,
    FleetMachine,
    MachinePart,
    fleet_machine,
)
from gpuadvise.advisor.fleet.timestamps import taken_at
from gpuadvise.advisor.prose import capitalized

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from gpuadvise.advisor.engines.cluster import DaskCluster
    from gpuadvise.advisor.engines.engine import TaskEngine
    from gpuadvise.advisor.gpu import Machine
    from gpuadvise.rules.machine_checks import DoctorCheck

# Files that are worth a process each: starting it takes as long as judging so many.
WORTH_PROCESS = 100
# What judging needs: read before the processes fork, so that they share its memory.
JUDGING = ("gpuadvise.rules.machine_checks", "gpuadvise.rules.guide")
_MOST_NAMESAKES = 100  # machines of one name among which a file's is sought
_BATCH = 400  # files whose answers go together: a process that starts takes as long as 200


class JudgedFile(NamedTuple):
    """What one file says of a machine, or of several, or why it says nothing."""

    file: DumpFile
    machines: tuple[FleetMachine, ...]
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
        yield JudgedFile(file, (), each.reason) if isinstance(each, Lost) else each


def _judged(file: DumpFile, content: bytes | Unread) -> JudgedFile:
    if isinstance(content, Unread):
        return JudgedFile(file, (), content.reason)
    try:
        taken = taken_at(content, file.shown)
        machines = machines_in(file.host, content)
        return JudgedFile(file, tuple([replace(machine, taken=taken) for machine in machines]))
    except BadInput as error:
        text = error.message
        text = f"It {text}" if text.startswith(("is ", "holds ", "has ")) else text
        hint = f" {error.hint}" if error.hint else ""
        return JudgedFile(file, (), f"{capitalized(text)}{hint}")


_SCHEMA = b'"schema"'
_READERS = {"gpuadvise.doctor/1": "doctor_machine", "gpuadvise.measure/1": "measured_machine"}


def machines_in(host: str, content: bytes) -> tuple[FleetMachine, ...]:
    """Return what *content* of a file of *host* says of machines, judged; raises BadInput.

    The file is an answer of ``device``, ``doctor`` or ``measure copies``, what ``nvidia-smi -q -x``,
    ``--query-gpu`` or ``dmon``, ``ibstat`` or ``dcgmi diag`` wrote, or a log of NCCL, which names its machines.
    """
    from gpuadvise.advisor.backends.user_files import saved_machine, utf8
    from gpuadvise.advisor.fleet import saved_answers
    from gpuadvise.advisor.fleet.dcgm_diagnostic import diagnosed_machine, is_diagnostic
    from gpuadvise.advisor.fleet.dmon import is_dmon, sampled_machine
    from gpuadvise.advisor.fleet.ibstat import fabric_machine, is_ibstat
    from gpuadvise.advisor.fleet.nccl_log import is_nccl_log, nccl_machines

    document = _answer(content)
    reader = _READERS.get(str(document.get("schema"))) if document else None
    if document and reader:
        read: Callable[[str, dict[str, Any]], FleetMachine] = getattr(saved_answers, reader)
        return (read(host, document),)
    if not content.lstrip().startswith((b"<", b"{")) or b'"results"' in content:
        try:
            text = utf8(content)
        except ValueError:
            text = content
        if is_nccl_log(text):
            return nccl_machines(text)
        for is_one, machine_in in (
            (is_diagnostic, diagnosed_machine), (is_dmon, sampled_machine), (is_ibstat, fabric_machine),
        ):  # fmt: skip
            if is_one(text):
                return (machine_in(host, text),)
    return (_examined(host, saved_machine(content), None),)


def _examined(host: str, machine: Machine, environment: Mapping[str, str] | None) -> FleetMachine:
    """Return the machine *host* with what ``doctor`` finds in it; *environment* as its checks take it."""
    from gpuadvise.cli.doctor.answer import has_readings
    from gpuadvise.rules.machine_checks import checks

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
            yield JudgedFile(file, (), machine.reason)
        elif not patterns or any(fnmatchcase(machine.host, pattern) for pattern in patterns):
            file = DumpFile(address, f"{address}/{machine.host}", machine.host)
            yield JudgedFile(file, (machine,))


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
    for file, found, reason in answers:
        if not found:
            unread.append(Unread(file.shown, reason))
        for machine in map(_shared, found):
            if machine.taken is not None and machine.taken < since:
                continue
            known = names.setdefault(machine.host, [])
            for name in known[-_MOST_NAMESAKES:]:
                if _is_joined(machines[name], machine):
                    machines[name].append(machine)
                    break
            else:
                name = machine.host
                name = name if name not in machines else _another_name(file, machines)
                machines[name] = [machine]
                known.append(name)
    return [_over_time(name, parts) for name, parts in machines.items()], unread


def _is_joined(parts: Sequence[FleetMachine], machine: FleetMachine) -> bool:
    """Return whether *machine* is the one of *parts*: another part of it, or the same at another time."""
    if machine.part is MachinePart.NCCL:  # each process may write a log
        return True
    alike = [part for part in parts if part.part is machine.part]
    if machine.part is MachinePart.DESCRIPTION:
        return all(same_machine(part, machine) for part in alike)
    return all(None not in (p.taken, machine.taken) and p.taken != machine.taken for p in alike)


def _over_time(name: str, parts: Sequence[FleetMachine]) -> FleetMachine:
    """Return the machine *name* as it was last, with what it was at first as *before*."""
    only = parts[0]
    if len(parts) == 1 and only.part in (MachinePart.DESCRIPTION, MachinePart.COPIES):
        return only if only.host == name else replace(only, host=name)
    of: dict[MachinePart, list[FleetMachine]] = {part: [] for part in MachinePart}
    for part in sorted(parts, key=lambda part: part.taken or ""):
        of[part.part].append(part)
    described, measured = of[MachinePart.DESCRIPTION], of[MachinePart.COPIES]
    kinds = (described, measured, of[MachinePart.SAMPLES], of[MachinePart.DIAGNOSIS])
    last = next((kind[-1] for kind in kinds if kind), parts[-1])
    if measured and not last.copies:
        last = replace(last, copies=measured[-1].copies, measured=measured[-1].measured)
    last = _with_parts(last, of)
    if len(described) > 1 or len(measured) > 1:
        first = described[0] if described else measured[0]
        if measured and not first.copies:
            first = replace(first, copies=measured[0].copies)
        last = replace(last, before=replace(first, host=name))
    return replace(last, host=name)


def _with_parts(
    machine: FleetMachine, of: Mapping[MachinePart, Sequence[FleetMachine]]
) -> FleetMachine:
    """Return *machine* with the last of what other files say of its network, and of its tests."""
    from functools import reduce

    from gpuadvise.advisor.fleet.nccl_log import joined_use

    fabrics = [part.fabric for part in of[MachinePart.FABRIC]]
    uses = [part.nccl for part in of[MachinePart.NCCL] if part.nccl]
    said = [of[kind][-1] for kind in (MachinePart.SAMPLES, MachinePart.DIAGNOSIS) if of[kind]]
    gpus = machine.gpus or next((part.gpus for part in said if part.gpus), ())
    places = {gpu.index: at for at, gpu in enumerate(gpus) if gpu.mig is None}
    findings = [*(() if machine.part in _OTHERS else machine.findings)]
    for part in said:
        findings += [replace(each, gpu=places.get(each.gpu)) for each in part.findings]  # type: ignore[arg-type]
    joined_machine = replace(
        machine,
        gpus=gpus,
        fabric=fabrics[-1] if fabrics else None,
        nccl=reduce(joined_use, uses) if uses else None,
        judged=machine.judged or any(part.judged for part in said),
    )
    findings += _fallen_back(joined_machine)
    return replace(joined_machine, findings=tuple(findings))


_OTHERS = (MachinePart.SAMPLES, MachinePart.DIAGNOSIS)


def _fallen_back(machine: FleetMachine) -> Iterator[FleetFinding]:
    """Yield a finding where NCCL used sockets on a machine whose fast network is up."""
    from gpuadvise.advisor.fleet.nccl_log import SOCKETS

    fabric, nccl = machine.fabric, machine.nccl
    if fabric and nccl and SOCKETS in nccl.networks and "InfiniBand" in fabric.links:
        yield FleetFinding(
            rule="nccl-on-sockets",
            title="NCCL uses sockets though InfiniBand is up",
            category="performance",
            priority="high",
            message=f"NCCL used sockets, and {fabric.links} is up.",
            action="Look for NET/IB in the log of NCCL: NCCL_IB_DISABLE, NCCL_IB_HCA, a container without /dev/infiniband.",
        )


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
