"""Exact arithmetic over intervals of time, in whole nanoseconds and in bounded memory.

A *cover* is what intervals cover together: disjoint, apart from each other, in ascending order. It
is made and read in blocks, so that a recording of any length needs the same memory.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain, compress, islice
from operator import gt
from typing import TYPE_CHECKING, Protocol

from gpuadvise.advisor.timelines.sorted_runs import SortedRuns, merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Interval = tuple[int, int]
_BLOCK = 1 << 13  # intervals


class Intervals:
    """Starts and ends of some intervals."""

    __slots__ = ("ends", "starts")

    def __init__(self, starts: Iterable[int] = (), ends: Iterable[int] = ()) -> None:
        self.starts = list(starts)
        self.ends = list(ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[Interval]:
        return zip(self.starts, self.ends, strict=True)

    def add(self, start: int, end: int) -> None:
        """Add one interval; *end* is not before *start*."""
        self.starts.append(start)
        self.ends.append(end)

    def length(self) -> int:
        """Return the nanoseconds of all intervals, those that lie together counted each."""
        return sum(self.ends) - sum(self.starts)


class IntervalLog:
    """Any number of intervals in any order: their starts and their ends, each sorted.

    Which end belongs to which start is not kept: a cover does not depend on it.
    """

    __slots__ = ("ends", "starts")

    def __init__(self, intervals: Iterable[Interval] = ()) -> None:
        self.starts = SortedRuns()
        self.ends = SortedRuns()
        for start, end in intervals:
            self.add(start, end)

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, start: int, end: int) -> None:
        """Add one interval; *end* is not before *start*, and both fit 64 bits."""
        self.starts.add(start)
        self.ends.add(end)

    def extend(self, starts: list[int], ends: list[int]) -> None:
        """Add intervals; raises OverflowError or TypeError for times that are none."""
        self.starts.extend(starts)
        self.ends.extend(ends)


class Cover:
    """The union of all intervals of some logs; those that touch are one."""

    __slots__ = ("_clip", "_logs")

    def __init__(self, logs: Iterable[IntervalLog], clip: Interval | None = None) -> None:
        self._logs = [log for log in logs if len(log)]
        self._clip = clip

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cover):
            return NotImplemented
        return list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Interval]:
        return chain.from_iterable(self.blocks())

    def blocks(self) -> Iterator[Intervals]:
        """Yield the cover in order, some thousand intervals at a time, none of them empty."""
        blocks = self._unclipped()
        if self._clip is None:
            return blocks
        inside = Intervals(self._clip[:1], self._clip[1:])
        return (clipped for block in blocks if len(clipped := common(block, inside)))

    def _unclipped(self) -> Iterator[Intervals]:
        """Yield the whole cover.

        Nothing runs between the i-th end and the next start where that start comes later, since as
        many have ended as have begun.
        """
        starts = chain.from_iterable(merged(log.starts for log in self._logs))
        ends = chain.from_iterable(merged(log.ends for log in self._logs))
        begun = list(islice(starts, 1))
        while following := list(islice(starts, _BLOCK)):
            ended = list(islice(ends, len(following)))
            separate = list(map(gt, following, ended))
            begun += compress(following, separate)
            if len(begun) > 1:
                yield Intervals(begun[:-1], compress(ended, separate))
                begun = begun[-1:]
        if begun:
            yield Intervals(begun, ends)


class Blocks(Protocol):
    """What is read like a cover."""

    def blocks(self) -> Iterator[Intervals]:
        """Yield disjoint intervals in order, some thousand at a time."""


class CoverReader:
    """A cover that is read beside another one, both from front to back."""

    def __init__(self, cover: Blocks) -> None:
        self._blocks = cover.blocks()
        self._block = next(self._blocks, None)

    def until(self, end: int) -> Iterator[Intervals]:
        """Yield the blocks that begin before *end*, but none that was over by an earlier *end*."""
        while self._block is not None and self._block.starts[0] < end:
            yield self._block
            if self._block.ends[-1] > end:
                return
            self._block = next(self._blocks, None)


def length(cover: Cover) -> int:
    """Return the nanoseconds of *cover*."""
    return sum(block.length() for block in cover.blocks())


def common(left: Intervals, right: Intervals) -> Intervals:
    """Return the time that is in both blocks of covers."""
    if len(left) > len(right):
        left, right = right, left
    shared = Intervals()
    for start, end in left:
        for at in range(bisect_right(right.ends, start), len(right)):
            if right.starts[at] >= end:
                break
            shared.add(max(start, right.starts[at]), min(end, right.ends[at]))
    return shared
