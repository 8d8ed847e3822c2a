"""What a run of the rules amounts to: findings in order, and what could not be judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.rules.lack import missing
from gpuadvise.rules.model import Advice, Failed, Priority

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.device import Device
    from gpuadvise.rules.model import Missing, Outcome, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One rule and what came of it."""

    rule: Rule
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One piece of advice and the rule that gave it."""

    rule: Rule
    advice: Advice

    @property
    def message(self) -> str:
        """What was seen, and in one sentence why it matters."""
        return f"{self.advice.message} {self.rule.why}"

    @property
    def urgency(self) -> tuple[int, float]:
        """What findings are sorted by: priority first, then the expected gain."""
        return self.rule.priority.rank, -self.bound

    @property
    def bound(self) -> float:
        """The factor that the advice can win at most; 1 where it names none."""
        return self.advice.gain.upper_bound if self.advice.gain else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything a renderer may know about one kernel."""

    kernel: str | None
    device: Device | None
    lines: tuple[Line, ...]  # of the rules that were evaluated
    skipped: tuple[Rule, ...]  # those that lacked a fact
    known: frozenset[str]  # the facts there were
    seconds: float | None = None  # of one launch, as profiled or given

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The advice, most urgent first."""
        return tuple(
            Finding(rule=line.rule, advice=line.outcome)
            for line in self.lines
            if isinstance(line.outcome, Advice)
        )

    @property
    def not_evaluated(self) -> tuple[tuple[Rule, tuple[Missing, ...]], ...]:
        """The rules that lacked a fact, with the facts and how to supply them."""
        return tuple((rule, missing(rule, self.known)) for rule in self.skipped)

    @property
    def failures(self) -> tuple[tuple[Rule, str], ...]:
        """The rules that broke, with the reason."""
        return tuple(
            (line.rule, line.outcome.error)
            for line in self.lines
            if isinstance(line.outcome, Failed)
        )


def in_order(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Return the advice among *lines* by priority, then by gain; then the rest as it comes."""
    advice: list[tuple[tuple[int, float], Line]] = []
    rest = []
    for line in lines:
        if isinstance(line.outcome, Advice):
            advice.append((Finding(rule=line.rule, advice=line.outcome).urgency, line))
        else:
            rest.append(line)
    advice.sort(key=lambda entry: entry[0])
    return (*(line for _, line in advice), *rest)


def order_note(findings: Iterable[Finding]) -> str | None:
    """Return the guide's request to settle high priorities first, where it applies.

    Best Practices Guide, "Recommendations and Best Practices": lower priorities wait until
    the higher ones have been dealt with.
    """
    ranks = [finding.rule.priority for finding in findings]
    urgent = ranks.count(Priority.HIGH)
    if not urgent or Priority.LOW not in ranks:
        return None
    return (
        f"Settle the {plural(urgent, 'high-priority finding')} first, "
        "and measure again before you turn to the low-priority ones."
    )
