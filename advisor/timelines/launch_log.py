"""Kernels beside the calls that launched them, as far as a recording joins them by a number.

CUDA numbers the calls of a process in the order in which they are made; a kernel has the number of
its launch, and all kernels of a graph that of the graph's.
"""

from __future__ import annotations

from itertools import chain, groupby, repeat
from operator import itemgetter
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.sorted_runs import SortedRuns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

# More optimizers' steps are not kept.
_MOST_WINDOWS = 100_000
_MOST_UNTOLD = 1 << 14
# Launches that tell a sample, where each stands for so many calls.
_FEWEST_NUMBERED, _LEFT_OUT = 200, 100
_BEHIND_ALL = 2**63  # numbers
# Numbers that come again, at least, where recordings were put together: one may be misread.
_FEWEST_AGAIN = 10
# Of the kernels' rows: so many times as many as there are different ones, of a recording that is there twice.
_TWICE = 1.5
# Number, start and end in nanoseconds of the recording's clock, thread, and 1 for a graph, 0 for a kernel.
LaunchRow = tuple[int, int, int, int, int]
# Number of the launch, GPU, start and end.
KernelRow = tuple[int, int, int, int]


class LaunchLog:
    """Launches and kernels by number, and what tells the host's phases.

    Of a recording that has told nothing of these yet no more than the first thousands are kept.
    """

    def __init__(self) -> None:
        self.told = False
        self.products = SortedRuns(width=3)  # start, rows, weight
        self.optimizers: list[tuple[int, int]] = []
        self.main_thread: int | None = None
        self._weights: dict[tuple[object, ...], int] = {}
        self._count = 0  # of all launches, kept or not
        self._first: int | None = None  # of their numbers
        self._last = 0
        self._launches = SortedRuns(width=5)  # number, start, end, thread, whether of a graph
        self._kernels = SortedRuns(width=4)  # number, GPU, start, end

    @property
    def wanted(self) -> bool:
        """Whether what comes is kept."""
        return self.told or len(self._kernels) < _MOST_UNTOLD

    def mark(self, thread: object) -> None:
        """Remember that steps are marked on *thread*."""
        if isinstance(thread, int):
            self.main_thread = thread

    def add_optimizer(self, thread: object, start: int, end: int) -> None:
        """Add a step of an optimizer."""
        self.mark(thread)
        self.told = True
        if len(self.optimizers) < _MOST_WINDOWS:
            self.optimizers.append((start, end))

    def add_product(self, start: int, rows: int, weight: tuple[object, ...]) -> None:
        """Add a product of a batch's *rows* and a *weight* of these sizes."""
        self.told = True
        number = self._weights.setdefault(weight, len(self._weights))
        self.products.add(start, rows, number)

    def add_launches(
        self, numbers: list[int], starts: list[int], ends: list[int], thread: int, *, graph: bool
    ) -> None:
        """Add launches of one thread."""
        if numbers:
            first, last = min(numbers), max(numbers)
            self._count += len(numbers)
            self._first = first if self._first is None else min(first, self._first)
            self._last = max(last, self._last)
        self.told = self.told or graph
        if self.wanted:
            rows = zip(numbers, starts, ends, repeat(thread), repeat(int(graph)))
            self._launches.extend(list(chain.from_iterable(rows)))

    def add_kernels(self, numbers: list[int], starts: list[int], ends: list[int], gpu: int) -> None:
        """Add kernels of one GPU."""
        if self.wanted:
            rows = zip(numbers, repeat(gpu), starts, ends)
            self._kernels.extend(list(chain.from_iterable(rows)))

    def is_sample_of(self, calls: int) -> bool:
        """Return whether *calls* are so few of those that CUDA numbered that most events were left out.

        Recorders leave some functions out, too: of complete ones one call in twenty or more is there.
        """
        numbered = self._last - (self._first or 0)
        return self._count >= _FEWEST_NUMBERED and calls * _LEFT_OUT < numbered

    @property
    def numbers_come_again(self) -> bool:
        """Whether launches have numbers of others, as CUDA gives each of them once in a process."""
        again = (len(list(rows)) > 1 for _, rows in groupby(self._launches, key=itemgetter(0)))
        return sum(again) >= _FEWEST_AGAIN

    @property
    def times_each_kernel(self) -> int:
        """How many times the same run of a kernel is there: 1, but of recordings put together."""
        if not len(self._kernels):
            return 1
        times = len(self._kernels) / sum(1 for _ in groupby(self._kernels))
        return round(times) if times >= _TWICE else 1

    @property
    def tells(self) -> bool:
        """Whether anything tells phases or graphs."""
        return self.told and len(self._kernels) > 0

    def launches(self) -> Iterator[list[LaunchRow]]:
        """Yield the launches in the order of their numbers, some thousand at a time."""
        return self._launches.blocks()

    def kernels(self, gpu: int) -> Iterator[list[KernelRow]]:
        """Yield the kernels of one GPU in the order of their launches, some thousand at a time."""
        number_of_gpu = itemgetter(1)
        for block in self._kernels.blocks():
            if set(map(number_of_gpu, block)) == {gpu}:
                yield block
            elif kept := [row for row in block if row[1] == gpu]:
                yield kept

    def launched_ns(self, gpu: int, begins: Collection[int]) -> dict[int, int]:
        """Return when the calls came back that launched the kernels of *gpu* which began at *begins*.

        Each later by what all launches take until the kernel begins: the clocks of a host and its GPU
        may be apart. What is not known is left out.
        """
        if not begins:
            return {}
        launched: dict[int, int] = {}
        least = None
        launches = _one_of_each(chain.from_iterable(self.launches()))
        number, back = next(launches, (_BEHIND_ALL, 0))
        for called, _, start, _ in chain.from_iterable(self.kernels(gpu)):
            while number < called:
                number, back = next(launches, (_BEHIND_ALL, 0))
            if number != called:
                continue
            least = start - back if least is None else min(least, start - back)
            if start in begins:
                launched[start] = min(launched.get(start, back), back)
        return {start: back + max(0, least or 0) for start, back in launched.items()}

    def first_launched_ns(self, gpu: int) -> int | None:
        """Return when the call came back that launched the first kernel of *gpu*; None: it is not known."""
        first = min(
            (row for block in self.kernels(gpu) for row in block), key=itemgetter(2), default=None
        )
        if first is None:
            return None
        return next(
            (row[2] for block in self.launches() for row in block if row[0] == first[0]), None
        )


def _one_of_each(launches: Iterable[LaunchRow]) -> Iterator[tuple[int, int]]:
    """Yield the number of each launch and its end, without numbers that several launches have."""
    for number, rows in groupby(launches, key=itemgetter(0)):
        (_, _, end, *_), *others = rows
        if not others:
            yield number, end
