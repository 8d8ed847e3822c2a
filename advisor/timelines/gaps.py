"""Time in which the GPU did nothing, and what the host did meanwhile."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from operator import itemgetter, sub
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.timelines.calls import CallKind, waits_to_free
from gpuadvise.advisor.timelines.intervals import Cover, CoverReader, Intervals
from gpuadvise.advisor.timelines.sorted_runs import merged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.timelines.activities import Recording
    from gpuadvise.advisor.timelines.intervals import Interval, IntervalLog

# Gaps up to here are what giving the GPU its next piece of work takes: launches took 5 to 16 us
# under the profilers seen, and PyTorch's own work between two of them as much again.
PROMPT_NS = 50_000
# Gaps from here on are the host's own doing; between two operators of PyTorch, under its
# profiler, up to 0.4 ms were seen.
LONG_NS = 500_000
# Gaps that a timeline keeps one by one; all of them are in its totals.
KEPT_GAPS = 200


class GapCause(StrEnum):
    """What the host did in a gap, or what made the gap."""

    HOST_WORK = "host-work"
    SYNCHRONIZATION = "synchronization"
    LAUNCH = "launch"
    COPY = "copy"
    ALLOCATION = "allocation"
    MODULE_LOAD = "module-load"
    OTHER_CALL = "other-call"


_CAUSES = {
    CallKind.LAUNCH: GapCause.LAUNCH,
    CallKind.GRAPH_LAUNCH: GapCause.LAUNCH,
    CallKind.SYNCHRONIZATION: GapCause.SYNCHRONIZATION,  # while another GPU works
    CallKind.MEMSET: GapCause.LAUNCH,
    CallKind.COPY: GapCause.COPY,
    CallKind.ALLOCATION: GapCause.ALLOCATION,
    CallKind.RELEASE: GapCause.ALLOCATION,
    CallKind.MODULE_LOAD: GapCause.MODULE_LOAD,
    CallKind.OTHER: GapCause.OTHER_CALL,
}
_OWN_WORK = (GapCause.HOST_WORK, GapCause.OTHER_CALL)
# Nothing else explains these, so whatever emptied the queue does.
_NOT_BY_CALLS = (None, GapCause.HOST_WORK, GapCause.LAUNCH, GapCause.OTHER_CALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A stretch in which the GPU was idle; nanoseconds, the start from the span's.

    ``waited_before`` says that the host had been waiting for the GPU when the gap began: nothing
    could be queued behind the work that had just ended.
    """

    start_ns: int
    length_ns: int
    cause: GapCause
    waited_before: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleTime:
    """All gaps of one cause: how many, and their nanoseconds."""

    cause: GapCause
    gaps: int
    total_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Idleness:
    """The gaps of a timeline: the longest one by one in order of time, all in ``totals``.

    Work began at ``start_ns`` and ended at ``end_ns`` of the recording's clock.
    ``long_host`` are those of at least LONG_NS in which the host worked on its own.
    ``after_waits_ns`` is the time of gaps that waits began or filled, and that no copy, allocation
    or loading of code took: nothing could be queued in time.
    """

    start_ns: int
    end_ns: int
    longest: tuple[Gap, ...]
    totals: tuple[IdleTime, ...]  # the longest total first
    long_host: IdleTime
    after_waits_ns: int = 0

    def total_ns(self, *causes: GapCause) -> int:
        """Return the idle nanoseconds of these causes, of all where none is named."""
        return sum(total.total_ns for total in self.totals if not causes or total.cause in causes)


def idleness(busy: Cover, recording: Recording) -> Idleness:
    """Return the gaps in *busy*, the cover of a GPU's work, and their causes.

    A short gap is the launch of what follows, a long one the host's own work, unless a call took
    more of it, a wait for another GPU too, memory was freed as it began, or the host had waited
    until then. Raises BadInput where nothing was busy.
    """
    calls, waits, releases = _readers(recording), _Waits(recording), _releases(recording)
    sums = _Sums()
    start = end = None
    for block in busy.blocks():
        gaps = _between(end, block)
        start, end = block.starts[0] if start is None else start, block.ends[-1]
        if len(gaps):
            waited = waits.before(gaps)
            causes = _causes(gaps, calls, waited)
            for at in _begun_in(gaps, releases):
                # cudaFree() waits for the GPU: whatever follows it could not be queued before.
                if causes.get(at) in _NOT_BY_CALLS:
                    causes[at] = GapCause.ALLOCATION
            sums.add(gaps, causes, waited)
    if start is None or end is None:
        raise BadInput("The recording holds no work of a GPU.")
    return Idleness(
        start_ns=start,
        end_ns=end,
        longest=tuple(
            Gap(start_ns=-begin - start, length_ns=length, cause=cause, waited_before=waited)
            for length, begin, cause, waited in sorted(sums.longest, key=lambda gap: -gap[1])
        ),
        totals=sums.totals(),
        long_host=IdleTime(
            cause=GapCause.HOST_WORK, gaps=sums.long_host[0], total_ns=sums.long_host[1]
        ),
        after_waits_ns=sums.after_waits_ns,
    )


def _between(end: int | None, block: Intervals) -> Intervals:
    """Return the time between the intervals of *block*, and since *end*, where work ended before."""
    gaps = Intervals(block.ends[:-1], block.starts[1:])
    if end is not None:
        gaps.starts.insert(0, end)
        gaps.ends.insert(0, block.starts[0])
    return gaps


