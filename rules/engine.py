"""Facts in, one line per rule out: evaluated, skipped with the missing fact, or failed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.supply import HOW
from gpuadvise.rules.conflicts import reconciled
from gpuadvise.rules.model import PASSED, Advice, Failed, Location, Missing, Passed, Skipped
from gpuadvise.rules.report import Line, Report, in_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.rules.model import Outcome, Rule


def run(rules: Iterable[Rule], facts: Facts) -> Report:
    """Return what *rules* say about *facts*: findings in order, and what was not evaluated."""
    lines = [Line(rule=rule, outcome=outcome) for rule in rules for outcome in judge(rule, facts)]
    return Report(kernel=facts.kernel, device=facts.device, lines=in_order(reconciled(lines)))


def judge(rule: Rule, facts: Facts) -> tuple[Outcome, ...]:
    """Return the outcomes of one rule; a rule that breaks becomes Failed, never an exception."""
    missing = [name for name in rule.needs if getattr(facts, name) is None]
    either = rule.either
    if either and any(getattr(facts, name) is not None for name in either):
        either = ()
    if missing or either:
        return (_skipped(tuple(missing), either),)
    known = {name: getattr(facts, name) for name in rule.parameters}
    try:
        verdict = rule.check(**known)
    except Exception as error:  # a broken rule must not silence the others
        return (Failed(error=f"{type(error).__name__}: {error}"),)
    if isinstance(verdict, Passed) or verdict == ():
        return (PASSED,)
    found = (verdict,) if isinstance(verdict, Advice) else verdict
    return tuple(_placed(advice, facts.kernel) for advice in found)


@cache
def _skipped(missing: tuple[str, ...], either: tuple[str, ...]) -> Skipped:
    needed = (Missing(fact=name, how=HOW[name]) for name in missing)
    others = (Missing(fact=name, how=HOW[name], alternative=True) for name in either)
    return Skipped(missing=(*needed, *others))


def _placed(advice: Advice, kernel: str | None) -> Advice:
    if kernel is None or advice.location is not None:
        return advice
    return replace(advice, location=Location(kernel=kernel))
