"""How often each of many whole numbers occurred: durations and sizes, most of which are alike."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.sorted_runs import SortedRuns

if TYPE_CHECKING:
    from collections.abc import Iterable

_FRESH = 1 << 12  # numbers counted at once
# Durations of kernels are multiples of the GPU's tick, 32 ns on a H200: few thousand differ.
_MOST_DIFFERENT = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class TallySummary:
    """Of all numbers: how many, their sum, the least, the lower median and the largest."""

    count: int
    total: int
    smallest: int
    median: int
    largest: int


class Tally:
    """Whole numbers of 64 bits, each different one kept once."""

    __slots__ = ("_counts", "_fresh", "_put_aside", "_summary")

    def __init__(self) -> None:
        self._fresh = array("q")
        self._counts: Counter[int] | None = None
        # Numbers and their counts, where too many differ.
        self._put_aside: SortedRuns | None = None
        self._summary: TallySummary | None = None  # of all that was counted

    def add(self, number: int) -> None:
        """Add one number; raises OverflowError or TypeError for what is none of 64 bits."""
        self._fresh.append(number)
        if len(self._fresh) >= _FRESH:
            self._count()

    def extend(self, numbers: list[int]) -> None:
        """Add *numbers*; raises OverflowError or TypeError for what is none of 64 bits."""
        self._fresh.fromlist(numbers)
        if len(self._fresh) >= _FRESH:
            self._count()

    def __bool__(self) -> bool:
        return bool(self._fresh or self._counts or self._put_aside)

    def _count(self) -> None:
        if self._counts is None:
            self._counts = Counter()
        self._summary = None
        self._counts.update(self._fresh)
        self._fresh = array("q")
        if len(self._counts) > _MOST_DIFFERENT:
            if self._put_aside is None:
                self._put_aside = SortedRuns(width=2)
            self._put_aside.extend(list(chain.from_iterable(self._counts.items())))
            self._counts.clear()

    def summary(self) -> TallySummary:
        """Return what the numbers are like; raises ValueError where there are none."""
        if self._counts is None:
            return _summary_of_few(sorted(self._fresh))
        if self._summary is None or self._fresh:
            self._summary = self._summary_of_many()
        return self._summary

    def _summary_of_many(self) -> TallySummary:
        self._count()
        assert self._counts is not None
        rows: Iterable[tuple[int, int]] = sorted(self._counts.items())
        if self._put_aside is not None:
            self._put_aside.extend(list(chain.from_iterable(rows)))
            self._counts.clear()
            rows = self._put_aside
        return _summary(rows)


def _summary_of_few(ascending: list[int]) -> TallySummary:
    if not ascending:
        raise ValueError("a tally of nothing")
    return TallySummary(
        count=len(ascending),
        total=sum(ascending),
        smallest=ascending[0],
        median=ascending[(len(ascending) - 1) // 2],
        largest=ascending[-1],
    )


def _summary(rows: Iterable[tuple[int, int]]) -> TallySummary:
    """Return what numbers are like of which ascending *rows* say how often each occurs."""
    count = total = largest = 0
    for number, times in rows:
        count += times
        total += number * times
        largest = number
    smallest, _ = next(iter(rows))
    middle, left = smallest, (count - 1) // 2
    for number, times in rows:
        if left < times:
            middle = number
            break
        left -= times
    return TallySummary(count=count, total=total, smallest=smallest, median=middle, largest=largest)
