"""Whole numbers in order, more of them than memory should hold.

What comes is gathered, sorted a run at a time, and put aside in a file without a name; all runs are
merged as they are read. Nearly all that a recording holds comes in order of time, so that few runs
overlap and each part of the file is read once.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections import deque
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

RUN = 1 << 15  # rows sorted at once: 1 MiB of numbers as Python holds them
_BLOCK = 1 << 11  # rows read back at once, of each run
_BYTES = 8


class SortedRuns:
    """Rows of *width* whole numbers of 64 bits, given back in ascending order.

    A row of one number is that number, of several a tuple.
    """

    __slots__ = ("_fresh", "_rows", "_runs", "width")

    def __init__(self, width: int = 1) -> None:
        self.width = width
        self._fresh = array("q")
        self._runs: list[_Run] = []
        self._rows = 0  # in the runs

    def __len__(self) -> int:
        return self._rows + len(self._fresh) // self.width

    def add(self, *row: int) -> None:
        """Add one row; raises OverflowError or TypeError for what is no number of 64 bits."""
        self.extend(list(row))

    def extend(self, numbers: list[int]) -> None:
        """Add the numbers of whole rows, one after the other."""
        if not self._fresh and len(numbers) >= RUN * self.width:
            self._put_aside(self._sorted(numbers))
            return
        self._fresh.fromlist(numbers)
        if len(self._fresh) >= RUN * self.width:
            self._put_aside(self._sorted(self._fresh))
            self._fresh = array("q")

    def _sorted(self, numbers: Sequence[int]) -> array[int]:
        if self.width == 1:
            return array("q", sorted(numbers))
        return array("q", list(chain.from_iterable(sorted(_rows(numbers, self.width)))))

    def _put_aside(self, numbers: array[int]) -> None:
        run = _Run(numbers, self.width)
        run.put_aside()
        self._runs.append(run)
        self._rows += run.rows

    def runs(self) -> list[_Run]:
        """Return all that was added, in sorted runs."""
        self._fresh = self._sorted(self._fresh)
        return [*self._runs, _Run(self._fresh, self.width)] if self._fresh else self._runs

    def blocks(self) -> Iterator[list[Any]]:
        """Yield the rows in ascending order, some thousand at a time."""
        return merged([self])

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.blocks())


def merged(logs: Iterable[SortedRuns]) -> Iterator[list[Any]]:
    """Yield the rows of all *logs* in ascending order, some thousand at a time."""
    waiting = deque(sorted((run for log in logs for run in log.runs()), key=_LEAST))
    readers: list[_Reader] = []
    while waiting or readers:
        if not readers:
            readers.append(_Reader(waiting.popleft()))
        # Up to here all rows are known: those of each run that is being read, and no run that is
        # still waiting begins before.
        bound = min(reader.block[-1] for reader in readers)
        while waiting and waiting[0].least <= bound:
            readers.append(_Reader(waiting.popleft()))
            bound = min(bound, readers[-1].block[-1])
        block: list[Any] = []
        for reader in readers:
            block += reader.taken(bound)
        if len(readers) > 1:
            block.sort()
        readers = [reader for reader in readers if reader.block]
        yield block


class _Run:
    """Sorted rows, in memory or in the file."""

    __slots__ = ("_numbers", "_place", "_width", "least", "rows")

    def __init__(self, numbers: array[int], width: int) -> None:
        self._numbers: array[int] | None = numbers
        self._place = 0  # byte of the file, where the numbers are there
        self._width = width
        self.rows = len(numbers) // width
        self.least = self.read(0, 1)[0]

    def read(self, at: int, rows: int) -> list[Any]:
        """Return *rows* rows from row *at* on, fewer at the end."""
        begin, end = at * self._width, min(at + rows, self.rows) * self._width
        if self._numbers is not None:
            return _rows(self._numbers[begin:end], self._width)
        numbers = array("q")
        place = self._place + begin * _BYTES
        numbers.frombytes(os.pread(_file().fileno(), (end - begin) * _BYTES, place))
        return _rows(numbers, self._width)

    def put_aside(self) -> None:
        """Move the numbers to the file; where that cannot be written they stay in memory."""
        if self._numbers is None:
            return
        try:
            file = _file().fileno()
            self._place = os.lseek(file, 0, os.SEEK_END)
            written = os.write(file, memoryview(self._numbers))
        except OSError:
            return
        if written == self.rows * self._width * _BYTES:
            self._numbers = None


_LEAST = attrgetter("least")


class _Reader:
    """A run that is being read: the next of its rows."""

    __slots__ = ("_at", "_run", "block")

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._at = 0
        self.block: list[Any] = []
        self._fill()

    def _fill(self) -> None:
        self.block = self._run.read(self._at, _BLOCK)
        self._at += len(self.block)

    def taken(self, bound: Any) -> list[Any]:
        """Take the rows up to *bound* off the block."""
        if self.block[-1] <= bound:
            taken = self.block
            self._fill()
            return taken
        cut = bisect_right(self.block, bound)
        taken, self.block = self.block[:cut], self.block[cut:]
        return taken


def _rows(numbers: Sequence[int], width: int) -> list[Any]:
    return list(numbers) if width == 1 else list(zip(*[iter(numbers)] * width, strict=True))


@cache
def _file() -> IO[bytes]:
    from tempfile import TemporaryFile

    return TemporaryFile(buffering=0)
