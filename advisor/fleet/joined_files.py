"""What several files say of one machine, joined: another part of it, or the same at another time."""

from __future__ import annotations

import os
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import reduce
from itertools import count as count_from
from sys import intern
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.backends.machine_dumps import DumpFile, Unread
from gpuadvise.advisor.fleet.changes import same_machine
from gpuadvise.advisor.fleet.machine import FleetFinding, FleetMachine, MachinePart
from gpuadvise.advisor.fleet.nccl_log import SOCKETS, joined_use

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

_MOST_NAMESAKES = 100  # machines of one name among which a file's is sought


class JudgedFile(NamedTuple):
    """What one file says of a machine, or of several, or why it says nothing."""

    file: DumpFile
    machines: tuple[FleetMachine, ...]
    reason: str = ""


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
