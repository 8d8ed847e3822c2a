"""Exact arithmetic over intervals of time, in whole nanoseconds.

A *cover* is a list of disjoint intervals in ascending order: what the functions here return, and
what ``common`` and ``without`` take.
"""

from __future__ import annotations

from array import array
from itertools import chain, pairwise
from operator import sub
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Interval = tuple[int, int]


class Intervals:
    """Starts and ends of many intervals, in any order: 16 bytes for each."""

    __slots__ = ("ends", "starts")

    def __init__(self) -> None:
        self.starts = array("q")
        self.ends = array("q")

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, start: int, end: int) -> None:
        """Add one interval; *end* is not before *start*, and both fit 64 bits."""
        self.starts.append(start)
        self.ends.append(end)

    def durations(self) -> list[int]:
        """Return the length of each interval, ascending."""
        return sorted(map(sub, self.ends, self.starts))


def cover(groups: Iterable[Intervals]) -> list[Interval]:
    """Return the union of all intervals of *groups*; those that touch are one.

    Starts and ends are sorted apart: nothing runs between the i-th end and the next start where
    that start comes later, since as many have ended as have begun.
    """
    groups = list(groups)
    starts = sorted(chain.from_iterable([group.starts for group in groups]))
    ends = sorted(chain.from_iterable([group.ends for group in groups]))
    if not starts:
        return []
    breaks = [i for i, end in enumerate(ends[:-1]) if starts[i + 1] > end]
    return list(
        zip(
            [starts[0], *[starts[i + 1] for i in breaks]],
            [*[ends[i] for i in breaks], ends[-1]],
            strict=True,
        )
    )


def length(intervals: Sequence[Interval]) -> int:
    """Return the nanoseconds of a cover."""
    return sum([end - start for start, end in intervals])


def common(left: Sequence[Interval], right: Sequence[Interval]) -> list[Interval]:
    """Return the time that is in both covers."""
    shared: list[Interval] = []
    i = j = 0
    while i < len(left) and j < len(right):
        start = max(left[i][0], right[j][0])
        end = min(left[i][1], right[j][1])
        if start < end:
            shared.append((start, end))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return shared


def between(intervals: Sequence[Interval]) -> list[Interval]:
    """Return the time between the intervals of a cover."""
    return [(end, start) for (_, end), (start, _) in pairwise(intervals)]


def without(left: Sequence[Interval], right: Sequence[Interval]) -> list[Interval]:
    """Return the time of the cover *left* that is not in the cover *right*."""
    if not left:
        return []
    outside = [
        (left[0][0], left[0][0]),
        *common(right, [(left[0][0], left[-1][1])]),
        (left[-1][1], left[-1][1]),
    ]
    return common(left, between(outside))
