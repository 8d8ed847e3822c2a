"""Findings of many kernels as rows, printed as the kernels come; no kernel is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.description.files import BadLine
from gpuadvise.advisor.errors import BadInput
from gpuadvise.cli.advice.answers import FINDING_COLUMNS, Advised, exit_code, finding_row
from gpuadvise.cli.advice.judge import can_meet, nothing_held
from gpuadvise.cli.emit import note, stream
from gpuadvise.cli.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.description.reader import Described
    from gpuadvise.cli.advice.gather import Evidence
    from gpuadvise.cli.advice.judge import Judge
    from gpuadvise.rules.model import Priority
    from gpuadvise.rules.report import Report

# What an exit code says, from harmless to serious.
_SEVERITY = (Exit.RAN, Exit.THRESHOLD, Exit.UNAVAILABLE, Exit.BAD_INPUT)


@dataclass(kw_only=True)
class _Tally:
    """What is left of the kernels that went by: the exit code, and whether *limit* was held."""

    limit: Priority | None
    worst: Exit = Exit.RAN
    held: bool = False

    def add(self, code: Exit) -> None:
        self.worst = max(self.worst, code, key=_SEVERITY.index)


def streamed(evidence: Evidence, judge: Judge, limit: Priority | None, form: str) -> Exit:
    """Print one row per finding; return the most serious exit code of any kernel."""
    from gpuadvise.cli.render import rows

    tally = _Tally(limit=limit)
    stream(rows.render(_rows(evidence, judge, tally), form, FINDING_COLUMNS))
    note(*evidence.notes)
    if limit is not None and not tally.held and tally.worst is not Exit.BAD_INPUT:
        raise nothing_held(limit)
    return tally.worst


def _rows(evidence: Evidence, judge: Judge, tally: _Tally) -> Iterator[dict[str, Any]]:
    for kernel in evidence.kernels():
        report = _report(kernel, judge)
        if report is None:
            tally.add(Exit.BAD_INPUT)
            continue
        findings = judge.news(report)
        one = Advised(rules=judge.rules, reports=(report,), findings=findings)
        tally.add(exit_code(one, tally.limit))
        tally.held = tally.held or (tally.limit is not None and can_meet(report, tally.limit))
        for rule, error in one.failures:
            note(f"The rule {rule} broke: {error}")
        yield from map(finding_row, findings)


def _report(kernel: Described | BadLine, judge: Judge) -> Report | None:
    """Return what the rules say about *kernel*, or None after a note on why they cannot."""
    try:
        if isinstance(kernel, BadLine):
            raise kernel.error
        return judge.report(kernel)
    except BadInput as error:  # the line's, or the kernel's own selection
        note(" ".join(filter(None, (error.message, error.hint))))
        return None
