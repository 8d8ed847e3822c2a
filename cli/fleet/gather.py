"""The machines of a fleet: each file read, judged as ``doctor`` does, and reduced to what is kept."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.machine_dumps import DumpFile, Unread, contents
from gpuadvise.advisor.engines.engine import Lost, TaskEngine
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.fleet.joined_files import JudgedFile
from gpuadvise.advisor.fleet.machine import CopyRate, FleetFinding, FleetMachine, fleet_machine
from gpuadvise.advisor.fleet.timestamps import taken_at
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import capitalized

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gpuadvise.advisor.engines.cluster import DaskCluster
    from gpuadvise.advisor.gpu import Machine
    from gpuadvise.rules.machine_checks import DoctorCheck

# Files that are worth a process each: starting it takes as long as judging so many.
WORTH_PROCESS = 100
# What judging needs: read before the processes fork, so that they share its memory.
JUDGING = ("gpuadvise.rules.machine_checks", "gpuadvise.rules.guide")
_BATCH = 400  # files whose answers go together: a process that starts takes as long as 200


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
    fields = "rule=rule.id title=rule.title category priority message action=advice.action"
    return (FleetFinding(**named_fields(each, fields), gpu=check.gpu) for each in check.findings)
