"""The ledger: a row for each kernel, at most three things to do, and what was not recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.facts.limit_words import limit_sentence
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.advisor.short_names import shortened
from gpuadvise.advisor.timelines.communication import communicates
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Cell, Line, Table, header
from gpuadvise.rules.ledger import UNPROFILED, BoundClass, ledger
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpuadvise.advisor.timelines.case import TimelineCase
    from gpuadvise.advisor.timelines.timeline import TracedKernel
    from gpuadvise.cli.advise.answer import AdviceReports
    from gpuadvise.cli.exits import Exit
    from gpuadvise.rules.ledger import LedgerEntry, LedgerFigures, LedgerQuestion
    from gpuadvise.rules.report import Finding, Report

NAME = "ledger"
# As many as a reader takes in; the rest is counted.
_ROWS = 10
_ACTIONS = 3
_LONGEST_NAME = 40
_WORDS = {True: "yes", False: "no", None: None}


def ledger_answer(
    advised: AdviceReports,
    figures: Sequence[LedgerFigures],
    shares: Sequence[float | None],
    runs: Sequence[TimelineCase],
    *,
    inputs: Mapping[str, Any],
    notes: Sequence[str],
    exit_code: Exit,
) -> Answer:
    """Return the ledger of what was *advised*; *figures* and *shares* are those of its reports.

    *runs* are recorded runs, which know how long the kernels took that no profile describes.
    """
    traced = _traced(runs)
    rows = [
        _row(entry, traced)
        for entry in ledger(zip(advised.reports, figures, shares, strict=True))
        if entry.report.kernel is not None or not runs
    ]
    judged = {row["name"] for row in rows}
    rows += [
        _traced_row(kernel, case)
        for case in runs
        for kernel in case.timeline.kernels
        if kernel.shape.name not in judged
    ]
    rows.sort(key=lambda row: -(row["seconds"] or 0.0))
    most = advised.most(None)
    kept = rows[:most]
    seconds = sum(row["seconds"] or 0.0 for row in rows)
    told = sum(row["seconds"] or 0.0 for row in rows if row["bound"])
    result: dict[str, Any] = {
        "kernels": kept,
        "actions": [_action(finding) for finding in _first(advised.findings)],
        "covered": told / seconds if seconds else None,
        "more": len(rows) - len(kept),
        "findings": sum(not finding.rule.process for finding in advised.findings),
    }
    verdicts = [] if not runs else list(advised.run_verdicts())

    def blocks() -> tuple[Block, ...]:
        return tuple(_blocks(result, verdicts, advised.most(_ROWS)))

    def document() -> str:
        from gpuadvise.cli.render import markdown

        return markdown.render(blocks())

    return Answer(
        command="advise",
        device=advised.device,
        input=inputs,
        result=result,
        rows=kept,
        blocks=blocks,
        notes=notes,
        documents={NAME: document},
        exit=exit_code,
    )


def _traced(runs: Sequence[TimelineCase]) -> Mapping[str, tuple[int, float, float | None]]:
    """Return launches, seconds and share of the span of each kernel of *runs*, over all its shapes."""
    sums: dict[str, tuple[int, int]] = {}
    for case in runs:
        for kernel in case.timeline.kernels:
            calls, total = sums.get(kernel.shape.name, (0, 0))
            sums[kernel.shape.name] = calls + kernel.calls, total + kernel.total_ns
    span = sum(case.timeline.span_ns for case in runs)
    return {
        name: (calls, total / 1e9, total / span if span else None)
        for name, (calls, total) in sums.items()
    }


def _row(
    entry: LedgerEntry, traced: Mapping[str, tuple[int, float, float | None]]
) -> dict[str, Any]:
    report: Report = entry.report
    launches, seconds, share = report.launches, report.total_seconds, entry.share
    notes = list(entry.notes)
    if report.kernel is not None and report.kernel in traced and "profile" not in report.known:
        launches, seconds, share = traced[report.kernel]
        notes = [note for note in notes if not note.startswith("no time")]
    return {
        "name": report.kernel,
        "launches": launches,
        "seconds": seconds,
        "share": share,
        **named_fields(entry.figures, "sm memory occupancy"),
        "bound": None if entry.bound is None else str(entry.bound),
        "limit": limit_sentence(report.limiter),
        "faster": _question(entry.faster),
        "fusion": _question(entry.fusion),
        "notes": notes,
    }


def _traced_row(kernel: TracedKernel, case: TimelineCase) -> dict[str, Any]:
    """Return the row of a kernel of a recorded run that no rule looked at by itself."""
    allowed = kernel.occupancy.occupancy if kernel.occupancy else None
    sends = communicates(kernel.shape.name)
    notes = [UNPROFILED]
    if allowed is not None:
        notes.append(f"occupancy {show_share(allowed)} is what the launch allows, not measured")
    nothing = {"answer": None, "evidence": UNPROFILED}
    return {
        **named_fields(kernel, "name=shape.name launches=calls seconds"),
        "share": kernel.total_ns / case.timeline.span_ns if case.timeline.span_ns else None,
        **named_fields(None, "sm memory"),
        "occupancy": allowed,
        "bound": str(BoundClass.COMMUNICATION) if sends else None,
        "limit": UNPROFILED,
        "faster": nothing,
        "fusion": nothing,
        "notes": notes,
    }


def _question(question: LedgerQuestion) -> dict[str, str | None]:
    return {"answer": _WORDS[question.answer], "evidence": question.evidence}


def _first(findings: Sequence[Finding]) -> list[Finding]:
    """Return the at most three to do first, each rule once: loud ones, or the first of the others."""
    speed = [finding for finding in findings if not finding.rule.process]
    loud = [finding for finding in speed if finding.priority is not Priority.LOW]
    once = {finding.rule.id: finding for finding in reversed(loud or speed[:1])}
    return [finding for finding in loud or speed[:1] if once[finding.rule.id] is finding][:_ACTIONS]


def _action(finding: Finding) -> dict[str, Any]:
    place = finding.advice.location
    return {
        **named_fields(finding, "rule=rule.id priority"),
        "kernel": None if finding.whole_run else place and place.kernel,
        **named_fields(finding, "action=advice.action expected=expectation.expected"),
        "upper_bound": finding.bound if finding.advice.gain else None,
        **named_fields(finding, "expected_of_run=expectation_of_run.expected file"),
        "line": place and place.line,
    }


_COLUMNS = header("kernel", ">runs", ">time", ">share", ">SM %", ">mem %", ">occ %", "bound", "faster?", "fusion?")  # fmt: skip


def _blocks(
    result: Mapping[str, Any], verdicts: Sequence[str], most: int | None
) -> Iterator[Block]:
    """Yield the ledger as text: the run, the kernels, the actions, and what is not known."""
    yield from map(Line, verdicts)
    kernels = result["kernels"][:most]
    names = [row["name"] or "(the kernel)" for row in kernels]
    shown = shortened(names, _LONGEST_NAME)
    if kernels:
        rows = (_cells(name, row) for name, row in zip(shown, kernels, strict=True))
        yield Table(_COLUMNS, tuple(rows))
    left = result["more"] + len(result["kernels"]) - len(kernels)
    if left:
        yield Line(f"{plural(left, 'kernel')} more, shorter ones: --limit 0 lists all.")
    for number, action in enumerate(result["actions"], start=1):
        yield Line(f"{number}. {_action_words(action)}")
    if not result["actions"]:
        yield Line("No rule asks for a change.")
    if notes := list(dict.fromkeys(note for row in kernels for note in _notes(row))):
        yield Line(f"Of null: {'; '.join(notes)}.")


def _notes(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield why values of *row* are null or not measured, in words that other rows may share."""
    for note in row["notes"]:
        yield _ALLOWED if note.startswith("occupancy") else note
    for question in ("faster", "fusion"):
        if row[question]["answer"] is None and UNPROFILED not in row["notes"]:
            yield f"{question}: {row[question]['evidence'].rstrip('.')}"


