"""Numbers that decide, each with what it is, its unit and who says so.

A number is used like any other; `row` gives back what stands beside it, for `gpuadvise rules ID`
and the documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import overload


class LaunchSet(StrEnum):
    """The labelled launches of tests/truth that were at hand when a number was last changed."""

    RECORDED = "recorded launches"
    FOURTH = "recorded launches and blind sets 2 to 4"
    FIFTH = "recorded launches and blind sets 2 to 5"
    SIXTH = "recorded launches and blind sets 2 to 6"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a deciding number is, in *unit*, with the document, measurement or judgement it comes from."""

    name: str
    value: float
    unit: str
    source: str
    launches: LaunchSet | None


class _Real(float):
    row: Row

    def __reduce__(self) -> tuple[type[float], tuple[float]]:
        return float, (float(self),)  # a copy, as in an answer, is a plain number


class _Whole(int):
    row: Row

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)


@overload
def number(
    value: int, name: str, unit: str, source: str, launches: LaunchSet | None = None
) -> int: ...
@overload
def number(
    value: float, name: str, unit: str, source: str, launches: LaunchSet | None = None
) -> float: ...
def number(
    value: float, name: str, unit: str, source: str, launches: LaunchSet | None = None
) -> float:
    """Return *value*, which decides in *unit*, with the row that says so."""
    known = _Whole(value) if isinstance(value, int) else _Real(value)
    known.row = Row(name=name, value=value, unit=unit, source=source, launches=launches)
    return known


def row(value: object) -> Row | None:
    """Return what stands beside *value*; None for a number that decides nothing."""
    return value.row if isinstance(value, _Real | _Whole) else None
