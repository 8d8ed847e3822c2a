"""Time of copies and allocations beyond what they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.activities import CopyPath
from gpuadvise.advisor.timelines.calls import CallKind
from gpuadvise.advisor.timelines.gaps import GapCause
from gpuadvise.advisor.transfers.copies import Direction, copy_rate

if TYPE_CHECKING:
    from gpuadvise.advisor.timelines.timeline import Timeline, TracedCopies
    from gpuadvise.advisor.transfers.links import LinkModel

DIRECTIONS = {CopyPath.H2D: Direction.H2D, CopyPath.D2H: Direction.D2H}


def repeated_allocation_ns(timeline: Timeline) -> int:
    """Return the idle time in which the host allocated.

    Without one allocation that took most of it: that is the start of CUDA, which no reuse saves.
    Nothing where memory was allocated once at most.
    """
    calls = timeline.calls_for(CallKind.ALLOCATION)
    if sum(call.calls for call in calls) < 2:
        return 0
    total = timeline.account.idle_of(GapCause.ALLOCATION)
    longest = max(call.longest_ns for call in calls)
    if timeline.outside.call_ns >= longest:
        return total  # that one was over before the GPU's first work
    return max(0, total - longest) if 2 * longest > total else total


def least_ns(copies: TracedCopies, model: LinkModel) -> int | None:
    """Return what these copies would take from pinned memory alone on the link.

    None for copies that do not cross it.
    """
    direction = DIRECTIONS.get(copies.kind.path)
    if direction is None:
        return None
    seconds = copies.calls * model.copy_latency + copies.bytes / copy_rate(model, direction)
    return round(seconds * 1e9)
