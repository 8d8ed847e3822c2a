"""Facts in, one line per rule out: evaluated, skipped with the missing fact, or failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.facts.supply import HOW
from gpuadvise.rules.conflicts import reconciled
from gpuadvise.rules.lack import able_and_lacking, lacks, missing
from gpuadvise.rules.model import PASSED, Advice, Failed, Location, Passed, Skipped
from gpuadvise.rules.report import Line, Report, in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.rules.model import Outcome, Rule


def run(rules: Iterable[Rule], facts: Facts) -> Report:
    """Return what *rules* say about *facts*: findings in order, and what was not evaluated."""
    known = _known(facts)
    able, skipped = able_and_lacking(tuple(rules), frozenset(known))
    lines: list[Line] = []
    for rule in able:
        lines += [Line(rule=rule, outcome=outcome) for outcome in _outcomes(rule, known)]
    return Report(
        kernel=facts.kernel,
        device=facts.device,
        lines=in_order(reconciled(lines)),
        skipped=skipped,
        known=frozenset(known),
        seconds=_seconds(facts),
    )


def judge(rule: Rule, facts: Facts) -> tuple[Outcome, ...]:
    """Return the outcomes of one rule; a rule that breaks becomes Failed, never an exception."""
    known = _known(facts)
    if lacks(rule, known):
        return (Skipped(missing=missing(rule, known)),)
    return tuple(_outcomes(rule, known))


def _known(facts: Facts) -> dict[str, Any]:
    values = ((name, getattr(facts, name)) for name in HOW)
    return {name: value for name, value in values if value is not None}


def _seconds(facts: Facts) -> float | None:
    timed = (facts.profile, facts.traffic, facts.work)
    return next((each.seconds for each in timed if each and each.seconds), None)


def _outcomes(rule: Rule, known: Mapping[str, Any]) -> Sequence[Advice | Passed | Failed]:
    try:
        verdict = rule.check(**{name: known.get(name) for name in rule.parameters})
    except (Exception, SystemExit) as error:  # a broken rule must not silence the others
        return (Failed(error=f"{type(error).__name__}: {error}"),)
    if isinstance(verdict, Passed) or verdict == ():
        return (PASSED,)
    found = (verdict,) if isinstance(verdict, Advice) else verdict
    if not _is_advice(found):
        return (Failed(error="check() answered neither Advice, a tuple of them nor PASSED"),)
    return [_placed(advice, known.get("kernel")) for advice in found]


def _is_advice(found: object) -> bool:
    """Return whether a rule answered what it may: a user's own is checked by nobody else."""
    return isinstance(found, tuple) and all(isinstance(each, Advice) for each in found)


def _placed(advice: Advice, kernel: str | None) -> Advice:
    if kernel is None or advice.location is not None:
        return advice
    return Advice(
        message=advice.message,
        action=advice.action,
        evidence=advice.evidence,
        gain=advice.gain,
        location=Location(kernel=kernel),
    )
