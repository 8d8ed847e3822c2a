"""Exact arithmetic over intervals of time, in whole nanoseconds.

A *cover* is Intervals that are disjoint, apart from each other and in ascending order: what the
functions here return, and what all but ``cover`` take.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import chain, compress, islice
from operator import gt, sub
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Interval = tuple[int, int]


class Intervals:
    """Starts and ends of many intervals, in any order: 16 bytes for each."""

    __slots__ = ("ends", "starts")

    def __init__(self, starts: Iterable[int] = (), ends: Iterable[int] = ()) -> None:
        self.starts = array("q", starts)
        self.ends = array("q", ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[Interval]:
        return zip(self.starts, self.ends, strict=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Intervals):
            return NotImplemented
        return self.starts == other.starts and self.ends == other.ends

    __hash__ = None  # type: ignore[assignment]

    def add(self, start: int, end: int) -> None:
        """Add one interval; *end* is not before *start*, and both fit 64 bits."""
        self.starts.append(start)
        self.ends.append(end)

    def durations(self) -> list[int]:
        """Return the length of each interval, ascending."""
        return sorted(map(sub, self.ends, self.starts))


def cover(groups: Iterable[Intervals]) -> Intervals:
    """Return the union of all intervals of *groups*; those that touch are one.

    Starts and ends are sorted apart: nothing runs between the i-th end and the next start where
    that start comes later, since as many have ended as have begun.
    """
    some = [group for group in groups if len(group)]
    starts = sorted(chain.from_iterable([group.starts for group in some]))
    ends = sorted(chain.from_iterable([group.ends for group in some]))
    if not starts:
        return Intervals()
    apart = list(map(gt, islice(starts, 1, None), ends))
    return Intervals(
        chain(starts[:1], compress(islice(starts, 1, None), apart)),
        chain(compress(ends, apart), ends[-1:]),
    )


def longer(intervals: Intervals, least: int) -> Intervals:
    """Return those of *intervals* that are longer than *least* nanoseconds."""
    chosen = list(map(least.__lt__, map(sub, intervals.ends, intervals.starts)))
    return Intervals(compress(intervals.starts, chosen), compress(intervals.ends, chosen))


def length(intervals: Intervals) -> int:
    """Return the nanoseconds of a cover."""
    return sum(intervals.ends) - sum(intervals.starts)


def common(left: Intervals, right: Intervals) -> Intervals:
    """Return the time that is in both covers."""
    if len(left) > len(right):
        left, right = right, left
    shared = Intervals()
    for start, end in left:
        for at in range(bisect_right(right.ends, start), len(right)):
            if right.starts[at] >= end:
                break
            shared.add(max(start, right.starts[at]), min(end, right.ends[at]))
    return shared


def between(intervals: Intervals) -> Intervals:
    """Return the time between the intervals of a cover."""
    return Intervals(intervals.ends[:-1], intervals.starts[1:])
