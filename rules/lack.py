"""What a rule lacks: the facts that it needs and that nobody supplied."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.supply import HOW
from gpuadvise.rules.model import Missing

if TYPE_CHECKING:
    from collections.abc import Collection

    from gpuadvise.rules.model import Rule


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
