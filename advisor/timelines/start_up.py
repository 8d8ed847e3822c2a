"""What a program does once: contexts, streams, the loading and compiling of code, first allocations.

No repair of a loop wins that time, and a longer run has no more of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.calls import CallKind
from gpuadvise.advisor.timelines.intervals import Cover, Intervals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpuadvise.advisor.timelines.activities import CallRuns
    from gpuadvise.advisor.timelines.host_events import Culprit

# Calls of the interface whose time does not hang on the amount of work.
_KINDS = (
    CallKind.LAUNCH,
    CallKind.GRAPH_LAUNCH,
    CallKind.MEMSET,
    CallKind.ALLOCATION,
    CallKind.RELEASE,
    CallKind.OTHER,
)
# A launch that loads code took 15 to 1,565 ms where the others took 5 to 16 us.
_TIMES_THE_MEDIAN = 100
_LEAST_NS = 1_000_000
# Of few calls none is typical.
_FEW, _LEAST_OF_FEW_NS = 8, 5_000_000
# More than so many of a function are no start.
_MOST = 8
# A compiled region that is only called takes less than a millisecond, and compiling one 0.3 s at least.
_COMPILING_NS = 100_000_000
# The first calls of a script or a jitted function take so many times as long as what comes later.
_TIMES_LATER = 10
# Allocations that all come before this share of the GPU's work fill a pool once.
_WARM_UP = 1 / 3


def one_time_calls(calls: Mapping[str, CallRuns]) -> dict[str, int]:
    """Return from how many nanoseconds on a call of a function is one of the program's start."""
    least = {name: bound for name, runs in calls.items() if (bound := _least_ns(runs)) is not None}
    return {
        name: bound
        for name, bound in least.items()
        if sum(map(len, LongerThan(Cover([calls[name].times]), bound).blocks())) <= _MOST
    }


def _least_ns(runs: CallRuns) -> int | None:
    if runs.kind not in _KINDS or not runs.durations:
        return None
    summary = runs.durations.summary()
    if summary.count < _FEW:
        bound = _LEAST_OF_FEW_NS
    else:
        bound = max(_LEAST_NS, _TIMES_THE_MEDIAN * summary.median)
    return bound if summary.largest >= bound else None


def is_warm_up(busy_at_last_ns: int, busy_ns: int) -> bool:
    """Return whether allocations were over when the GPU had worked *busy_at_last_ns* of *busy_ns*."""
    return busy_at_last_ns < _WARM_UP * busy_ns


def first_calls(gaps: Sequence[tuple[int, int]], busy_ns: int) -> list[int]:
    """Return the places of the *gaps* that a framework's first calls made.

    *gaps* are the long ones in which the host worked on its own: how long each was, and what the
    GPU, which worked for *busy_ns* in all, had worked before it. A just-in-time compiler of which no
    event tells takes the first calls: each as long as several later ones, and before a third of the
    GPU's work.
    """
    first = [at for at, (_, before) in enumerate(gaps) if is_warm_up(before, busy_ns)]
    later_ns = max((gaps[at][0] for at in {*range(len(gaps))}.difference(first)), default=0)
    least = max(_COMPILING_NS, _TIMES_LATER * later_ns)
    return [at for at in first if gaps[at][0] >= least]


def compiles(culprit: Culprit, length_ns: int) -> bool:
    """Return whether a gap of *length_ns*, which the host spent in *culprit*, is a compiler at work."""
    return culprit.compiles and length_ns >= _COMPILING_NS


class LongerThan:
    """The intervals of a cover from *least* nanoseconds on."""

    def __init__(self, cover: Cover, least: int) -> None:
        self._cover = cover
        self._least = least

    def blocks(self) -> Iterator[Intervals]:
        """Yield them in order, some thousand at a time."""
        for block in self._cover.blocks():
            kept = [(start, end) for start, end in block if self._keeps(end - start)]
            if kept:
                yield Intervals(*zip(*kept, strict=True))

    def _keeps(self, length: int) -> bool:
        return length >= self._least


class UpTo(LongerThan):
    """The other intervals."""

    def _keeps(self, length: int) -> bool:
        return length < self._least
