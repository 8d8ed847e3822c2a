"""When a context was made, and libraries set themselves up, as an export of Nsight Systems tells.

No call tells it. A context is made within the first call that needs one, before the recorder notes
that call, and the recorder's own work for a new context marks when. A library that brings a copy of
the CUDA runtime looks up all of the driver's functions before it calls any. What the host does from
the call before such a mark to the call behind it is neither the program's own work nor a wait.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from gpuadvise.advisor.thresholds import number

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gpuadvise.advisor.timelines.intervals import Interval

# What the recorder does for a new context: CUPTI's resources, and handing on what it has so far.
CONTEXT_MARKS = ("CUPTI%Resource Management", "%data flush on context created")
# Every library that a process loads, and those among them that set much up.
LOADED = ("dlopen(%",)
LOADING_MARKS = tuple(
    f"dlopen(lib{name}%" for name in ("cublas", "cudnn", "cufft", "cusolver", "cusparse", "nvrtc")
)
LOOK_UPS = ("cuGetProcAddress%", "cuInit%", "cuModuleGetLoadingMode%", "cuDriverGetVersion%")
FEWEST_LOOK_UPS = number(
    50,
    "functions of the driver that a copy of the CUDA runtime looks up, at least",
    "calls",
    "380 to 420 were seen from each library; a program asks for some single ones",
)
_SET_UP = number(
    0.5,
    "time on each side of such a mark that belongs to it, at most",
    "s",
    "our judgement: making a context under the recorder took 0.1 to 0.4 s",
)
SET_UP_NS = round(_SET_UP * 1e9)
_MOST_SET_UPS = 4  # of a thread that are looked at: they are a process's start
_MOST_MARKS = 1 << 16  # rows that tell of some
_MOST_NAMES = 1 << 12


def runs_of_look_ups(times: Sequence[int], others: Sequence[int]) -> Iterator[int]:
    """Yield when a library looked up many of the driver's functions, with no *others* of its calls between.

    Both are in order.
    """
    at = 0
    while at < len(times):
        following = bisect_right(others, times[at])
        until = others[following] if following < len(others) else times[-1] + 1
        after = bisect_left(times, until, at + 1)
        if after - at >= FEWEST_LOOK_UPS:
            yield times[at]
        at = after


def around_marks(
    marks: Iterable[int], neighbours: Callable[[int], tuple[int | None, int | None]]
) -> Iterator[Interval]:
    """Yield the time from the call before each of *marks* to the call behind it, in order and apart.

    *neighbours* tells when the last call before a mark came back, and when the next one began. More
    than half a second on a side is something else, and nothing is before the first call.
    """
    last = None
    for mark in sorted(marks):
        if last is not None and mark <= last[1]:
            continue
        before, behind = neighbours(mark)
        if before is None:  # the recording begins with the first call
            last = (mark, behind or mark)
            continue
        start = max(mark - SET_UP_NS, before, before if last is None else last[1])
        end = mark if behind is None else min(mark + SET_UP_NS, behind)
        last = (start, max(start, end))
        yield last


def named(patterns: tuple[str, ...]) -> str:
    """Return a query for the numbers of names that are like one of *patterns* of this code."""
    like = " OR ".join(f"value LIKE '{pattern}'" for pattern in patterns)
    return f"SELECT id FROM StringIds WHERE {like}"


class SetUps:
    """What tells of contexts and libraries in the tables of *calls* and of what the recorder did, its *overhead*.

    Rows are *usable* by a condition of SQL. The first call of all was at *first_call_ns*.
    """

    def __init__(
        self,
        database: sqlite3.Connection,
        *,
        calls: str,
        overhead: str | None,
        usable: str,
        first_call_ns: int,
    ) -> None:
        self._database = database
        self._calls = calls
        self._usable = usable
        self._first = first_call_ns
        self._look_ups = self._numbers(LOOK_UPS)
        self._looked_up = self._by_thread(calls, self._look_ups)
        marks = (self._numbers(CONTEXT_MARKS), self._numbers(LOADING_MARKS))
        self._contexts, self._loaded = (
            self._by_thread(overhead, numbers) if overhead else {} for numbers in marks
        )

    def __bool__(self) -> bool:
        return bool(self._looked_up or self._contexts or self._loaded)

    def libraries(self, thread: int) -> list[int]:
        """Return when *thread* began to set up a library, in order.

        What is loaded before the first call of CUDA is the process's start, not a library's of the GPU.
        """
        loaded = [time for time in self._loaded.get(thread, ()) if time >= self._first]
        looked_up = self._looked_up.get(thread, [])
        if len(looked_up) < FEWEST_LOOK_UPS:
            return loaded
        others = self._database.execute(
            f"SELECT start FROM {self._calls} WHERE {self._usable} AND globalTid = {thread} AND "
            f"start BETWEEN {looked_up[0]} AND {looked_up[-1]} "
            f"AND nameId NOT IN ({self._look_ups}) ORDER BY start LIMIT {_MOST_MARKS}"
        )
        return sorted([*loaded, *runs_of_look_ups(looked_up, [start for (start,) in others])])

    def around(self, thread: int, libraries: Sequence[int]) -> Iterator[Interval]:
        """Yield when *thread* made its first context, and the first of its *libraries*, between calls."""
        contexts = self._contexts.get(thread, [])
        made = [time for time in contexts if time <= contexts[0] + SET_UP_NS]
        for marks, unlike in ((made, ""), (libraries, self._look_ups)):
            stretches = around_marks(marks, partial(self._neighbours, thread, unlike))
            yield from islice(stretches, _MOST_SET_UPS)

    def _by_thread(self, table: str, numbers: str) -> dict[int, list[int]]:
        """Return when rows of *table* began whose names have one of these *numbers*, in order, by thread."""
        times: dict[int, list[int]] = {}
        if not numbers:
            return times
        rows = self._database.execute(
            f"SELECT start, globalTid FROM {table} WHERE nameId IN ({numbers}) AND {self._usable} "
            f"ORDER BY start LIMIT {_MOST_MARKS}"
        )
        for start, thread in rows:
            times.setdefault(thread, []).append(start)
        return times

    def _numbers(self, like: tuple[str, ...]) -> str:
        """Return the numbers of names that are *like* one of these, as SQL lists them."""
        rows = self._database.execute(f"{named(like)} LIMIT {_MOST_NAMES}")
        return ", ".join(str(number) for (number,) in rows if isinstance(number, int))

    def _neighbours(self, thread: int, unlike: str, time: int) -> tuple[int | None, int | None]:
        """Return when the calls of *thread* shortly before and behind a *time* end and begin, not of names *unlike* these.

        Where the first call of all came earlier, so did one before.
        """
        ((before, behind),) = self._database.execute(
            f"SELECT max(CASE WHEN end <= {time} THEN end END), "
            f"min(CASE WHEN start >= {time} THEN start END) FROM {self._calls} "
            f"WHERE start < {time + SET_UP_NS} AND end > {time - SET_UP_NS} AND globalTid = {thread} "
            f"AND nameId NOT IN ({unlike}) AND {self._usable}"
        )
        earlier = time - SET_UP_NS
        return (earlier if before is None and self._first < earlier else before), behind
