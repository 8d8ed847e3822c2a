"""Time in which the GPU did nothing, and what the host did meanwhile."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.calls import CallKind, blocks_host, call_kind
from gpuadvise.advisor.timelines.intervals import between, common, cover

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.timelines.activities import Recording
    from gpuadvise.advisor.timelines.intervals import Interval

# A host that had waited for the GPU and gives it work again within this time, launch included,
# would have had nothing to do but wait: longer gaps are its own work. Launches took 5 to 16 us
# under the profilers seen, copies back to the host as much again.
PROMPT_NS = 50_000


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
    CallKind.SYNCHRONIZATION: GapCause.SYNCHRONIZATION,
    CallKind.COPY: GapCause.COPY,
    CallKind.ALLOCATION: GapCause.ALLOCATION,
    CallKind.RELEASE: GapCause.ALLOCATION,
    CallKind.MODULE_LOAD: GapCause.MODULE_LOAD,
    CallKind.OTHER: GapCause.OTHER_CALL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A stretch in which the GPU was idle; times in nanoseconds, the start from the span's.

    ``waited_before`` says that the host had waited for the GPU until the gap began: nothing
    could be queued behind the work that had just ended.
    """

    start_ns: int
    length_ns: int
    cause: GapCause
    waited_before: bool


def find_gaps(busy: Sequence[Interval], recording: Recording) -> tuple[Gap, ...]:
    """Return every gap in the cover *busy* of a GPU's work, in order."""
    gaps = between(busy)
    if not gaps:
        return ()
    begin = busy[0][0]
    times = _time_in_calls(gaps, recording)
    waits = _ends_of_waits(recording)
    return tuple(
        _gap(gap, begin, {cause: spent[i] for cause, spent in times.items()}, waits)
        for i, gap in enumerate(gaps)
    )


def _gap(gap: Interval, begin: int, times: dict[GapCause, int], waits: Sequence[int]) -> Gap:
    start, end = gap
    at = bisect_left(waits, start)
    waited = at < len(waits) and waits[at] <= end
    in_calls = {cause: spent for cause, spent in times.items() if spent}
    cause = max(in_calls, key=lambda name: in_calls[name], default=GapCause.HOST_WORK)
    host = end - start - sum(in_calls.values())
    if host > in_calls.get(cause, 0):
        cause = GapCause.HOST_WORK
    if waited and cause in (GapCause.HOST_WORK, GapCause.LAUNCH) and end - start <= PROMPT_NS:
        cause = GapCause.SYNCHRONIZATION
    return Gap(start_ns=start - begin, length_ns=end - start, cause=cause, waited_before=waited)


def _time_in_calls(gaps: Sequence[Interval], recording: Recording) -> dict[GapCause, list[int]]:
    """Return for each cause how long the host was in such calls, gap by gap."""
    groups: dict[GapCause, list[str]] = {}
    for name in recording.calls:
        groups.setdefault(_CAUSES[call_kind(name)], []).append(name)
    times: dict[GapCause, list[int]] = {}
    for cause, names in groups.items():
        calls = cover([recording.calls[name] for name in names])
        times[cause] = _spent(gaps, calls)
    return times


def _spent(gaps: Sequence[Interval], calls: Sequence[Interval]) -> list[int]:
    """Return the nanoseconds of *calls* in each gap."""
    spent = [0] * len(gaps)
    at = 0
    for start, end in common(gaps, calls):
        while gaps[at][1] < end:
            at += 1
        spent[at] += end - start
    return spent


def _ends_of_waits(recording: Recording) -> list[int]:
    """Return when the host had waited for the GPU, in order."""
    ends: list[int] = []
    for name, calls in recording.calls.items():
        kind = call_kind(name)
        if kind is CallKind.SYNCHRONIZATION or (kind is CallKind.COPY and blocks_host(name)):
            ends.extend(calls.ends)
    return sorted(ends)


def time_by_cause(gaps: Sequence[Gap]) -> dict[GapCause, int]:
    """Return the idle nanoseconds of each cause, the longest first."""
    total: dict[GapCause, int] = {}
    for gap in gaps:
        total[gap.cause] = total.get(gap.cause, 0) + gap.length_ns
    return dict(sorted(total.items(), key=lambda item: -item[1]))
