"""The answer of ``diff``: two builds, kernel by kernel."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.kernel_occupancy import Residencies
from gpuadvise.advisor.binaries.names import demangle
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.resource_diff.change import KernelChange, Status, changes
from gpuadvise.advisor.resource_diff.pairs import stable_member
from gpuadvise.cli import not_judged
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.damage import damage_notes
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.diff import text
from gpuadvise.cli.diff.gate import EACH_TARGET, Gate
from gpuadvise.cli.diff.gather import BuildKernels, gathered
from gpuadvise.cli.diff.text import Record, called, moved, number, spills, stack, tier
from gpuadvise.cli.exits import exit_of
from gpuadvise.cli.render import github

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.cli.kernels.request import KernelsRequest
    from gpuadvise.cli.render.svg import Picture


SIDES = ("old", "new")


def record(change: KernelChange) -> dict[str, Any]:
    """Return *change* as JSON values; bytes per thread or block, occupancy 0 to 1."""
    kernel = change.kernel
    return {
        "name": kernel.name,
        "demangled": demangle(kernel.name),
        **named_fields(change, "arch=kernel.capability.target status"),
        "old": change.old and named_fields(change.old, _SIDE),
        "new": change.new and named_fields(change.new, _SIDE),
        "old_name": change.old.kernel.name if change.renamed and change.old else None,
        "member": kernel.place.member,
    }


_SIDE = (
    "registers=kernel.registers static_smem=kernel.static_smem stack=kernel.stack "
    "frame=kernel.frame spill_stores=kernel.spill_stores spill_loads=kernel.spill_loads "
    "spills_are=kernel.spills_are barriers=kernel.barriers max_threads=kernel.max_threads "
    "code_bytes=kernel.code_bytes block_threads=residency.block_threads "
    "block_from=residency.block_from blocks_per_sm=residency.occupancy.blocks_per_sm "
    "occupancy=tier limiters=residency.occupancy.limiters"
)


def flat(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return *records* with a column for each number of either side, as CSV needs it."""
    rows = []
    for record in records:
        names = dict.fromkeys(key for side in SIDES for key in record[side] or ())
        sides = {f"{s}_{name}": (record[s] or {}).get(name) for name in names for s in SIDES}
        # Columns that came later stand last: scripts count columns.
        last = {key: record[key] for key in ("old_name", "member")}
        first = {key: v for key, v in record.items() if key not in (*SIDES, *last)}
        rows.append(first | sides | last)
    return rows


