"""Which rules run, decided before any of them does."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.rules.model import Category, Priority, Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuadvise.rules.model import Rule

_GROUPS = (*Topic, *Category, *Priority)


def selected(
    rules: Sequence[Rule],
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    *,
    place: str = "--",
) -> tuple[Rule, ...]:
    """Return the *rules* that a name in *select* picks (all, if empty) and none in *ignore*.

    A name is a rule's id or its former one, a topic, a category or a priority. Raises BadInput for any other; *place* is what
    stands before ``select`` and ``ignore`` where they were written.
    """
    wanted, unwanted = tuple(select), _picked(rules, ignore, f"{place}ignore")
    chosen = _picked(rules, wanted, f"{place}select") if wanted else {rule.id for rule in rules}
    return tuple(rule for rule in rules if rule.id in chosen and rule.id not in unwanted)


def among(rules: Sequence[Rule], extra: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return those of *rules* that are among *extra* as well."""
    kept = {rule.id for rule in extra}
    return tuple(rule for rule in rules if rule.id in kept)


def _picked(rules: Sequence[Rule], names: Iterable[str], where: str) -> frozenset[str]:
    return frozenset(rule.id for name in names for rule in _named(rules, name, where))


def _named(rules: Sequence[Rule], name: str, where: str) -> list[Rule]:
    picked = [
        rule for rule in rules if name in (*rule.names, rule.topic, rule.category, rule.priority)
    ]
    if picked or name in _GROUPS:
        return picked
    raise BadInput(
        f"{where}: {quoted(name)} is not a rule, a topic, a category or a priority.",
        hint=_hint(rules, name),
    )


def _hint(rules: Sequence[Rule], name: str) -> str:
    words = [*(rule.id for rule in rules), *_GROUPS]
    near = difflib.get_close_matches(name[:60], words, n=3, cutoff=0.65)
    if near:
        return f"Did you mean {and_list(near, 'or')}?"
    return "Topics are " + and_list([*Topic]) + "; `gpuadvise rules` lists the rules."


def rule_named(rules: Sequence[Rule], name: str) -> Rule:
    """Return the rule whose id is *name*; raises BadInput that names the nearest ones."""
    for rule in rules:
        if rule.id == name:
            return rule
    now = [rule for rule in rules if rule.formerly == name]
    if len(now) == 1:
        return now[0]
    ids = [rule.id for rule in rules]
    near = difflib.get_close_matches(name[:60], ids, n=3, cutoff=0.65)
    near = near or [rule for rule in ids if name[2:] and name in rule][:5]
    hint = (
        f"Did you mean {and_list(near, 'or')}?"
        if near
        else "`gpuadvise rules` lists them, with --select those of a topic or priority."
    )
    raise BadInput(f"There is no rule {quoted(name)}.", hint=hint)
