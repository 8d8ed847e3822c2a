"""What removing a cause of lost time could win at most, as a share of the traced span.

Each bound is Amdahl's: span / (span - time that the cause takes), so no repair of that cause
alone wins more. Causes are looked at one by one; their bounds do not multiply.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timeline import HOST_BOUND_IDLE, WORTH_SAYING
from gpuadvise.advisor.facts.timing import HostMemory
from gpuadvise.advisor.facts.unclaimed_idle import unclaimed_idle
from gpuadvise.advisor.timelines.activities import CopyPath, Recorder
from gpuadvise.advisor.timelines.avoidable import repeated_allocation_ns
from gpuadvise.advisor.timelines.evidence import traced_pipeline, traced_transfers
from gpuadvise.advisor.timelines.gaps import GapCause
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


# A kernel that takes more of the span than this has no bound: what is left without it is start-up,
# gaps and other kernels, and says nothing of how fast the kernel can be.
_NEARLY_ALL = 0.9
# Round trips of data: so many, and so many times the bytes one way as the other at most.
_OFTEN, _LIKE_SIZE = 4, 10


class Change(StrEnum):
    """What could be changed."""

    PIN_MEMORY = "pin-memory"
    MERGE_COPIES = "merge-copies"
    OVERLAP_COPIES = "overlap-copies"
    KEEP_ON_GPU = "keep-on-gpu"
    LAUNCH_GRAPHS = "launch-graphs"
    WAIT_LESS = "wait-less"
    SHORTEN_HOST_WORK = "shorten-host-work"
    REUSE_MEMORY = "reuse-memory"
    SHORTEN_CALLS = "shorten-calls"
    FUSE_KERNELS = "fuse-kernels"
    AVOID_COPIES = "avoid-copies"
    HIDE_COMMUNICATION = "hide-communication"
    FASTEN_KERNEL = "speed-up-kernel"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A change, the nanoseconds it saves at most, the bound on the whole, and its formula.

    ``speedup`` is None where nothing bounds it: the cause is all there is, or a kernel nearly all.
    ``subject`` names the kernel of a change that is about one.
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
            run,
            _to_host_seconds(timeline, model, run) if change is Change.PIN_MEMORY else 0.0,
        )
        for change, saved, how, subject in _savings(timeline, model, run)
        if saved > 0 and saved >= WORTH_SAYING * timeline.steady_ns
    ]
    changes += _copying_changes(timeline, {change.change for change in changes})
    changes += _waiting_changes(run)
    changes += _unclaimed_changes(timeline, model, run)
    return tuple(sorted(changes, key=lambda change: -change.saved_ns))


def _bounded(
    timeline: Timeline,
    change: Change,
    saved: int,
    how: str,
    subject: str | None,
    run: TracedRun,
    to_host_seconds: float,
) -> WhatIf:
    span = timeline.steady_ns
    left = span - min(saved, span)
    bound = span / left if left else None
    if change is Change.FASTEN_KERNEL and left < (1 - _NEARLY_ALL) * span:
        bound, how = (
            None,
            f"{how}, nearly all of the run: only the kernel itself bounds what it can win",
        )
    if to_host_seconds and bound is not None:
        how += f", where copies to the host take up to {PAGEABLE_D2H_SPREAD}x as long in other runs"
        bound = run.bound_of_slower_copies(bound, to_host_seconds)
    return WhatIf(change=change, saved_ns=min(saved, span), speedup=bound, how=how, subject=subject)


def _to_host_seconds(timeline: Timeline, model: LinkModel, run: TracedRun) -> float:
    """Return what copies to pageable memory took that pinning would shorten."""
    return sum(
        copies.count * (copies.seconds or 0.0)
        for copies in _worth_pinning(timeline, model, run)
        if copies.direction is Direction.D2H
    )


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
        Change.KEEP_ON_GPU,
        _round_trips(timeline),
        "copies to the GPU and back again and again, while no kernel runs",
        None,
    )
    yield (
        Change.REUSE_MEMORY,
        _reusing(timeline, run),
        "idle while the host allocated, and launches not queued while it freed",
        None,
    )
    yield (
        Change.HIDE_COMMUNICATION,
        _hiding(timeline),
        "time of kernels that communicate while none computes, as far as computing could hide it",
        None,
    )
    by_name: dict[str, int] = {}
    for kernel in timeline.kernels:
        if not kernel.communicates:
            by_name[kernel.shape.name] = by_name.get(kernel.shape.name, 0) + kernel.steady_ns
    for name in sorted(by_name, key=lambda name: -by_name[name])[:5]:
        yield Change.FASTEN_KERNEL, by_name[name], "all of its time", name


def _copying_changes(timeline: Timeline, named: set[Change]) -> Iterator[WhatIf]:
    """Yield what copies take beside no kernel, where much of the run is that and nothing *named* says so."""
    exposed, steady = timeline.exposed_copies_ns, timeline.steady_ns
    if named & _ABOUT_COPIES or exposed <= HOST_BOUND_IDLE * steady:
        return
    yield WhatIf(
        change=Change.AVOID_COPIES,
        saved_ns=exposed,
        speedup=steady / (steady - exposed) if exposed < _NEARLY_ALL * steady else None,
        how="copies while no kernel runs, inside of the GPU too",
    )


_ABOUT_COPIES = {Change.PIN_MEMORY, Change.MERGE_COPIES, Change.OVERLAP_COPIES, Change.KEEP_ON_GPU}


def _waiting_changes(run: TracedRun) -> Iterator[WhatIf]:
    """Yield what the host could do against an idle GPU, where the rules advise it too."""
    if run.waits_for_launches:
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
    if run.host_bound and not run.paced:
        yield WhatIf(
            change=Change.SHORTEN_HOST_WORK,
            saved_ns=round(run.host_idle_seconds * 1e9),
            speedup=run.bound_without_host_gaps,
            how="idle while the host worked, with the gap after the last kernel",
        )


def _unclaimed_changes(timeline: Timeline, model: LinkModel, run: TracedRun) -> Iterator[WhatIf]:
    """Yield what would be won without idle time that no other change is about."""
    idle = unclaimed_idle(run, traced_transfers(timeline, run), model if timeline.device else None)
    if idle is None or idle.cause in _NOT_BY_THE_PROGRAM or run.too_short:
        return
    by_host = {
        GapCause.LAUNCH: Change.FUSE_KERNELS,
        # Short of long gaps it is a framework's own, between operators.
        GapCause.HOST_WORK: Change.SHORTEN_HOST_WORK
        if timeline.recorder is Recorder.NSIGHT_SYSTEMS or run.host_idle_seconds >= idle.seconds / 2
        else Change.FUSE_KERNELS,
    }
    change = by_host.get(GapCause(idle.cause), Change.SHORTEN_CALLS)
    yield WhatIf(
        change=change,
        saved_ns=round(idle.seconds * 1e9),
        speedup=(
            run.bound(idle.seconds)
            if change is Change.SHORTEN_CALLS
            else run.bound_without_profiler(idle.seconds)
        ),
        how=_MEANWHILE[GapCause(idle.cause)],
    )


_NOT_BY_THE_PROGRAM = (GapCause.PROFILER, GapCause.QUEUED)
_MEANWHILE = {
    GapCause.LAUNCH: "idle until the next kernel is launched, or begins",
    GapCause.HOST_WORK: "idle while the host works between two launches",
    GapCause.SYNCHRONIZATION: "idle while the host waits, or gives work again after a wait",
    GapCause.COPY: "idle while the host is inside of calls that copy",
    GapCause.ALLOCATION: "idle while the host allocates or frees memory",
    GapCause.OTHER_CALL: "idle while the host is inside of other calls of CUDA",
}


def _pinning(timeline: Timeline, model: LinkModel, run: TracedRun) -> int:
    """Return what pageable copies take beyond pinned ones, on the link and in their calls."""
    device = timeline.device
    if device is None or device.coherent_host_memory or device.integrated:
        return 0
    saved = sum(saved_by_pinning(copies, model) for copies in _worth_pinning(timeline, model, run))
    return round((saved + run.lost_to_pageable_copies) * 1e9) if saved else 0


def _round_trips(timeline: Timeline) -> int:
    """Return the time of copies beside no kernel, where data of like size travel to the GPU and back often."""
    to_gpu, back = (
        [
            copies
            for copies in timeline.steady_copies
            if copies.kind.path is path and not copies.managed
        ]
        for path in (CopyPath.H2D, CopyPath.D2H)
    )
    often = min(sum(copies.calls for copies in way) for way in (to_gpu, back)) >= _OFTEN
    moved = [sum(copies.bytes for copies in way) for way in (to_gpu, back)]
    exposed = timeline.exposed_copies_ns
    much = exposed >= HOST_BOUND_IDLE * timeline.steady_ns
    return exposed if often and much and min(moved) * _LIKE_SIZE >= max(moved) else 0


def _hiding(timeline: Timeline) -> int:
    """Return what hiding communication wins at most: all of the computing beside it."""
    account, communication = timeline.account, timeline.communication
    if communication is None:
        return 0
    return min(account.communication_ns, account.computing_ns - communication.hidden_ns)


def _reusing(timeline: Timeline, run: TracedRun) -> int:
    """Return what repeated allocations cost, where the rule repeated-allocations names them."""
    if repeated_allocation_ns(timeline) < WORTH_SAYING * timeline.steady_ns:
        return 0
    return round(run.lost_to_allocations * 1e9)


def _worth_pinning(timeline: Timeline, model: LinkModel, run: TracedRun) -> list[Transfer]:
    """Return the pageable copies that the rule pageable-transfers advises to pin."""
    return [
        copies
        for copies in traced_transfers(timeline, run)
        if copies.memory is HostMemory.PAGEABLE and worth_pinning(copies, model, run.span_seconds)
    ]


def _merging(timeline: Timeline, model: LinkModel, run: TracedRun) -> int:
    """Return what small copies cost, where the rule small-transfers advises to merge them."""
    if timeline.device is None:
        return 0
    saved = sum(
        saved_by_merging(copies, model)
        for copies in traced_transfers(timeline, run)
        if worth_merging(copies, model, run.span_seconds, run)
    )
    return round((saved + run.around_copies) * 1e9) if saved else 0


def _overlapping(timeline: Timeline, model: LinkModel, run: TracedRun) -> int:
    """Return what staging saves where the rule serial-transfers advises it."""
    pipeline = traced_pipeline(timeline, model)
    staged = worthwhile_staging(pipeline, model, run) if pipeline and timeline.device else None
    return round(saved_by_staging(staged, run) * 1e9) if staged else 0
