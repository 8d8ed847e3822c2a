"""The answer of ``diff``: two builds, kernel by kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.kernel_occupancy import Residencies
from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.resource_diff.change import Status, changes
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.damage import damage_notes
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.diff import github, words
from gpuadvise.cli.diff.gather import Build, gathered
from gpuadvise.cli.diff.record import counted, flat, in_order, record
from gpuadvise.cli.exits import Exit

if TYPE_CHECKING:
    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.resource_diff.change import Change
    from gpuadvise.cli.kernels.asked import Asked

# Rows a person reads; a pull request takes no longer table either.
_SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What makes the exit code say no."""

    tier: bool  # any kernel in a worse tier
    spills: bool  # any kernel that spills more


def answer(old: Asked, new: Asked, *, unchanged: bool, gate: Gate) -> Answer:
    """Return what changed from the file of *old* to the file of *new*."""
    choice = new.choice()
    gpu = choice.device.capability if choice else None
    builds = gathered(old, gpu), gathered(new, gpu)
    residencies = Residencies(
        limits=choice.device.limits if choice else None,
        block=new.block,
        dynamic_smem=new.dynamic_smem,
    )
    found = list(changes(builds[0].kernels, builds[1].kernels, residencies, by_target=gpu is None))
    records = in_order(map(record, found))
    counts = counted(records)
    summary = words.summary(counts, _where(choice))
    listed = [one for one in records if unchanged or one["status"] != Status.UNCHANGED]
    limit = _SHOWN if new.limit is None else new.limit
    return Answer(
        command="diff",
        device=device_block(choice.device) if choice else None,
        input=_echo(old, new, gate),
        result={
            "summary": summary,
            "regression": counts[Status.WORSE] > 0,
            "counts": counts,
            "kernels": listed,
        },
        rows=flat(listed),
        blocks=lambda: words.blocks(summary, records, limit, unchanged),
        notes=(*(choice.notes if choice else ()), *_notes(*builds, by_target=gpu is None)),
        documents={"github": lambda: github.render(summary, records)},
        exit=_exit(found, builds, gate),
    )


def _where(choice: Choice | None) -> str:
    return f"on {choice.device.name}" if choice else "on the targets they were built for"


def _echo(old: Asked, new: Asked, gate: Gate) -> dict[str, Any]:
    return {
        "old": old.files[0],
        "new": new.files[0],
        **new.device,
        "arch": [target.target for target in new.targets],
        "filter": new.pattern.pattern if new.pattern else None,
        "block": new.block,
        "dynamic_smem": new.dynamic_smem,
        "fail_on_regression": gate.tier,
        "fail_on_spills": gate.spills,
    }


def _notes(old: Build, new: Build, *, by_target: bool) -> list[str]:
    notes = [*damage_notes((*old.damage, *new.damage))]
    if by_target and old.targets and new.targets and not old.targets & new.targets:
        notes.append(
            f"The builds have no target in common ({and_list(sorted(old.targets))}; "
            f"{and_list(sorted(new.targets))}): --gpu NAME compares what that GPU would load."
        )
    return notes


def _exit(found: list[Change], builds: tuple[Build, Build], gate: Gate) -> Exit:
    worse = gate.tier and any(one.status is Status.WORSE for one in found)
    spills = gate.spills and any(one.spills_more for one in found)
    if worse or spills:
        return Exit.THRESHOLD
    return Exit.UNAVAILABLE if any(build.damage for build in builds) else Exit.RAN


def of_file(asked: Asked, path: str) -> Asked:
    """Return the same question about one file."""
    return replace(asked, files=(path,))
