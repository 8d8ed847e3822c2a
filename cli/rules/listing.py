"""The list of rules, for which none of them is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import plural
from gpuadvise.cli.blocks import Block, Cell, Column, Heading, Line, Tone, table
from gpuadvise.rules.model import Priority, Rule, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TONES = {Priority.HIGH: Tone.BAD, Priority.MEDIUM: Tone.POOR, Priority.LOW: Tone.PLAIN}


def summary(rule: Rule) -> dict[str, Any]:
    """Return one rule as an entry of the list."""
    return named_fields(
        rule, "rule=id priority topic title recommendation evidence=kinds needs either category"
    )


def list_blocks(rules: Sequence[Rule]) -> Iterator[Block]:
    """Yield a table per topic; a star marks the guide's own prioritised recommendations."""
    stars = sum(rule.recommendation for rule in rules)
    yield Line(f"{plural(len(rules), 'rule')}, {stars} of them (*) prioritised by the guide itself")
    for topic in Topic:
        if chosen := [rule for rule in rules if rule.topic is topic]:
            yield Heading(topic)
            yield table(
                chosen,
                ("priority", lambda rule: Cell(rule.priority, _TONES[rule.priority])),
                ("", lambda rule: "*" if rule.recommendation else ""),
                ("rule", lambda rule: rule.id),
                (Column("what to do", prose=True), lambda rule: rule.title),
            )
    yield Line("`gpuadvise rules ID` explains one.", Tone.FAINT)
