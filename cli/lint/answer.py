"""What ``lint`` says: findings with their places, comments without use, syntax it cannot read."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import and_list, inert, plural
from gpuadvise.advisor.source.text import source_text
from gpuadvise.cli import not_judged
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Drawing, Line, Tone
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.render import reviews
from gpuadvise.cli.schemas import columns_of
from gpuadvise.rules.guide import rule_of
from gpuadvise.rules.model import Confidence, Priority

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpuadvise.advisor.source.diagnostic import Diagnostic, SourceRange
    from gpuadvise.cli.lint.file_rules import FileRules
    from gpuadvise.cli.lint.gather import SourceFile
    from gpuadvise.cli.not_judged import NotJudged
    from gpuadvise.cli.render.svg import Picture
    from gpuadvise.rules.fail_on import FailOn

# Label of what a finding says of one more place; the name of the function follows.
FURTHER = "also in "
_LINE_NUMBER = 8  # columns before a source line: its number and a bar
_TONES = {Priority.HIGH: Tone.BAD, Priority.MEDIUM: Tone.POOR, Priority.LOW: Tone.PLAIN}


def answer(
    read: Sequence[SourceFile],
    inputs: Mapping[str, Any],
    rules: FileRules,
    left: Sequence[NotJudged],
    notes: Sequence[str] = (),
) -> Answer:
    """Return the answer of ``lint``; findings stand in the order of files and lines."""
    seen = [d for source in read for d in source.linted.diagnostics]
    findings = [_finding(diagnostic) for diagnostic in seen]
    failed, code = verdict(read, seen, rules, left)
    return Answer(
        command="lint",
        device=None,
        input=inputs,
        result={**_result(read, seen), "not_judged": not_judged.records(left)},
        rows=[_row(diagnostic) for diagnostic in seen],
        columns=lambda: columns_of("lint"),
        findings=findings,
        blocks=lambda: tuple(_blocks(read, seen, whole=not left)),
        notes=(*notes, *said(left)),
        documents=reviews.documents(lambda: findings) | {"sarif": lambda: _sarif(read)},
        failed=failed,
        exit=code,
        pictures=lambda: _pictures(seen),
    )


_MOST_DRAWN = 12  # rules, and files, of a picture
_LONGEST_DRAWN = 50  # characters of a path in it


def _pictures(seen: Sequence[Diagnostic]) -> list[Picture]:
    """Return how often each rule and file is named, where it is more than one."""
    from gpuadvise.cli.render import svg

    drawn = []
    names = (("rule", [d.rule for d in seen]), ("file", [d.file for d in seen]))
    for noun, named in names:
        counts = Counter(named).most_common()
        if len(counts) > 1:
            bars = []
            for name, count in counts[:_MOST_DRAWN]:
                # The end of a path tells it from its neighbours.
                short = name if len(name) <= _LONGEST_DRAWN else f"…{name[1 - _LONGEST_DRAWN :]}"
                bars.append(svg.Part(short, count, plural(count, "finding")))
            drawn.append(svg.meters(f"Findings by {noun}", bars))
    return drawn


def _sarif(read: Sequence[SourceFile]) -> str:
    """Return the findings with their fixes, those that comments accept as suppressed."""
    from gpuadvise.cli.render import sarif
    from gpuadvise.rules.guide import RULES

    findings, details = [], []
    for source in read:
        text = source_text(source.data, source.path)
        mendable = not source.cells and not text.transcoded  # else edits are of other offsets
        linted = source.linted
        for at, seen in enumerate((*linted.diagnostics, *linted.accepted)):
            edits = [(text.where(e.start, e.end), e.text) for e in seen.edits if mendable]
            accepted = at >= len(linted.diagnostics)
            findings.append(_finding(seen))
            details.append(sarif.SourceDetail(where=seen.where, edits=edits, accepted=accepted))
    return sarif.render(RULES, findings, None, details)


def said(left: Sequence[NotJudged]) -> list[str]:
    """Return the notes on what was not judged; files of HIP stand in the answer itself."""
    return not_judged.notes([item for item in left if not item.foreign])


def verdict(
    read: Sequence[SourceFile], seen: Sequence[Diagnostic], rules: FileRules, left: Sequence[NotJudged]
) -> tuple[Sequence[str], Exit]:  # fmt: skip
    """Return why the gate of *rules* says no, and the exit code; *left* was not judged.

    Raises BadInput where a gate would pass because every file is of another vendor's compiler.
    """
    met = [
        d
        for d in seen
        if (least := rules.limit(d.file)) and least.meets(rule_of(d.rule).category, _priority(d))
    ]
    limit = rules.gate([d.file for d in met] or [*(s.path for s in read), *(i.path for i in left)])
    if met:
        return [f"{plural(len(met), 'finding')} at --fail-on {limit} or above."], Exit.THRESHOLD
    hip = read and all(source.linted.hip for source in read) and all(i.foreign for i in left)
    if limit and hip:
        raise BadInput(
            f"--fail-on {limit} has nothing to compare: {plural(len(read), 'file')} of HIP, "
            "and lint knows CUDA."
        )
    if limit and left:
        count = f"{plural(len(left), 'file or folder', 'files or folders')} not judged"
        return [f"--fail-on {limit} cannot pass: {count} (not_judged)."], Exit.UNAVAILABLE
    return (), Exit.UNAVAILABLE if any(source.lacking for source in read) else Exit.RAN


def _priority(seen: Diagnostic) -> Priority:
    return Priority.LOW if seen.minor else rule_of(seen.rule).priority


def meets(limit: FailOn, rule: str) -> bool:
    """Return whether some finding of *rule* meets *limit*."""
    judged = rule_of(rule)
    return limit.meets(judged.category, judged.priority)


def _finding(seen: Diagnostic) -> dict[str, Any]:
    from gpuadvise.rules.report import finding_id

    rule, where = rule_of(seen.rule), seen.where
    return {
        "id": finding_id(rule.id, seen.file, seen.kernel),
        **named_fields(rule, "rule=id topic category"),
        "priority": str(_priority(seen)),
        "confidence": str(rule.confidence or Confidence.LIKELY),
        "title": rule.title,
        **named_fields(seen, "message action"),
        "evidence": [
            {"label": label, "value": words, "unit": "", "source": f"{seen.file}:{place.line}"}
            for label, words, place in (
                ("source", seen.seen, where),
                *((f"{FURTHER}{f.kernel or ''}", f.seen, f.where) for f in seen.further),
            )
        ],
        "gain": None,
        "location": named_fields(seen, "file line=where.line column=where.column kernel"),
        "citation": asdict(rule.citations[0]),
    }  # fmt: skip


def _row(seen: Diagnostic) -> dict[str, Any]:
    from gpuadvise.rules.report import finding_id

    return {
        **named_fields(seen, "file line=where.line column=where.column rule"),
        "priority": str(_priority(seen)),
        **named_fields(seen, "kernel message action"),
        "fixable": bool(seen.edits),
        "id": finding_id(rule_of(seen.rule).id, seen.file, seen.kernel),
    }


def _result(read: Sequence[SourceFile], seen: Sequence[Diagnostic]) -> dict[str, Any]:
    priorities = [_priority(d) for d in seen]
    return {
        "files": len(read),
        **{str(p): priorities.count(p) for p in Priority},
        "fixable": sum(bool(d.edits) for d in seen),
        "known": sum(source.known for source in read),
        "accepted": sum(len(source.linted.accepted) for source in read),
        "unused_suppressions": [
            {"file": s.path, "line": comment.where.line, "rules": list(comment.rules)}
            for s in read
            for comment in s.linted.unused
        ],
        "unparsed": [_stretch(s.path, r) for s in read for r in s.linted.unparsed],
        "hip": [source.path for source in read if source.linted.hip],
        "not_read": [_stretch(s.path, r) for s in read for r in s.linted.dropped],
    }


def _stretch(path: str, where: SourceRange) -> dict[str, Any]:
    return {"file": path, "line": where.line, "end_line": where.end_line}


_CUT = "..."  # where a long line goes on


def _excerpt(lines: Sequence[str], where: SourceRange, columns: int) -> str:
    """Return the line at *where* with the stretch underlined; of a long line what *columns* hold."""
    line = lines[where.line - 1] if where.line <= len(lines) else ""
    first = where.column - 1
    last = where.end_column - 1 if where.end_line == where.line else len(line.rstrip())
    widest = max(1, columns - _LINE_NUMBER)
    skipped = max(0, min(first - widest // 2, len(line) - widest))
    shown = line[skipped : skipped + widest].replace("\t", " ").rstrip()
    if len(line.rstrip()) > skipped + widest:
        shown = f"{shown[: widest - len(_CUT)]}{_CUT}"
    if skipped:
        shown = f"{_CUT}{shown[len(_CUT) :]}"
    marks = max(1, min(last - skipped, len(shown)) - (first - skipped))
    number = str(where.line).rjust(5)
    before = inert(shown[: first - skipped])
    width = max(1, len(inert(shown[first - skipped : first - skipped + marks])))
    under = " " * len(before) + "^" + "~" * (width - 1)
    return f"{number} | {inert(shown)}\n{' ' * len(number)} | {under}"


def _blocks(
    read: Sequence[SourceFile], seen: Sequence[Diagnostic], *, whole: bool
) -> Iterator[Block]:
    """Yield the text; not the *whole* of what was named could be read, as notes say."""
    for source in read:
        lines = source.lines() if source.linted.diagnostics else []
        for diagnostic in source.linted.diagnostics:
            where, priority = diagnostic.where, _priority(diagnostic)
            place = f"{inert(diagnostic.file)}:{where.line}:{where.column}"
            if cell := source.cells.get(where.line):
                place += f" (code cell {cell[0]}, line {cell[1]})"
            yield Line(f"{place}: {str(priority).upper()} {diagnostic.rule}", _TONES[priority])
            yield Drawing(partial(_excerpt, lines, where))
            yield Line(inert(diagnostic.message), indent=4)
            yield Line(inert(diagnostic.action), indent=4)
    for source in read:
        for comment in source.linted.unused:
            rules = inert(f" ({', '.join(comment.rules)})" if comment.rules else "")
            place = f"{inert(source.path)}:{comment.where.line}"
            yield Line(f"{place}: this comment accepts nothing that is there{rules}.", Tone.FAINT)
    if unparsed := sum(len(source.linted.unparsed) for source in read):
        stretches = plural(unparsed, "stretch", "stretches")
        yield Line(f"{stretches} of unknown syntax not checked.", Tone.FAINT)
    if hip := sum(source.linted.hip for source in read):
        yield Line(f"{plural(hip, 'file')} of HIP not checked: lint knows CUDA.", Tone.FAINT)
    counts = [(p, sum(_priority(d) is p for d in seen)) for p in Priority]
    words = and_list([f"{count} {p}" for p, count in counts if count])
    if not read:
        reason = "was found" if whole else "could be read"
        yield Line(f"No source file {reason}, so nothing was judged.", Tone.STRONG)
        return
    if known := sum(source.known for source in read):
        words = f"{words or 'nothing new'}; {plural(known, 'known finding')} left out"
    unjudged = sum(map(_is_unjudged, read))
    if unjudged == len(read):
        words = "nothing was judged"
    elif all(source.linted.no_gpu_code for source in read):
        words = _NO_GPU_CODE
    elif unjudged:
        words = f"{words or _CLEAN}; {plural(unjudged, 'file')} not judged"
    elif not whole:
        words = f"{words or _CLEAN}; a part could not be read"
    yield Line(f"{plural(len(read), 'file')}: {words or _CLEAN}.", Tone.STRONG)


_CLEAN = "no fault that the source alone proves"
_NO_GPU_CODE = (
    "no function of CUDA and nothing of PyTorch, CuPy, Numba, Triton or JAX, so nothing was judged"
)


def _is_unjudged(source: SourceFile) -> bool:
    """Return whether nothing of *source* was judged: another vendor's, or wholly unknown syntax."""
    linted = source.linted
    whole = any(r.start == 0 and r.end >= len(source.data.rstrip()) for r in linted.unparsed)
    return linted.hip or (whole and not linted.diagnostics)