_ALLOWED = "occupancy is what the launch allows, not measured"


def _cells(name: str, row: Mapping[str, Any]) -> tuple[Cell, ...]:
    seconds, share = row["seconds"], row["share"]
    texts = (
        name,
        f"{row['launches']:,}",
        "null" if seconds is None else show_seconds(seconds),
        "null" if share is None else show_share(share),
        *(
            "null" if row[key] is None else f"{100 * row[key]:.0f}"
            for key in ("sm", "memory", "occupancy")
        ),
        row["bound"] or "null",
        _short(row["faster"]),
        _short(row["fusion"]),
    )
    return tuple(map(Cell, texts))


def _short(question: Mapping[str, str | None]) -> str:
    """Return a question's answer for a cell: an item in full, a dismissal in its first words."""
    answer, evidence = question["answer"], question["evidence"] or ""
    if answer is None:
        return "null"
    first = evidence.split(":")[0].split(", ")[0].rstrip(".")
    return f"{answer}: {first}"


def _action_words(action: Mapping[str, Any]) -> str:
    name = action["kernel"]
    of = shortened([name], _LONGEST_NAME)[0] if name else "the run"
    gains = [
        f"about {action['expected']:.3g}x" if action["expected"] else "",
        f"at most {action['upper_bound']:.3g}x" if (action["upper_bound"] or 1) > 1 else "",
        f"{action['expected_of_run']:.3g}x of all" if action["expected_of_run"] and name else "",
    ]
    gain = ", ".join(filter(None, gains)) or "gain not known"
    place = f" {action['file']}:{action['line']}:" if action["line"] else ""
    first, stop, _ = action["action"].partition(". ")
    return f"{action['rule']} ({of}: {gain}):{place} {first}{'.' if stop else ''}"
