"""Facts in, one line per rule out: evaluated, skipped with the missing fact, or failed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.supply import HOW
from gpuadvise.rules.conflicts import reconciled
from gpuadvise.rules.model import Advice, Failed, Line, Location, Missing, Passed, Skipped
from gpuadvise.rules.report import Report, in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.rules.model import Outcome, Rule


def run(rules: Iterable[Rule], facts: Facts) -> Report:
    """Return what *rules* say about *facts*: findings in order, and what was not evaluated."""
    lines = [
        Line(rule=rule, outcome=_placed(outcome, facts.kernel))
        for rule in rules
        for outcome in judge(rule, facts)
    ]
    return Report(kernel=facts.kernel, device=facts.device, lines=in_order(reconciled(lines)))


def judge(rule: Rule, facts: Facts) -> Iterator[Outcome]:
    """Yield the outcomes of one rule; a rule that breaks becomes Failed, never an exception."""
    missing = [Missing(fact=n, how=HOW[n]) for n in rule.needs if getattr(facts, n) is None]
    if rule.either and all(getattr(facts, name) is None for name in rule.either):
        missing += [Missing(fact=name, how=HOW[name], alternative=True) for name in rule.either]
    if missing:
        yield Skipped(missing=tuple(missing))
        return
    known = {name: getattr(facts, name) for name in rule.parameters}
    try:
        verdict = rule.check(**known)
    except Exception as error:  # a broken rule must not silence the others
        yield Failed(error=f"{type(error).__name__}: {error}")
        return
    match verdict:
        case Advice() | Passed():
            yield verdict
        case ():
            yield Passed()
        case _:
            yield from verdict


def _placed(outcome: Outcome, kernel: str | None) -> Outcome:
    if kernel is None or not isinstance(outcome, Advice) or outcome.location is not None:
        return outcome
    return replace(outcome, location=Location(kernel=kernel))
