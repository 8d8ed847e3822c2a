"""Copies of a GPU joined with the calls of the host that began them, in any order and number."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.activities import CopyRuns
from gpuadvise.advisor.timelines.sorted_runs import SortedRuns

if TYPE_CHECKING:
    from gpuadvise.advisor.timelines.activities import CopyRoute, Recording

_UNKNOWN = -(2**63)
_LAST = 2**63


@dataclass(slots=True)
class UnjoinedCopies:
    """Copies of one GPU and route, before it is known whether their calls blocked."""

    gpu: int
    route: CopyRoute
    place: int  # among the kinds, by first occurrence
    streams: set[int] = field(default_factory=set)


class CopyCalls:
    """Copies and the calls that copy, which share a correlation."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.kinds: list[UnjoinedCopies] = []
        self._copies = SortedRuns(width=6)  # correlation, kind, number, start, duration, bytes
        self._calls = SortedRuns(width=3)  # correlation, number, whether asynchronous

    def kind(self, gpu: int, route: CopyRoute) -> UnjoinedCopies:
        """Return a new kind of copies."""
        self.kinds.append(UnjoinedCopies(gpu, route, len(self.kinds)))
        return self.kinds[-1]

    def add_copy(
        self, kind: UnjoinedCopies, start: int, end: int, size: int, correlation: int | None
    ) -> None:
        """Add one copy of *size* bytes, and by what its call is found."""
        self.recording.gpu(kind.gpu).copy_times.add(start, end)
        key = _UNKNOWN if correlation is None else correlation
        self._copies.add(key, kind.place, len(self._copies), start, end - start, size)

    def add_call(self, correlation: int, *, asynchronous: bool) -> None:
        """Add a call that copies; of two with one correlation the later one counts."""
        if correlation != _UNKNOWN:
            self._calls.add(correlation, len(self._calls), asynchronous)

    def finish(self) -> None:
        """Give each copy to the recording, by whether its call blocked."""
        calls = _Asynchronous(self._calls)
        routes: dict[tuple[int, CopyRoute], _Joined] = {}
        joined: dict[tuple[int, bool | None], _Joined] = {}
        for correlation, place, number, start, duration, size in self._copies:
            key = place, calls.of(correlation)
            copies = joined.get(key)
            if copies is None:
                kind = self.kinds[place]
                route = replace(kind.route, asynchronous=key[1])
                copies = joined[key] = routes.setdefault((kind.gpu, route), _Joined())
                copies.runs.streams |= kind.streams
            copies.first = min(copies.first, number)
            copies.runs.add(start, duration, size)
        for (gpu, route), copies in sorted(routes.items(), key=lambda item: item[1].first):
            self.recording.gpu(gpu).copies[route] = copies.runs


@dataclass(slots=True)
class _Joined:
    """Copies of one route whose calls all blocked, or all did not; and which came first."""

    runs: CopyRuns = field(default_factory=CopyRuns)
    first: int = _LAST


class _Asynchronous:
    """Whether calls were asynchronous, asked for in the order of their correlations."""

    def __init__(self, calls: SortedRuns) -> None:
        self._calls = iter(calls)
        self._next = next(self._calls, None)
        self._correlation = _UNKNOWN
        self._asynchronous: bool | None = None

    def of(self, correlation: int) -> bool | None:
        """Return whether the last call with *correlation* was; None where there is none."""
        while self._next is not None and self._next[0] <= correlation:
            self._correlation, self._asynchronous = self._next[0], bool(self._next[2])
            self._next = next(self._calls, None)
        return self._asynchronous if self._correlation == correlation else None
