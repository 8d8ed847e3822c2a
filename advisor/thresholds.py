"""Numbers that decide, each with what it is, its unit and who says so.

A number is used like any other; `row` gives back what stands beside it, for `gpuadvise rules ID`
and the documentation.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, overload


class LaunchSet(StrEnum):
    """The labelled launches of tests/truth that were at hand when a number was last changed."""

    RECORDED = "recorded launches"
    FOURTH = "recorded launches and blind sets 2 to 4"
    FIFTH = "recorded launches and blind sets 2 to 5"
    SIXTH = "recorded launches and blind sets 2 to 6"
    SEVENTH = "recorded launches and blind sets 2 to 7"
    EIGHTH = "recorded launches and blind sets 2 to 8"
    NINTH = "recorded launches and blind sets 2 to 9"
    TENTH = "recorded launches and blind sets 2 to 10"


class Row(NamedTuple):
    """What a deciding number is, in *unit*, with the document, measurement or judgement it comes from."""

    name: str
    value: float
    unit: str
    source: str
    launches: LaunchSet | None


# A plain float that is one object of its own: comparing with a subclass takes a third longer, and rules
# compare all the time. Whole numbers, which Python shares, are of a class of ours.
_ROWS: dict[int, tuple[float, Row]] = {}


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
    entry = Row(name=name, value=value, unit=unit, source=source, launches=launches)
    if isinstance(value, int):
        whole = _Whole(value)
        whole.row = entry
        return whole
    own = value + 0.0
    _ROWS[id(own)] = own, entry  # kept, so that no other number gets its identity
    return own


def row(value: object) -> Row | None:
    """Return what stands beside *value*; None for a number that decides nothing."""
    if isinstance(value, _Whole):
        return value.row
    known = _ROWS.get(id(value))
    return known[1] if known else None
