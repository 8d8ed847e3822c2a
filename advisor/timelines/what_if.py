"""What removing a cause of lost time could win at most, as a share of the traced span.

Each bound is Amdahl's: span / (span - time that the cause takes), so no repair of that cause
alone wins more. Causes are looked at one by one; their bounds do not multiply.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timeline import WORTH_SAYING
from gpuadvise.advisor.facts.timing import HostMemory
from gpuadvise.advisor.timelines.avoidable import repeated_allocation_ns
from gpuadvise.advisor.timelines.evidence import traced_pipeline, traced_transfers
from gpuadvise.advisor.transfers.copies import Direction
from gpuadvise.advisor.transfers.links import PAGEABLE_D2H_SPREAD
from gpuadvise.advisor.transfers.savings import (
    saved_by_merging,
    saved_by_pinning,
    saved_by_staging,
    worth_merging,
    worth_pinning,
    worthwhile_staging,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.facts.timing import Transfer
    from gpuadvise.advisor.timelines.timeline import Timeline
    from gpuadvise.advisor.transfers.links import LinkModel


class Change(StrEnum):
    """What could be changed."""

    PIN_MEMORY = "pin-memory"
    MERGE_COPIES = "merge-copies"
    OVERLAP_COPIES = "overlap-copies"
    LAUNCH_GRAPHS = "launch-graphs"
    WAIT_LESS = "wait-less"
    SHORTEN_HOST_WORK = "shorten-host-work"
    REUSE_MEMORY = "reuse-memory"
    FASTEN_KERNEL = "speed-up-kernel"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A change, the nanoseconds it saves at most, the bound on the whole, and its formula.

    ``speedup`` is None where nothing bounds it: the cause is all there is. ``subject`` names the
    kernel of a change that is about one.
    """

    change: Change
    saved_ns: int
    speedup: float | None
    how: str
    subject: str | None = None


def what_if(timeline: Timeline, model: LinkModel, run: TracedRun) -> tuple[WhatIf, ...]:
    """Return the changes that could save at least 2 % of the span, the largest first."""
    changes = [
        _bounded(
            timeline,
            change,
            saved,
            how,
            subject,
            _slower_ns(timeline, model, run) if change is Change.PIN_MEMORY else 0,
        )
        for change, saved, how, subject in _savings(timeline, model, run)
        if saved > 0 and saved >= WORTH_SAYING * timeline.span_ns
    ]
    changes += _waiting_changes(run)
    return tuple(sorted(changes, key=lambda change: -change.saved_ns))


def _bounded(
    timeline: Timeline, change: Change, saved: int, how: str, subject: str | None, slower: int
) -> WhatIf:
    span = timeline.span_ns
    left = span - min(saved, span)
    if slower:
        how += f", where copies to the host take up to {PAGEABLE_D2H_SPREAD}x as long in other runs"
    bound = (span + slower) / left if left else None
    return WhatIf(change=change, saved_ns=min(saved, span), speedup=bound, how=how, subject=subject)


def _slower_ns(timeline: Timeline, model: LinkModel, run: TracedRun) -> int:
    """Return what copies to pageable memory may take beyond what they took in this run."""
    taken = sum(
        copies.count * (copies.seconds or 0.0)
        for copies in _worth_pinning(timeline, model, run)
        if copies.direction is Direction.D2H
    )
    return round((PAGEABLE_D2H_SPREAD - 1) * taken * 1e9)


def _savings(
    timeline: Timeline, model: LinkModel, run: TracedRun
) -> Iterator[tuple[Change, int, str, str | None]]:
    yield (
        Change.PIN_MEMORY,
        _pinning(timeline, model, run),
        "time of pageable copies beyond that of pinned ones, idle in their calls and after waits",
        None,
    )
    yield (
        Change.MERGE_COPIES,
        _merging(timeline, model, run),
        "time of small copies beyond that of their bytes, idle while they are queued or waited for",
        None,
    )
    yield (
        Change.OVERLAP_COPIES,
        _overlapping(timeline, model, run),
        "time of kernels and copies beyond the longest of copy in, kernel and copy out",
        None,
    )
    yield (
        Change.REUSE_MEMORY,
        _reusing(timeline, run),
        "idle while the host allocated, and launches not queued while it freed",
        None,
    )
    for kernel in [one for one in timeline.kernels if not one.communicates][:5]:
        yield Change.FASTEN_KERNEL, kernel.total_ns, "all of its time", kernel.shape.name


def _waiting_changes(run: TracedRun) -> Iterator[WhatIf]:
    """Yield what the host could do against an idle GPU, where the rules advise it too."""
    if run.launch_bound:
        yield WhatIf(
            change=Change.LAUNCH_GRAPHS,
            saved_ns=round(run.launch_idle_seconds * 1e9),
            speedup=run.bound_without_profiler(run.lost_to_launches),
            how="idle between launches, with the start and end of each kernel, the profiler's part of each launch taken off the span",
        )
    if run.waits_often and run.share(run.lost_to_waits) >= WORTH_SAYING:
        yield WhatIf(
            change=Change.WAIT_LESS,
            saved_ns=round(min(run.lost_to_waits, run.span_seconds) * 1e9),
            speedup=run.bound(run.lost_to_waits),
            how="idle time after waits, and the copies of single values",
        )
    if run.host_bound:
        yield WhatIf(
            change=Change.SHORTEN_HOST_WORK,
            saved_ns=round(run.host_idle_seconds * 1e9),
            speedup=run.bound_without_host_gaps,
            how="idle while the host worked, with the gap after the last kernel",
        )


def _pinning(timeline: Timeline, model: LinkModel, run: TracedRun) -> int:
    """Return what pageable copies take beyond pinned ones, on the link and in their calls."""
    device = timeline.device
    if device is None or device.coherent_host_memory or device.integrated:
        return 0
    saved = sum(saved_by_pinning(copies, model) for copies in _worth_pinning(timeline, model, run))
    around = run.around_copies - run.queueing_idle_seconds
    return round((saved + around) * 1e9) if saved else 0


def _reusing(timeline: Timeline, run: TracedRun) -> int:
    """Return what repeated allocations cost, where the rule repeated-allocations names them."""
    if repeated_allocation_ns(timeline) < WORTH_SAYING * timeline.span_ns:
        return 0
    return round(run.lost_to_allocations * 1e9)


def _worth_pinning(timeline: Timeline, model: LinkModel, run: TracedRun) -> list[Transfer]:
    """Return the pageable copies that the rule pageable-transfers advises to pin."""
    return [
        copies
        for copies in traced_transfers(timeline, run)
        if copies.memory is HostMemory.PAGEABLE
        and worth_pinning(copies, model, timeline.span_seconds)
    ]


def _merging(timeline: Timeline, model: LinkModel, run: TracedRun) -> int:
    """Return what small copies cost, where the rule small-transfers advises to merge them."""
    if timeline.device is None:
        return 0
    saved = sum(
        saved_by_merging(copies, model)
        for copies in traced_transfers(timeline, run)
        if worth_merging(copies, model, timeline.span_seconds, run)
    )
    return round((saved + run.around_copies) * 1e9) if saved else 0


def _overlapping(timeline: Timeline, model: LinkModel, run: TracedRun) -> int:
    """Return what staging saves where the rule serial-transfers advises it."""
    pipeline = traced_pipeline(timeline, model)
    staged = worthwhile_staging(pipeline, model, run) if pipeline and timeline.device else None
    return round(saved_by_staging(staged, run) * 1e9) if staged else 0
