"""What a run of the rules amounts to: findings in order, and what could not be judged."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.bag import HOW
from gpuadvise.advisor.prose import plural
from gpuadvise.rules.model import Advice, Failed, Missing, Priority

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gpuadvise.advisor.device import Device
    from gpuadvise.rules.model import Outcome, Rule


def lacks(rule: Rule, known: Collection[str]) -> bool:
    """Return whether *rule* cannot be evaluated with the facts named *known*."""
    either = rule.either
    return not rule.required.issubset(known) or bool(
        either and not any(name in known for name in either)
    )


# Kernels of one file are described alike: a handful of sets of facts.
@lru_cache(maxsize=64)
def able_and_lacking(
    rules: tuple[Rule, ...], known: frozenset[str]
) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """Return those of *rules* that the facts named *known* suffice for, and the others."""
    able = tuple(rule for rule in rules if not lacks(rule, known))
    return able, tuple(rule for rule in rules if lacks(rule, known))


def missing(rule: Rule, known: Collection[str]) -> tuple[Missing, ...]:
    """Return what *rule* lacks, in the order of its parameters, then its alternatives."""
    either = () if any(name in known for name in rule.either) else rule.either
    return _told(tuple(name for name in rule.needs if name not in known), either)


@cache
def _told(needed: tuple[str, ...], either: tuple[str, ...]) -> tuple[Missing, ...]:
    alone = (Missing(fact=name, how=HOW[name]) for name in needed)
    others = (Missing(fact=name, how=HOW[name], alternative=True) for name in either)
    return (*alone, *others)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
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
    lines: tuple[RuleLine, ...]  # of the rules that were evaluated
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


def in_order(lines: Iterable[RuleLine]) -> tuple[RuleLine, ...]:
    """Return the advice among *lines* by priority, then by gain; then the rest as it comes."""
    advice: list[tuple[tuple[int, float], RuleLine]] = []
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


def finding_object(finding: Finding) -> dict[str, object]:
    """Return *finding* with the fields, in the order, of every ``findings`` list."""
    rule, advice = finding.rule, finding.advice
    return {
        "rule": rule.id,
        "topic": str(rule.topic),
        "priority": str(rule.priority),
        "title": rule.title,
        "message": finding.message,
        "action": advice.action,
        "evidence": [asdict(item) for item in advice.evidence],
        "gain": asdict(advice.gain) if advice.gain else None,
        "location": asdict(advice.location) if advice.location else None,
        "citation": asdict(rule.citations[0]),
    }


def not_evaluated_objects(report: Report) -> list[dict[str, object]]:
    """Return the rules that lacked evidence, with how to supply each missing fact."""
    return [
        {
            "rule": rule.id,
            "missing": [item.fact for item in missing],
            "how": _how(missing),
        }
        for rule, missing in report.not_evaluated
    ]


def _how(missing: tuple[Missing, ...]) -> str:
    """Return how to supply what is missing; of alternatives, each after an ``Or``."""
    needed = " ".join(dict.fromkeys(item.how for item in missing if not item.alternative))
    either = " Or: ".join(dict.fromkeys(item.how for item in missing if item.alternative))
    return " ".join(filter(None, (needed, either)))
