"""The answer of ``diff`` about two recorded runs: timelines, or reports of a kernel profiler."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import and_list, capitalized, plural, quoted_path
from gpuadvise.advisor.quantity import show_bytes, show_seconds, show_share
from gpuadvise.advisor.resource_diff.runs import (
    NOTICEABLE,
    Run,
    RunDiff,
    RunStatus,
    run_changes,
    run_of_profiles,
    run_of_timelines,
    why_cut,
)
from gpuadvise.advisor.timelines.signatures import is_packed_timeline, is_timeline
from gpuadvise.cli import not_judged
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Cell, Column, Heading, Line, Table, Tone, table
from gpuadvise.cli.damage import unreadable
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.diff import step_words
from gpuadvise.cli.exits import exit_of
from gpuadvise.cli.not_judged import NotJudged
from gpuadvise.cli.render import github
from gpuadvise.cli.render.kernel_names import named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gpuadvise.advisor.binaries.model import Damage
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.resource_diff.runs import RunChange
    from gpuadvise.cli.kernels.request import KernelsRequest
    from gpuadvise.cli.render.svg import Picture

Record = dict[str, Any]

_SHOWN = 40
_MOST_ANNOTATED = 10  # GitHub shows no more of a kind per step
_SNIFFED = 1 << 16
_PAGE = re.compile(rb'^"?ID"?,.{0,4096}Kernel Name', re.MULTILINE)
_TONES = {
    RunStatus.WORSE: Tone.BAD,
    RunStatus.SLOWER: Tone.BAD,
    RunStatus.MORE_CALLS: Tone.BAD,
    RunStatus.FASTER: Tone.GOOD,
    RunStatus.BETTER: Tone.GOOD,
    RunStatus.UNCHANGED: Tone.FAINT,
}
_REGRESSIONS = {
    RunStatus.WORSE: "lost occupancy",
    RunStatus.SLOWER: "became slower",
    RunStatus.MORE_CALLS: "took longer in more calls",
}


def are_runs(old: str, new: str) -> bool:
    """Return whether both files are recorded runs; raises BadInput where only one is."""
    for path in (old, new):
        if is_packed_timeline(path):
            from gpuadvise.advisor.timelines.read import refuse_packed

            refuse_packed(path)
    kinds = [_kind(path) for path in (old, new)]
    if kinds[0] == kinds[1] or not {None, "timeline"} & {*kinds}:
        return kinds[0] is not None
    if None in kinds:
        run, build = (old, new) if kinds[0] else (new, old)
        raise BadInput(
            f"{quoted_path(run)} is a recorded run, {quoted_path(build)} is none.",
            hint="Give two timelines, two kernel reports, or two builds.",
        )
    raise BadInput(
        "A timeline and a kernel report cannot be compared.",
        hint="A kernel profiler runs each kernel alone, so its times are others.",
    )


def _kind(path: str) -> str | None:
    from gpuadvise.advisor.compression.packed_file import first_bytes
    from gpuadvise.advisor.profiles.signatures import is_ncu_report

    if is_timeline(path):
        return "timeline"
    if path == "-":
        stream = sys.stdin.buffer
        head = stream.peek(_SNIFFED) if hasattr(stream, "peek") else b""
        return "page" if _PAGE.search(head) else None
    try:
        if not os.path.isfile(path):  # of a pipe nothing is taken
            return None
        with open(path, "rb") as file:
            head = first_bytes(file, _SNIFFED, quoted_path(path))
    except (OSError, ValueError):
        return None  # whoever reads it says why it cannot be read
    if is_ncu_report(head):
        return "report"
    return "page" if _PAGE.search(head) else None


def answer(
    old: KernelsRequest,
    new: KernelsRequest,
    *,
    unchanged: bool,
    fail_on_regression: bool,
    slower: float | None = None,
) -> Answer:
    """Return what changed from the run of *old* to that of *new*; *slower* is the share that counts."""
    share = NOTICEABLE if slower is None else slower
    named = any(new.device)
    choice = new.choice() if named else None
    device = choice.device if choice else None
    mixed = _kind(old.files[0]) != _kind(new.files[0])
    runs = [_run(request, device) for request in (old, new)]
    if mixed:
        _refuse_short_names(*runs)
    changes = sorted(run_changes(*runs, slower=share), key=_moved_time, reverse=True)
    pattern = new.pattern
    kept = tuple(change for change in changes if pattern is None or pattern.search(_name(change)))
    diff = RunDiff(old=runs[0], new=runs[1], changes=kept, slower=share)
    cut = why_cut(*runs)
    records = [_record(change) for change in kept]
    listed = [record for record in records if unchanged or record["status"] != RunStatus.UNCHANGED]
    counts = Counter(record["status"] for record in records)
    summary = _summary(diff)
    limit = _SHOWN if new.limit is None else new.limit
    given = listed[: new.limit or None]  # data has all unless told
    shown_device = runs[1].device
    failing = fail_on_regression and diff.regression
    any_damaged = any(run.damaged for run in runs)
    notes = [*_notes(old.files[0], runs[0]), *_notes(new.files[0], runs[1])]
    if cut:
        notes.append(f"Not the whole of the same run? {capitalized(cut)}.")
    if fail_on_regression and not failing:
        _refuse_nothing(diff, filtered=pattern is not None)
    in_part = (fail_on_regression and tuple(notes)) or any_damaged
    if diff.step_change is not None:
        notes += step_words.notes(diff.step_change, old.files[0], new.files[0])
    return Answer(
        command="diff",
        device=device_block(shown_device) if shown_device else None,
        input={
            "old": old.files[0],
            "new": new.files[0],
            **new.device.asked(),
            "filter": pattern.pattern if pattern else None,
            "fail_on_regression": fail_on_regression,
            "slower": slower,
        },
        result={
            "summary": summary,
            "regression": diff.regression,
            "counts": {str(status): counts[status] for status in RunStatus},
            "kernels": given,
            "whole": {
                "old": named_fields(runs[0], _WHOLE),
                "new": named_fields(runs[1], _WHOLE),
            },
            "copies": _copy_records(diff),
            "not_judged": not_judged.records(_not_judged(old.files[0], new.files[0], diff, cut)),
        },
        rows=[_flat(record) for record in given],
        blocks=lambda: _blocks(summary, diff, listed[: limit or None], len(listed)),
        notes=notes,
        documents={"github": lambda: _annotations(summary, listed, diff)},
        failed=_failed(diff) if failing else (),
        exit=exit_of(failing, in_part=in_part),
        pictures=lambda: _pictures(*runs),
    )


def _pictures(old: Run, new: Run) -> list[Picture]:
    """Return the times of both runs that both have, before and after."""
    from gpuadvise.cli.render import svg

    pairs = [
        svg.Pair(name, before, after, show_seconds(before), show_seconds(after))
        for name in ("span", "step", "mean step", "kernels", "copies", "idle")
        for before, after in [(_PARTS[name](old), _PARTS[name](new))]
        if None not in (before, after) and (before or after)
    ]
    return [svg.before_and_after("Time before and after", pairs)] if pairs else []


def _not_judged(old: str, new: str, diff: RunDiff, cut: str | None) -> list[NotJudged]:
    """Return what of the files *old* and *new* was not compared."""
    sides = ((old, diff.old), (new, diff.new))
    left = [NotJudged(path=path, reason=note) for path, run in sides for note in run.notes]
    return [*left, NotJudged(path=new, reason=f"{capitalized(cut)}.")] if cut else left


def _refuse_nothing(diff: RunDiff, *, filtered: bool) -> None:
    """Raise BadInput where neither a kernel nor the whole is in both runs: a gate could not fail.

    Runs without a common kernel, other libraries' or copies alone, are compared by their spans.
    """
    if any(change.old and change.new for change in diff.changes):
        return
    if not filtered and diff.comparable and diff.old.whole_seconds and diff.new.whole_seconds:
        return
    where = "--filter leaves no kernel that" if filtered else "no kernel"
    both = "both runs have" if filtered else "is in both runs"
    raise BadInput(f"--fail-on-regression has nothing to compare: {where} {both}.")


def _refuse_short_names(old: Run, new: Run) -> None:
    """Raise BadInput where a report and a page do not name the same kernels."""
    names = [{kernel.name for kernel in run.kernels} for run in (old, new)]
    if names[0] != names[1]:
        raise BadInput(
            "A report and a CSV page of Nsight Compute do not name the same kernels: a page "
            "shortens names.",
            hint="Compare two reports or two pages: ncu --import FILE.ncu-rep --csv --page raw.",
        )


def _notes(path: str, run: Run) -> list[str]:
    """Return what the file *path* leaves out of the comparison."""
    notes = [f"{quoted_path(path)}: {note}" for note in run.notes]
    if untimed := sum(not kernel.timed for kernel in run.kernels):
        notes.append(
            f"{quoted_path(path)} has no time for every launch of {plural(untimed, 'kernel')}: "
            "gpu__time_duration.sum is missing."
        )
    return notes


def _failed(diff: RunDiff) -> list[str]:
    """Return why ``--fail-on-regression`` says no: kernels, steps, or else the whole run."""
    counts = Counter(change.status for change in diff.changes)
    said = [f"{plural(counts[s], 'kernel')} {why}" for s, why in _REGRESSIONS.items() if counts[s]]
    steps = step_words.failed(diff.step_change) if diff.step_change else None
    reasons = [and_list(said)] if said else []
    if steps or not said:
        reasons.append(steps or "The whole run became slower")
    return [f"{reason} (--fail-on-regression)." for reason in reasons]


def _run(request: KernelsRequest, device: Device | None) -> Run:
    path = request.files[0]
    if is_timeline(path):
        from gpuadvise.advisor.timelines.case import ranks_in
        from gpuadvise.cli.timeline.request import timelines_in

        cases = list(timelines_in((path,), device))
        run = run_of_timelines([case.timeline for case in cases])
        unlike = ranks_in(cases).why_not_one_run
        return replace(run, notes=(*run.notes, unlike)) if unlike else run
    from gpuadvise.advisor.profiles.ncu_file import read_profiles

    damage: list[Damage] = []
    profiles = [profile for profile, _ in read_profiles(path, damage)]
    if damage and not profiles:
        raise unreadable(quoted_path(path), damage)
    return run_of_profiles(profiles, device, [part.message for part in damage])


def _name(change: RunChange) -> str:
    kernel = change.new or change.old
    return kernel.name if kernel else ""


def _moved_time(change: RunChange) -> float:
    old, new = (side.seconds if side else 0.0 for side in (change.old, change.new))
    return abs(new - old)


def _record(change: RunChange) -> Record:
    name = _name(change)
    sides = {"old": change.old, "new": change.new}
    shown = {side: kernel and named_fields(kernel, _SIDE) for side, kernel in sides.items()}
    return {"name": name, "demangled": name, "arch": None, "status": str(change.status), **shown}


_SIDE = "calls seconds median_seconds registers occupancy grid block"
_WHOLE = "span_seconds busy_seconds kernel_seconds idle_seconds copy_seconds step_seconds step_mean_seconds step_count"


def _copy_records(diff: RunDiff) -> list[Record]:
    kinds = ("direction", "source", "target")
    old, new = (
        {
            attrgetter(*kinds)(copies): named_fields(copies, "calls bytes seconds")
            for copies in run.copies
        }
        for run in (diff.old, diff.new)
    )
    return [
        {**dict(zip(kinds, kind, strict=True)), "old": old.get(kind), "new": new.get(kind)}
        for kind in dict.fromkeys([*old, *new])
    ]


def _flat(record: Record) -> Record:
    """Return *record* with a column for each number of either side, as CSV needs it."""
    row = {key: record[key] for key in ("name", "status")}
    names = ("calls", "seconds", "median_seconds", "registers", "occupancy")
    for name in names:
        row |= {f"{side}_{name}": (record[side] or {}).get(name) for side in ("old", "new")}
    return row


def _summary(diff: RunDiff) -> str:
    old, new = diff.old.whole_seconds, diff.new.whole_seconds
    what = "The kernels" if diff.new.span_seconds is None else "The run"
    factor = _factor(old, new) if diff.comparable else ""
    lead = f"{what} took {show_seconds(old)} and now {show_seconds(new)}{factor}"
    if diff.step_change is not None:
        lead += f"; {step_words.times(diff.step_change, _factor)}"
    if not diff.in_both:
        lead += "; no kernel is in both"
    counts = Counter(change.status for change in diff.changes)
    parts = [f"{counts[status]:,} {status}" for status in RunStatus if counts[status]]
    total = plural(len(diff.changes), "kernel")
    return f"{lead}; of {total} {and_list(parts)}." if parts else f"{lead}."


def _factor(old: float, new: float) -> str:
    if not old or not new or old == new:
        return ""
    return f", {old / new:.2f}x as fast" if new < old else f", {new / old:.2f}x as long"


def _blocks(summary: str, diff: RunDiff, shown: Sequence[Record], count: int) -> list[Block]:
    page: list[Block] = [Line(summary, _tone(diff))]
    if diff.old.span_seconds is not None and diff.new.span_seconds is not None:
        page.append(_whole_table(diff))
    if shown:
        title = f"Kernels{_of_all_gpus(diff)}, the largest change first"
        page += [Heading(title), _kernel_table(shown)]
    if count > len(shown):
        page.append(Line(f"and {count - len(shown):,} more (--limit 0 shows all)"))
    if copies := _copy_records(diff):
        page += [Heading(f"Copies{_of_all_gpus(diff)}"), _copy_table(copies)]
    return page


def _tone(diff: RunDiff) -> Tone:
    if not diff.regression:
        return Tone.STRONG
    shorter = diff.comparable and diff.new.whole_seconds < diff.old.whole_seconds
    return Tone.POOR if shorter else Tone.BAD


def _of_all_gpus(diff: RunDiff) -> str:
    """Return of how many GPUs the sums are; nothing for one in each run."""
    old, new = diff.old.gpus, diff.new.gpus
    if old == new:
        return f" of all {new} GPUs" if new > 1 else ""
    return f" of all GPUs ({old} → {new})"


def _whole_table(diff: RunDiff) -> Table:
    several = max(diff.old.gpus, diff.new.gpus) > 1
    parts = [
        (title, seconds(diff.old) or 0.0, seconds(diff.new) or 0.0)
        for title, seconds in _PARTS.items()
        if diff.step_change or title not in _OF_STEPS
    ]
    return table(
        parts,
        ("longest GPU" if several else "time", lambda part: part[0]),
        (">old", lambda part: show_seconds(part[1])),
        (">new", lambda part: show_seconds(part[2])),
        (">change", lambda part: _change(part[1], part[2])),
    )


_PARTS = {
    "step": attrgetter("step_seconds"),
    "mean step": attrgetter("step_mean_seconds"),
    "span": attrgetter("span_seconds"),
    "kernels": attrgetter("kernel_seconds"),
    "copies": attrgetter("copy_seconds"),
    "idle": attrgetter("idle_seconds"),
}
_OF_STEPS = ("step", "mean step")


def _change(old: float, new: float) -> str:
    if not old:
        return "" if not new else "new"
    share = new / old - 1
    return f"{'+' if share >= 0 else '-'}{show_share(abs(share))}"


def _kernel_table(records: Sequence[Record]) -> Table:
    def change(record: Record) -> str:
        old, new = record["old"], record["new"]
        return _change(old["seconds"], new["seconds"]) if old and new else ""

    whole = table(
        records,
        ("status", lambda one: Cell(one["status"], _TONES.get(one["status"], Tone.PLAIN))),
        (">total time", lambda one: _moved(one, "seconds", show_seconds)),
        (">change", change),
        (">calls", lambda one: _moved(one, "calls", "{:,}".format)),
        (">median", lambda one: _moved(one, "median_seconds", show_seconds)),
        (">occupancy", lambda one: _moved(one, "occupancy", show_share)),
        (">regs", lambda one: _moved(one, "registers", "{:,}".format)),
        (Column("kernel", below=True), lambda _: ""),
    )
    return named(whole, [record["name"] for record in records])


def _moved(record: Mapping[str, Any], key: str, show: Callable[[Any], str]) -> str:
    """Return how a number went from old to new, or what both say."""
    values = [(record[side] or {}).get(key) for side in ("old", "new")]
    old, new = ("" if value is None else show(value) for value in values)
    if old == new or not new:
        return old or "-"
    return f"{old} → {new}" if old else new


def _copy_table(records: Sequence[Record]) -> Table:
    return table(
        records,
        ("direction", lambda one: one["direction"]),
        ("memory", lambda one: f"{one['source']} to {one['target']}"),
        (">copies", lambda one: _moved(one, "calls", "{:,}".format)),
        (">bytes", lambda one: _moved(one, "bytes", show_bytes)),
        (">total time", lambda one: _moved(one, "seconds", show_seconds)),
    )


_ANNOTATED = {
    RunStatus.WORSE: "Occupancy dropped",
    RunStatus.SLOWER: "Slower",
    RunStatus.MORE_CALLS: "More calls",
}


def _annotations(summary: str, records: Sequence[Record], diff: RunDiff) -> str:
    """Return *summary* as a notice for GitHub, slower steps or kernels and lost occupancy as errors."""
    lines = [github.annotation("notice", "gpuadvise diff", summary)]
    if diff.step_change is not None and (slower := step_words.failed(diff.step_change)):
        lines.append(github.annotation("error", "Slower steps", slower))
    bad = [record for record in records if record["status"] in _REGRESSIONS]
    for record in bad[:_MOST_ANNOTATED]:
        text = (
            f"{record['name']}: time {_moved(record, 'seconds', show_seconds)}, "
            f"occupancy {_moved(record, 'occupancy', show_share)}"
        )
        lines.append(github.annotation("error", _ANNOTATED[record["status"]], text))
    return "".join(lines)
