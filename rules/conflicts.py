"""Advice that pulls in opposite directions becomes one finding that says so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpuadvise.rules.model import Advice
from gpuadvise.rules.report import Line

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two rules whose actions cannot both be taken, and how to decide between them.

    *implied* says no more than *second* does, so that it is left out beside the two.
    """

    first: str
    second: str
    decide: str
    implied: str | None = None


CONFLICTS = (
    Conflict(
        first="register-spills",
        second="register-limited-occupancy",
        decide=(
            "These pull in opposite directions: more registers end the spills, fewer raise "
            "occupancy. End the spills first, then compare the run times of both builds."
        ),
        implied="low-occupancy",
    ),
    Conflict(
        first="unhidden-latency",
        second="surplus-occupancy",
        decide=(
            "These pull in opposite directions: more warps hide latency, and so does more "
            "independent work per thread, which costs registers. Try the independent work "
            "first and compare run times."
        ),
    ),
    Conflict(
        first="redundant-global-loads",
        second="shared-memory-limited-occupancy",
        decide=(
            "These pull in opposite directions: a tile in shared memory saves global traffic, "
            "but shared memory already limits occupancy. Keep the tile if the traffic it saves "
            "shortens the run time."
        ),
        implied="low-occupancy",
    ),
)


def reconciled(lines: Sequence[Line]) -> list[Line]:
    """Return *lines* with every pair of conflicting findings merged into its first one."""
    advised = {line.rule.id for line in lines if isinstance(line.outcome, Advice)}
    result = list(lines)
    for conflict in CONFLICTS:
        if conflict.first in advised and conflict.second in advised:
            result = _merged(result, conflict)
    return result


def _merged(lines: list[Line], conflict: Conflict) -> list[Line]:
    other = next(line for line in lines if _is_advice(line, conflict.second))
    kept = [
        line
        for line in lines
        if line is not other and not (conflict.implied and _is_advice(line, conflict.implied))
    ]
    index = next(i for i, line in enumerate(kept) if _is_advice(line, conflict.first))
    kept[index] = _joined(kept[index], other, conflict.decide)
    return kept


def _is_advice(line: Line, rule: str) -> bool:
    return line.rule.id == rule and isinstance(line.outcome, Advice)


def _joined(line: Line, other: Line, decide: str) -> Line:
    mine, theirs = line.outcome, other.outcome
    assert isinstance(mine, Advice)
    assert isinstance(theirs, Advice)
    merged = replace(
        mine,
        message=f"{mine.message} At the same time ({other.rule.id}): {theirs.message}",
        action=f"{mine.action} Or: {theirs.action} {decide}",
        evidence=mine.evidence
        + tuple(item for item in theirs.evidence if item not in mine.evidence),
    )
    return Line(rule=line.rule, outcome=merged)
