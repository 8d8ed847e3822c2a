"""What a line of a terminal has room for of kernel names."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gpuadvise.advisor.short_names import LONGEST, shortened
from gpuadvise.cli.blocks import Cell, Table
from gpuadvise.cli.emit import terminal_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.cli.blocks import Column

# With less room than this a name tells nothing: it stands on a line of its own.
_LEAST = 12
_GAP = 2  # between columns


def room(columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]]) -> int | None:
    """Return what the other columns of a table leave of a terminal's line for names; None: no terminal."""
    whole = terminal_columns(sys.stdout)
    if whole is None:
        return None
    others = [
        max([len(column.title), *(len(row[at].text) for row in rows)]) + _GAP
        for at, column in enumerate(columns)
        if not column.below
    ]
    return whole - sum(others)


def fitting(make: Callable[[int], list[str]], left: int | None) -> int:
    """Return the length for which *make* makes names that fit *left* of a line, where that is enough.

    It may add something to names cut to that length, to tell them apart.
    """
    if left is None or left < _LEAST:
        return LONGEST
    longest = min(left, LONGEST)
    least = longest // 2
    while longest > least and max(map(len, make(longest)), default=0) > left:
        longest -= 1  # shorter names may be alike, and then have an addition as well
    return longest


def named(whole: Table, names: Sequence[str]) -> Table:
    """Return *whole* with *names* in its column below, in as much of a line as the others leave."""
    at = [column.below for column in whole.columns].index(True)
    short = shortened(names, fitting(lambda _: [], room(whole.columns, whole.rows)))
    rows = zip(whole.rows, map(Cell, short), strict=True)
    return Table(whole.columns, tuple([(*row[:at], name, *row[at + 1 :]) for row, name in rows]))
