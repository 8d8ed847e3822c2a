"""What rules say of each other, resolved and checked once when a list of them is made."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpuadvise.rules.model import Rule


class RelationError(LookupError):
    """*rule* names another that there is not, or folds into itself."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"{rule}: {what}")
        self.rule, self.what = rule, what


def related(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return *rules* with all that each folds into; raises RelationError for an id that none has."""
    by_id: dict[str, Rule] = {}
    for rule in rules:
        if by_id.setdefault(rule.id, rule) is not rule:
            raise RelationError(rule.id, "there are two rules of this id.")
    for rule in rules:
        for field, named in _named_by(rule):
            if named not in by_id:
                raise RelationError(rule.id, _unknown(field, named, by_id))
    for rule in rules:
        object.__setattr__(rule, "heads", _heads(rule, by_id))
    return tuple(rules)


def _named_by(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield each id that *rule* names, after the field that holds it."""
    if rule.folds_into is not None:
        yield "folds_into", rule.folds_into
    if rule.measured_as is not None:
        yield "measured_as", rule.measured_as
    for silencer in rule.silenced_by:
        yield "silenced_by", silencer
    for conflict in rule.conflicts_with:
        yield "conflicts_with", conflict.rule
        if conflict.implied is not None:
            yield "conflicts_with", conflict.implied


def _unknown(field: str, named: str, by_id: Mapping[str, Rule]) -> str:
    near = difflib.get_close_matches(named, by_id, n=3, cutoff=0.6)
    hint = f" Did you mean {and_list(near, 'or')}?" if near else ""
    return f"{field} names {named}, and there is no such rule.{hint}"


def _heads(rule: Rule, by_id: Mapping[str, Rule]) -> tuple[str, ...]:
    heads: list[str] = []
    head = rule.folds_into
    while head is not None:
        if head in (rule.id, *heads):
            raise RelationError(rule.id, f"folds_into leads back to {head}.")
        heads.append(head)
        head = by_id[head].folds_into
    return tuple(heads)
