"""Time in which the GPU did nothing, and what the host did meanwhile."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from enum import StrEnum
from heapq import nlargest
from itertools import compress, count, islice
from operator import sub
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.calls import CallKind, blocks_host, call_kind
from gpuadvise.advisor.timelines.intervals import between, cover, longer

if TYPE_CHECKING:
    from gpuadvise.advisor.timelines.activities import Recording
    from gpuadvise.advisor.timelines.intervals import Intervals

# Gaps up to here are what giving the GPU its next piece of work takes: launches took 5 to 16 us
# under the profilers seen, and PyTorch's own work between two of them as much again.
PROMPT_NS = 50_000
# Shorter launches, copies that are only queued and small calls are part of giving work; longer ones hold the host up.
_LONG_CALL_NS = 20_000
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
    CallKind.MEMSET: GapCause.LAUNCH,
    CallKind.COPY: GapCause.COPY,
    CallKind.ALLOCATION: GapCause.ALLOCATION,
    CallKind.RELEASE: GapCause.ALLOCATION,
    CallKind.MODULE_LOAD: GapCause.MODULE_LOAD,
    CallKind.OTHER: GapCause.OTHER_CALL,
}


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
    """The gaps of a timeline: the longest one by one in order of time, all in ``totals``."""

    longest: tuple[Gap, ...]
    totals: tuple[IdleTime, ...]  # the longest total first

    def total_ns(self, *causes: GapCause) -> int:
        """Return the idle nanoseconds of these causes."""
        return sum(total.total_ns for total in self.totals if total.cause in causes)


def idleness(busy: Intervals, recording: Recording) -> Idleness:
    """Return the gaps in *busy*, the cover of a GPU's work, and their causes.

    A short gap is the launch of what follows, a long one the host's own work, unless a call took
    more of it or the host had waited until it began.
    """
    gaps = between(busy)
    lengths = list(map(sub, gaps.ends, gaps.starts))
    causes, waited = _told_by_calls(gaps, recording)
    totals: dict[GapCause, list[int]] = {cause: [0, 0] for cause in GapCause}
    long = list(filter(PROMPT_NS.__lt__, lengths))
    totals[GapCause.HOST_WORK] = [len(long), sum(long)]
    totals[GapCause.LAUNCH] = [len(lengths) - len(long), sum(lengths) - sum(long)]
    for at, cause in causes.items():
        _move(totals, _unless_told(lengths[at]), cause, lengths[at])
    kept = _places_of_longest(lengths)
    return Idleness(
        longest=tuple(
            Gap(
                start_ns=gaps.starts[at] - busy.starts[0],
                length_ns=lengths[at],
                cause=causes.get(at, _unless_told(lengths[at])),
                waited_before=at in waited,
            )
            for at in kept
        ),
        totals=tuple(
            IdleTime(cause=cause, gaps=number, total_ns=total)
            for cause, (number, total) in sorted(totals.items(), key=lambda item: -item[1][1])
            if number
        ),
    )


def _places_of_longest(lengths: list[int]) -> list[int]:
    """Return where the longest of *lengths* stand, of equal ones the first, in order."""
    least = min(nlargest(KEPT_GAPS, lengths), default=0)
    longer = list(compress(count(), map(least.__lt__, lengths)))
    equal = compress(count(), map(least.__eq__, lengths))
    return sorted([*longer, *islice(equal, KEPT_GAPS - len(longer))])


def _unless_told(length_ns: int) -> GapCause:
    return GapCause.HOST_WORK if length_ns > PROMPT_NS else GapCause.LAUNCH


def _move(
    totals: dict[GapCause, list[int]], origin: GapCause, target: GapCause, length_ns: int
) -> None:
    for cause, sign in ((origin, -1), (target, 1)):
        totals[cause][0] += sign
        totals[cause][1] += sign * length_ns


def _told_by_calls(gaps: Intervals, recording: Recording) -> tuple[dict[int, GapCause], set[int]]:
    """Return the causes of gaps that calls tell, by the gap's index, and which followed a wait."""
    times: dict[int, dict[GapCause, int]] = {}
    for cause, calls in _calls_by_cause(recording).items():
        for start, end in calls:
            for at in range(bisect_right(gaps.ends, start), len(gaps)):
                if gaps.starts[at] >= end:
                    break
                inside = min(end, gaps.ends[at]) - max(start, gaps.starts[at])
                spent = times.setdefault(at, {})
                spent[cause] = spent.get(cause, 0) + inside
    causes: dict[int, GapCause] = {}
    for at, spent in times.items():
        cause = max(spent, key=lambda one: spent[one])
        if 2 * spent[cause] >= gaps.ends[at] - gaps.starts[at]:
            causes[at] = cause
    waited = _after_waits(gaps, recording)
    for at in waited:
        if at not in causes and gaps.ends[at] - gaps.starts[at] <= PROMPT_NS:
            causes[at] = GapCause.SYNCHRONIZATION
    return causes, waited


def _calls_by_cause(recording: Recording) -> dict[GapCause, Intervals]:
    """Return when the host was in calls of each cause, without short launches."""
    groups: dict[GapCause, list[Intervals]] = {}
    for name, calls in recording.calls.items():
        cause = _CAUSES.get(call_kind(name))
        if cause is None:
            continue
        queued = cause is GapCause.COPY and not blocks_host(name)
        if queued or cause in (GapCause.LAUNCH, GapCause.OTHER_CALL):
            calls = longer(calls, _LONG_CALL_NS)
        groups.setdefault(cause, []).append(calls)
    return {cause: cover(calls) for cause, calls in groups.items()}


def _after_waits(gaps: Intervals, recording: Recording) -> set[int]:
    """Return the gaps in which a call that waited for the GPU came back."""
    waited = set()
    for name, calls in recording.calls.items():
        kind = call_kind(name)
        if kind is CallKind.SYNCHRONIZATION or (kind is CallKind.COPY and blocks_host(name)):
            for start, end in calls:
                at = bisect_left(gaps.ends, end)
                if at < len(gaps) and gaps.starts[at] <= end and start < gaps.starts[at]:
                    waited.add(at)
    return waited
