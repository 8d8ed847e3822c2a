"""Named scopes of the host's threads, such as modules and annotations, and what began inside of them.

Scopes of a thread nest by time. All are put in order once a file was read, so that memory does not
grow with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.sorted_runs import SortedRuns, merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

OUTSIDE = -1  # of all scopes
_MOST_PATHS = 50_000
_OPENED, _ENTERED, _ASKED = range(3)
_WIDTH = (
    6  # thread, start, end (negative: the outer one first), order in the file, what it is, number
)


class ScopePaths:
    """Scopes by the names of those around them, each with a number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}
        self._paths: list[tuple[int, str]] = []  # the scope around it, its name

    def inside(self, outer: int, name: str) -> int:
        """Return the scope *name* in the scope *outer*; beyond the first thousands, *outer* itself."""
        number = self._numbers.get((outer, name))
        if number is None:
            if len(self._paths) >= _MOST_PATHS:
                return outer
            number = self._numbers[outer, name] = len(self._paths)
            self._paths.append((outer, name))
        return number

    def around(self, scope: int) -> Iterator[int]:
        """Yield *scope* and those around it, the innermost first."""
        while scope != OUTSIDE:
            yield scope
            scope = self._paths[scope][0]

    def names(self, scope: int) -> tuple[str, ...]:
        """Return the names of *scope* and of those around it, the outermost first."""
        return tuple(self._paths[one][1] for one in self.around(scope))[::-1]


class ScopeLog:
    """When scopes were open on which thread."""

    def __init__(self, paths: ScopePaths) -> None:
        self.paths = paths
        self._rows = SortedRuns(width=_WIDTH)
        self._names: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def open(self, thread: int, start: int, end: int, name: str) -> None:
        """Add a scope that stands in whatever is open around it."""
        if name not in self._names and len(self._names) >= _MOST_PATHS:
            return
        number = self._names.setdefault(name, len(self._names))
        self._rows.add(thread, start, -end, len(self._rows), _OPENED, number)

    def enter(self, thread: int, start: int, end: int, scope: int, *, marked: bool = False) -> None:
        """Add time in a known scope, wherever it is open; *marked* tells such from others."""
        self._rows.add(thread, start, -end, len(self._rows), _ENTERED, 2 * scope + marked)

    def innermost(
        self, asked: Questions, *others: ScopeLog
    ) -> Iterator[tuple[int, int, int, int, bool]]:
        """Yield each that is *asked* with thread, time, innermost scope here or in *others*, and its mark."""
        names = list(self._names)
        thread: int | None = None
        opened: list[tuple[int, int, bool]] = []  # end, scope, mark
        for block in merged([log._rows for log in (self, *others)] + [asked.rows]):
            for at, start, minus_end, _, what, number in block:
                if at != thread:
                    thread = at
                    opened.clear()
                while opened and opened[-1][0] <= start:
                    opened.pop()
                scope, marked = opened[-1][1:] if opened else (OUTSIDE, False)
                if what == _ASKED:
                    yield number, at, start, scope, marked
                elif what == _OPENED:
                    opened.append((-minus_end, self.paths.inside(scope, names[number]), marked))
                else:
                    opened.append((-minus_end, number >> 1, bool(number & 1)))


class Questions:
    """Moments on threads of which the scope is asked, each with a number of its own."""

    def __init__(self) -> None:
        self.rows = SortedRuns(width=_WIDTH)

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, thread: int, time: int, number: int) -> None:
        """Ask for the scope at *time* on *thread*."""
        self.rows.add(thread, time, -time, 0, _ASKED, number)


def with_match(
    rows: Iterable[Sequence[int]], keyed: Iterable[Sequence[int]]
) -> Iterator[tuple[Sequence[int], Sequence[int] | None]]:
    """Yield *rows* with the first of *keyed* that begins with the same number; both are in order."""
    others = iter(keyed)
    other = next(others, None)
    for row in rows:
        while other is not None and other[0] < row[0]:
            other = next(others, None)
        yield row, other if other is not None and other[0] == row[0] else None