class _Sums:
    """Gaps by cause, and the longest of them as (length, -start, cause, whether waited before)."""

    def __init__(self) -> None:
        self.by_cause = {cause: [0, 0] for cause in GapCause}
        self.longest: list[tuple[int, int, GapCause, bool]] = []
        self.long_host = [0, 0]
        self.after_waits_ns = 0

    def add(self, gaps: Intervals, causes: dict[int, GapCause], waited: set[int]) -> None:
        """Add the gaps of a block; *causes* are those that calls tell, by the gap's place."""
        lengths = list(map(sub, gaps.ends, gaps.starts))
        long = [length for length in lengths if length > PROMPT_NS]
        self._move(None, GapCause.HOST_WORK, len(long), sum(long))
        short, total = len(lengths) - len(long), sum(lengths) - sum(long)
        self._move(None, GapCause.LAUNCH, short, total)
        for at, cause in causes.items():
            self._move(_without_calls(lengths[at]), cause, 1, lengths[at])
            if cause is GapCause.SYNCHRONIZATION:
                self.after_waits_ns += lengths[at]
        for at in waited:
            if causes.get(at) in _NOT_BY_CALLS:
                self.after_waits_ns += lengths[at]
        for at, length in enumerate(lengths):
            if length >= LONG_NS and causes.get(at, GapCause.HOST_WORK) in _OWN_WORK:
                self.long_host[0] += 1
                self.long_host[1] += length
        least = self.longest[-1][0] if len(self.longest) == KEPT_GAPS else 0
        if max(lengths) <= least:
            return
        for at in [place for place, length in enumerate(lengths) if length > least]:
            cause = causes.get(at, _without_calls(lengths[at]))
            self.longest.append((lengths[at], -gaps.starts[at], cause, at in waited))
        self.longest.sort(key=itemgetter(0, 1), reverse=True)
        del self.longest[KEPT_GAPS:]

    def _move(self, origin: GapCause | None, target: GapCause, gaps: int, total_ns: int) -> None:
        if origin is not None:
            self._move(None, origin, -gaps, -total_ns)
        self.by_cause[target][0] += gaps
        self.by_cause[target][1] += total_ns

    def totals(self) -> tuple[IdleTime, ...]:
        """Return the sums, the largest first."""
        return tuple(
            IdleTime(cause=cause, gaps=gaps, total_ns=total)
            for cause, (gaps, total) in sorted(self.by_cause.items(), key=lambda item: -item[1][1])
            if gaps
        )


def _without_calls(length_ns: int) -> GapCause:
    return GapCause.HOST_WORK if length_ns > PROMPT_NS else GapCause.LAUNCH


def _causes(
    gaps: Intervals, calls: dict[GapCause, CoverReader], waited: set[int]
) -> dict[int, GapCause]:
    """Return the causes of gaps that calls and waits tell, by the gap's place."""
    times: dict[int, dict[GapCause, int]] = {}
    all_places = range(len(gaps))
    # The host waits for all that is queued, not for what comes next in the queue: of short gaps a
    # wait says nothing.
    long = [at for at in all_places if gaps.ends[at] - gaps.starts[at] > PROMPT_NS]
    for cause, reader in calls.items():
        places = long if cause is GapCause.SYNCHRONIZATION else all_places
        starts, ends = [gaps.starts[at] for at in places], [gaps.ends[at] for at in places]
        for block in reader.until(gaps.ends[-1]):
            for start, end in block if places else ():
                for at in range(bisect_right(ends, start), len(places)):
                    if starts[at] >= end:
                        break
                    inside = min(end, ends[at]) - max(start, starts[at])
                    spent = times.setdefault(places[at], {})
                    spent[cause] = spent.get(cause, 0) + inside
    causes: dict[int, GapCause] = {}
    for at, spent in times.items():
        cause = max(spent, key=lambda cause: spent[cause])
        if 2 * spent[cause] >= gaps.ends[at] - gaps.starts[at]:
            causes[at] = cause
    for at in waited:
        if at not in causes and gaps.ends[at] - gaps.starts[at] <= PROMPT_NS:
            causes[at] = GapCause.SYNCHRONIZATION
    return causes


def _readers(recording: Recording) -> dict[GapCause, CoverReader]:
    """Return when the host was in calls of each cause, without short launches."""
    groups: dict[GapCause, list[IntervalLog]] = {}
    for calls in recording.calls.values():
        cause = _CAUSES.get(calls.kind)
        if cause is not None:
            groups.setdefault(cause, []).append(calls.times)
    return {cause: CoverReader(Cover(logs)) for cause, logs in groups.items()}


def _releases(recording: Recording) -> CoverReader:
    """Return when the host was in calls that free memory and wait for the GPU to do so."""
    return CoverReader(
        Cover(
            calls.times
            for name, calls in recording.calls.items()
            if calls.kind is CallKind.RELEASE and waits_to_free(name)
        )
    )


def _begun_in(gaps: Intervals, calls: CoverReader) -> Iterator[int]:
    """Yield the places of the gaps that began in one of *calls*."""
    for block in calls.until(gaps.ends[-1]):
        for start, end in block:
            first, after = bisect_left(gaps.starts, start), bisect_left(gaps.starts, end)
            yield from range(first, after)


class _Waits:
    """The calls that waited for the GPU, in the order in which they came back."""

    def __init__(self, recording: Recording) -> None:
        waits = [calls.waits for calls in recording.calls.values() if calls.waits is not None]
        self._rows: Iterator[Interval] = chain.from_iterable(merged(waits))
        self._next = next(self._rows, None)

    def before(self, gaps: Intervals) -> set[int]:
        """Return the places of the gaps in which such a call came back."""
        waited = set()
        while self._next is not None and self._next[0] <= gaps.ends[-1]:
            end, start = self._next
            at = bisect_left(gaps.ends, end)
            if start < gaps.starts[at] <= end:
                waited.add(at)
            self._next = next(self._rows, None)
        return waited
