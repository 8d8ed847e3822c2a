"""The list of rules, for which none of them is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.prose import plural
from gpuadvise.cli.blocks import Cell, Column, Heading, Line, Table, Tone, header
from gpuadvise.rules.model import Priority, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.cli.blocks import Block
    from gpuadvise.rules.model import Rule

_TONES = {Priority.HIGH: Tone.BAD, Priority.MEDIUM: Tone.POOR, Priority.LOW: Tone.PLAIN}


_COLUMNS = header("priority", "", "rule", Column("what to do", prose=True))


def summary(rule: Rule) -> dict[str, Any]:
    """Return one rule as an entry of the list."""
    return {
        "rule": rule.id,
        "priority": str(rule.priority),
        "topic": str(rule.topic),
        "title": rule.title,
        "recommendation": rule.recommendation,
        "evidence": [str(kind) for kind in rule.kinds],
        "needs": list(rule.needs),
        "either": list(rule.either),
        "category": str(rule.category),
    }


def list_blocks(rules: Sequence[Rule]) -> Iterator[Block]:
    """Yield a table per topic; a star marks the guide's own prioritised recommendations."""
    stars = sum(rule.recommendation for rule in rules)
    yield Line(f"{plural(len(rules), 'rule')}, {stars} of them (*) prioritised by the guide itself")
    for topic in Topic:
        chosen = tuple(_row(rule) for rule in rules if rule.topic is topic)
        if chosen:
            yield Heading(topic)
            yield Table(_COLUMNS, chosen)
    yield Line("`gpuadvise rules ID` explains one.", Tone.FAINT)


def _row(rule: Rule) -> tuple[Cell, ...]:
    texts = ("*" if rule.recommendation else "", rule.id, rule.title)
    return (Cell(rule.priority, _TONES[rule.priority]), *map(Cell, texts))