def counted(records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many kernels have each status."""
    counts = Counter(change["status"] for change in records)
    return {str(status): counts[status] for status in Status}


def in_order(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return *records*, worst first, then by name."""
    order = {str(status): place for place, status in enumerate(Status)}
    return sorted(records, key=lambda r: (order[r["status"]], r["demangled"] or r["name"]))


# GitHub shows ten annotations of a kind per step and drops the rest.
_MOST = 10
_LEVELS = {
    Status.WORSE: ("error", "Occupancy dropped"),
    Status.SPILLS_MORE: ("warning", "More spills"),
    Status.MORE_STACK: ("warning", "More stack"),
    Status.TRADE_OFF: ("warning", "Occupancy against spills"),
}


def render(summary: str, records: Sequence[Record]) -> str:
    """Return *summary* as a notice and what may be worse as annotations, names whole."""
    lines = [github.annotation("notice", "gpuadvise diff", summary)]
    for status, (level, title) in _LEVELS.items():
        alike = [record for record in records if record["status"] == status]
        lines += [github.annotation(level, title, _message(record)) for record in alike[:_MOST]]
    return "".join(lines)


def _message(record: Record) -> str:
    facts = (
        f"occupancy {moved(record, tier)}",
        f"registers {moved(record, lambda side: number(side['registers']))}",
        f"shared memory {moved(record, lambda side: number(side['static_smem']))}",
        f"spills {moved(record, spills)}",
        f"stack {moved(record, stack)}",
    )
    where = ", ".join(filter(None, (record["arch"] or "?", record["member"])))
    return f"{called(record)} ({where}): {', '.join(facts)}"


# Rows a person reads; a pull request takes no longer table either.
_SHOWN = 40


def answer(old: KernelsRequest, new: KernelsRequest, *, unchanged: bool, gate: Gate) -> Answer:
    """Return what changed from the file of *old* to the file of *new*."""
    choice = new.choice()
    gpu = choice.device.capability if choice else None
    builds = gathered(old, gpu), gathered(new, gpu)
    residencies = Residencies(
        limits=choice.device.limits if choice else None,
        block=new.block,
        dynamic_smem=new.dynamic_smem,
    )
    changed = list(
        changes(builds[0].kernels, builds[1].kernels, residencies, by_target=gpu is None)
    )
    failed = gate.failures(changed)
    if not failed:
        gate.refuse_nothing(changed, builds, _where(choice))
    records = in_order(map(record, changed))
    counts = counted(records)
    members = one_sided(*builds)
    damage = (*builds[0].damage, *builds[1].damage)
    summary = text.summary(records, counts, _where(choice), members)
    listed = [change for change in records if unchanged or change["status"] != Status.UNCHANGED]
    limit = _SHOWN if new.limit is None else new.limit
    given = listed[: new.limit or None]  # data has all unless told
    return Answer(
        command="diff",
        device=device_block(choice.device) if choice else None,
        input=_echo(old, new, gate),
        result={
            "summary": summary,
            "regression": counts[Status.WORSE] > 0,
            "counts": counts,
            "members": members,
            "kernels": given,
            "not_judged": not_judged.records(not_judged.of_damage(damage)),
        },
        rows=flat(given),
        blocks=lambda: text.blocks(summary, records, members, limit, unchanged),
        notes=(*(choice.notes if choice else ()), *_notes(*builds, by_target=gpu is None)),
        documents={"github": lambda: render(summary, records)},
        failed=failed,
        exit=exit_of(failed, in_part=damage),
        pictures=lambda: _pictures(records),
    )


_MOST_BARS = 12  # kernels of a picture, worst first


def _pictures(records: Sequence[Record]) -> list[Picture]:
    """Return the occupancy of kernels that changed in the order of *records*, before and after."""
    changed = [
        record
        for record in records
        if all((record[side] or {}).get("occupancy") is not None for side in SIDES)
        and record["old"]["occupancy"] != record["new"]["occupancy"]
    ]
    if not changed:
        return []
    from gpuadvise.advisor.short_names import shortened
    from gpuadvise.cli.render import svg

    names = shortened([called(record) for record in changed[:_MOST_BARS]])
    pairs = [
        svg.Pair(
            name,
            record["old"]["occupancy"],
            record["new"]["occupancy"],
            tier(record["old"]),
            tier(record["new"]),
        )
        for record, name in zip(changed, names, strict=False)
    ]
    more = f": {len(pairs)} of {len(changed):,} kernels" if len(changed) > len(pairs) else ""
    return [svg.before_and_after(f"Occupancy before and after{more}", pairs)]


def _where(choice: Choice | None) -> str:
    return f"on {choice.device.name}" if choice else EACH_TARGET


def _echo(old: KernelsRequest, new: KernelsRequest, gate: Gate) -> dict[str, Any]:
    return {
        "old": old.files[0],
        "new": new.files[0],
        **new.device.asked(),
        "arch": [target.target for target in new.targets],
        "filter": new.pattern.pattern if new.pattern else None,
        "block": new.block,
        "dynamic_smem": new.dynamic_smem,
        "fail_on_regression": gate.tier,
        "fail_on_spills": gate.spills,
    }


def _notes(old: BuildKernels, new: BuildKernels, *, by_target: bool) -> list[str]:
    notes = [*damage_notes((*old.damage, *new.damage))]
    if by_target and old.targets and new.targets and not old.targets & new.targets:
        notes.append(
            f"The builds have no target in common ({and_list(sorted(old.targets))}; "
            f"{and_list(sorted(new.targets))}): --gpu NAME compares what that GPU would load."
        )
    return notes


def one_sided(old: BuildKernels, new: BuildKernels) -> dict[str, list[str]]:
    """Return the members of a wheel or archive that only one of the builds has, by build."""
    members = [
        {stable_member(k): k.place.member for k in build.kernels if k.place.member}
        for build in (old, new)
    ]
    if not all(members):  # a bare library beside a wheel is no other member
        return {side: [] for side in SIDES}
    return {
        side: sorted(path for key, path in mine.items() if key not in theirs)
        for side, mine, theirs in zip(SIDES, members, reversed(members), strict=True)
    }


def of_file(request: KernelsRequest, path: str) -> KernelsRequest:
    """Return the same question about one file."""
    return replace(request, files=(path,))
