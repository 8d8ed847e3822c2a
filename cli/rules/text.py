"""One rule with its examples, what decides it and its code before and after."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.facts.bag import HOW
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.cli.blocks import Block, Column, Drawing, Heading, Line, Tone, table
from gpuadvise.cli.findings import finding_object
from gpuadvise.cli.rules.listing import summary
from gpuadvise.rules.deciding import numbers_of
from gpuadvise.rules.expectation import exponents_of
from gpuadvise.rules.explanation import Explanation, Shown, needs_of
from gpuadvise.rules.model import Family, Rule
from gpuadvise.rules.source import CUDA_RULES, PYTHON_RULES, cuda_check, python_check
from gpuadvise.rules.source.model import BeforeAfter

if TYPE_CHECKING:
    from collections.abc import Iterator


def full(explanation: Explanation) -> dict[str, Any]:
    """Return one rule with everything that is known of it."""
    rule, code = explanation.rule, code_of(explanation.rule.id)
    return {
        **summary(rule),
        "why": rule.why,
        "when": rule.when,
        "how_to_supply": dict(needs_of(rule, HOW)),
        "thresholds": [
            {name: getattr(known, name) for name in ("name", "value", "unit", "source", "launches")}
            for known in numbers_of(rule)
        ],
        "expectation": exponents_object(*rule.names) if _has_likely_gain(rule) else None,
        "citations": [asdict(citation) for citation in rule.citations],
        "examples": {"fires": _example(explanation.fires), "quiet": _example(explanation.quiet)},
        "code": code and code._asdict(),
    }


def _has_likely_gain(rule: Rule) -> bool:
    """Return whether what *rule* wins can be a kernel's own time."""
    return rule.family is not None and rule.family is not Family.COPIES


@cache
def _code_of_other_rules() -> dict[str, BeforeAfter]:
    """Return the code of each rule that does not look at sources, by the rule's id."""
    import tomllib

    text = (files("gpuadvise.cli.rules") / "before_after.toml").read_text(encoding="utf-8")
    return {name: BeforeAfter(**record) for name, record in tomllib.loads(text).items()}


def code_of(rule: str) -> BeforeAfter | None:
    """Return the code of *rule*, an id: of a rule on sources from its own file; None where none is known."""
    if rule in CUDA_RULES:
        return cuda_check(rule).code
    if rule in PYTHON_RULES:
        return python_check(rule).code
    return _code_of_other_rules().get(rule)


def _example(shown: Shown) -> dict[str, Any]:
    return {
        "description": shown.description,
        "findings": [finding_object(finding) for finding in shown.findings],
    }


def rule_blocks(explanation: Explanation) -> Iterator[Block]:
    """Yield one rule: what, why, when, both examples, the numbers that decide, sources."""
    rule = explanation.rule
    star = "; the guide itself gives this priority" if rule.recommendation else ""
    yield Line(f"{rule.id}: {rule.title}", Tone.STRONG)
    yield Line(f"Priority {rule.priority}, topic {rule.topic}, category {rule.category}{star}.")
    yield Line(f"Why: {rule.why}")
    yield Line(f"Fires when: {rule.when}")
    if _has_likely_gain(rule):
        yield Line(f"Likely gain: {exponents_sentence(*rule.names)}.")
    yield Line(f"Evidence: {and_list(list(rule.kinds), 'or')}.")
    for fact, how in needs_of(rule, HOW):
        yield Line(f"{fact}: {how}", Tone.FAINT, indent=3)
    yield from (Heading("Fires on"), Drawing(explanation.fires.description))
    for finding in explanation.fires.findings:
        yield Line(finding.message)
        yield Line(f"Do: {finding.advice.action}")
    yield from (Heading("Stays quiet on"), Drawing(explanation.quiet.description))
    if code := code_of(rule.id):
        yield from (Heading("Before"), Drawing(code.before), Heading("After"), Drawing(code.after))
    if numbers := numbers_of(rule):
        yield Heading("Decided by")
        yield table(
            numbers,
            ("value", lambda known: f"{known.value:g}"),
            (
                Column("number", prose=True),
                lambda known: ", ".join(filter(None, (known.name, known.unit))),
            ),
            (Column("source", prose=True), lambda known: known.source),
        )
    yield Heading("Sources")
    for citation in rule.citations:
        yield Line(f"{citation.document}, {citation.section}: {citation.url}")


_OF_REPAIRS = "labelled launches with a measured repair, tests/truth"


def exponents_object(*names: str) -> dict[str, object]:
    """Return the numbers that decide what is expected of the rule of these *names*, as JSON values."""
    return {**asdict(exponents_of(*names)), "unit": "power of the bound", "source": _OF_REPAIRS}


def exponents_sentence(*names: str) -> str:
    """Return the same as a sentence."""
    exponents = exponents_of(*names)
    of = (
        f"{plural(exponents.repairs, 'repair')} of {plural(exponents.programs, 'program')}"
        if exponents.repairs
        else "repairs of other faults, for none of this one was measured"
    )
    return (
        f"the bound to the power of {exponents.median:g}; of 8 in 10 repairs to that of {exponents.low:g} to "
        f"{exponents.high:g}, of a launch of 100 us; less of shorter ones, more of longer ({_OF_REPAIRS}: {of})"
    )
