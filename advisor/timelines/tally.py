"""How often each of many whole numbers occurred: durations and sizes, most of which are alike."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass
from itertools import chain

from gpuadvise.advisor.timelines.sorted_runs import SortedRuns

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

    __slots__ = ("_counts", "_fresh", "_put_aside")

    def __init__(self) -> None:
        self._fresh = array("q")
        self._counts: Counter[int] = Counter()
        self._put_aside = SortedRuns(width=2)  # numbers and their counts, where too many differ

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
        return bool(self._fresh or self._counts or len(self._put_aside))

    def _count(self) -> None:
        self._counts.update(self._fresh)
        self._fresh = array("q")
        if len(self._counts) > _MOST_DIFFERENT:
            self._put_aside.extend(list(chain.from_iterable(self._counts.items())))
            self._counts.clear()

    def summary(self) -> TallySummary:
        """Return what the numbers are like; raises ValueError where there are none."""
        self._count()
        if len(self._put_aside):
            self._put_aside.extend(list(chain.from_iterable(self._counts.items())))
            self._counts.clear()
        rows = self._put_aside if len(self._put_aside) else sorted(self._counts.items())
        count = total = largest = 0
        for number, times in rows:
            count += times
            total += number * times
            largest = number
        left = (count - 1) // 2
        for number, times in rows:
            if left < times:
                smallest = next(iter(rows))[0]
                return TallySummary(
                    count=count, total=total, smallest=smallest, median=number, largest=largest
                )
            left -= times
        raise ValueError("a tally of nothing")
