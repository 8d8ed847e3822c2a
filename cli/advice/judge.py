"""Rules run over kernels: reports, ranked, with what an older answer already said left out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, plural, quoted
from gpuadvise.rules.engine import run
from gpuadvise.rules.model import Priority
from gpuadvise.rules.select import selected

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gpuadvise.advisor.description.reader import Described
    from gpuadvise.rules.model import Rule
    from gpuadvise.rules.report import Finding, Report

# An answer of ten thousand kernels with a dozen findings each.
_LARGEST_BASELINE = 256 * 2**20
Known = frozenset[tuple[str, str | None, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The rules that run for every kernel, and what is known already."""

    rules: tuple[Rule, ...]
    known: Known = frozenset()

    def report(self, kernel: Described) -> Report:
        """Return what the rules say about *kernel*, its own selection applied."""
        rules = self.rules
        if kernel.select or kernel.ignore:
            place = f"kernel {quoted(kernel.facts.kernel or '')}: "
            rules = selected(rules, kernel.select, kernel.ignore, place=place)
        return run(rules, kernel.facts)

    def news(self, report: Report) -> tuple[Finding, ...]:
        """Return the findings of *report* that the baseline does not have."""
        if not self.known:
            return report.findings
        return tuple(finding for finding in report.findings if _key(finding) not in self.known)


def _key(finding: Finding) -> tuple[str, str | None, str | None]:
    place = finding.advice.location
    return finding.rule.id, place.kernel if place else None, place.file if place else None


def baseline(path: str) -> Known:
    """Return the findings of the saved answer *path*; raises BadInput naming the option."""
    try:
        with open(path, "rb") as file:
            answer = json.loads(file.read(_LARGEST_BASELINE))
        return frozenset(_saved_key(finding) for finding in answer["findings"])
    except OSError as error:
        raise BadInput(f"--baseline: {quoted(path)}: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(
            f"--baseline: {quoted(path)} is no answer of `gpuadvise advise --format json`."
        ) from None


def _saved_key(finding: dict[str, Any]) -> tuple[str, str | None, str | None]:
    place = finding["location"] or {}
    return str(finding["rule"]), place.get("kernel"), place.get("file")


def threshold(option: str, word: str | None) -> Priority | None:
    """Return the priority that *word* names, None for None; raises BadInput."""
    if word is None:
        return None
    if word not in [*Priority]:
        accepted = and_list([*Priority], "or")
        raise BadInput(f"{option}: {quoted(word)} is not a priority.", hint=f"Use {accepted}.")
    return Priority(word)


def held_against(reports: Iterable[Report], limit: Priority | None) -> None:
    """Raise BadInput when *limit* was set and no rule that could meet it was evaluated.

    A threshold that passes because nothing was looked at would be a gate that is always open.
    """
    if limit is None:
        return
    urgent = [
        line for report in reports for line in report.lines if line.rule.priority.rank <= limit.rank
    ]
    if not urgent:
        raise BadInput(
            f"--fail-on {limit}: no rule of that priority had its evidence.",
            hint="Run without it and with --all: each rule then says what it needs.",
        )


def met(findings: Iterable[Finding], limit: Priority | None) -> int:
    """Return how many of *findings* are as urgent as *limit*, or more so."""
    if limit is None:
        return 0
    return sum(finding.rule.priority.rank <= limit.rank for finding in findings)


def met_note(findings: Iterable[Finding], limit: Priority | None) -> list[str]:
    """Return the sentence that says why the exit code is 1, if it is."""
    count = met(findings, limit)
    return [f"{plural(count, 'finding')} at --fail-on {limit} or above."] if count else []


def ranked(reports: Sequence[tuple[Report, tuple[Finding, ...]]]) -> Iterator[Finding]:
    """Yield the findings of all kernels: by priority, then by what they can win.

    Where every kernel's time is known, that is seconds: a small gain on a long kernel goes
    before a large one on a short kernel. Otherwise it is the factor.
    """
    timed = all(report.seconds for report, _ in reports)
    flat = [
        ((finding.rule.priority.rank, -_worth(finding, report, timed=timed)), finding)
        for report, findings in reports
        for finding in findings
    ]
    yield from (finding for _, finding in sorted(flat, key=lambda entry: entry[0]))


def _worth(finding: Finding, report: Report, *, timed: bool) -> float:
    if timed and report.seconds:
        return report.seconds * (1 - 1 / finding.bound)
    return finding.bound
