"""What removing a cause of lost time could win at most, as a share of the traced span.

Each bound is Amdahl's: span / (span - time that the cause takes), so no repair of that cause
alone wins more. Causes are looked at one by one; their bounds do not multiply. A change that a rule
advises is listed with the rule's own arithmetic, and where the rule advises it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.communication_savings import (
    hidden_among_ranks,
    hidden_of_one,
    saved_by_even_rank,
    saved_by_even_ranks,
)
from gpuadvise.advisor.facts.costly_operators import costly_operators
from gpuadvise.advisor.facts.managed_savings import saved_by_prefetching
from gpuadvise.advisor.facts.pass_savings import saved_by_fused_attention, saved_by_fused_passes
from gpuadvise.advisor.facts.product_savings import (
    saved_by_one_layout,
    saved_by_padding,
    saved_by_single_precision,
    saved_by_tensor_cores,
)
from gpuadvise.advisor.facts.timeline import WORTH_SAYING
from gpuadvise.advisor.facts.unclaimed_idle import unclaimed_idle
from gpuadvise.advisor.peaks import fp64_ratio
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.advisor.timelines.activities import CopyPath, Recorder
from gpuadvise.advisor.timelines.avoidable import repeated_allocation_ns
from gpuadvise.advisor.timelines.evidence import (
    traced_managed,
    traced_pipeline,
    traced_transfer_seconds,
    traced_transfers,
)
from gpuadvise.advisor.timelines.gaps import GapCause
from gpuadvise.advisor.transfers.copies import Direction
from gpuadvise.advisor.transfers.links import PAGEABLE_D2H_SPREAD
from gpuadvise.advisor.transfers.savings import (
    bound_of_pinning,
    copies_to_pin,
    saved_by_fewer_copies,
    saved_by_staging,
    saved_of_run_by_merging,
    saved_of_run_by_pinning,
    worth_merging,
    worthwhile_staging,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.facts.ranks import RankWaits
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.timelines.timeline import Timeline
    from gpuadvise.advisor.transfers.links import LinkModel


_NS = 1e9
# A kernel that takes more of the span than this has no bound: what is left without it is start-up,
# gaps and other kernels, and says nothing of how fast the kernel can be.
_NEARLY_ALL = 0.9
_MOST_KERNELS = 5
# Round trips of data: so many, and so many times the bytes one way as the other at most.
_OFTEN, _LIKE_SIZE = 4, 10


class Change(StrEnum):
    """What could be changed."""

    PIN_MEMORY = "pin-memory"
    MERGE_COPIES = "merge-copies"
    OVERLAP_COPIES = "overlap-copies"
    KEEP_ON_GPU = "keep-on-gpu"
    AVOID_COPIES = "avoid-copies"
    PREFETCH_MEMORY = "prefetch-memory"
    REUSE_MEMORY = "reuse-memory"
    LAUNCH_GRAPHS = "launch-graphs"
    WAIT_LESS = "wait-less"
    SHORTEN_HOST_WORK = "shorten-host-work"
    SHORTEN_CALLS = "shorten-calls"
    FUSE_KERNELS = "fuse-kernels"
    USE_TENSOR_CORES = "use-tensor-cores"
    LEAVE_FP64 = "leave-fp64"
    PAD_PRODUCTS = "pad-products"
    KEEP_LAYOUT = "keep-layout"
    FUSE_ATTENTION = "fuse-attention"
    FUSE_PASSES = "fuse-passes"
    REPLACE_OPERATORS = "replace-operators"
    EVEN_RANKS = "even-ranks"
    HIDE_COMMUNICATION = "hide-communication"
    FASTEN_KERNEL = "speed-up-kernel"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A change, the nanoseconds it saves at most, the bound on the whole, and its formula.

    ``speedup`` is None where nothing bounds it: the cause is all there is, or a kernel nearly all.
    ``subject`` names what the change is about where it is one of several: the kernel, or the copies.
    """

    change: Change
    saved_ns: int
    speedup: float | None
    how: str
    subject: str | None = None

    @property
    def rank(self) -> float:
        """What it is listed by: what has no bound could win what the largest kernel that has one could."""
        return self.speedup or 1 / (1 - _NEARLY_ALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Won:
    """What a change saves of a run in seconds, *idle* of them with nothing on the GPU."""

    change: Change
    saved: float
    bound: float | None
    how: str
    subject: str | None = None
    idle: float = 0.0


def what_if(
    timeline: Timeline, model: LinkModel, run: TracedRun, ranks: RankWaits | None = None
) -> tuple[WhatIf, ...]:
    """Return the changes that could save at least 2 % of the span, the largest first.

    *ranks* tell how long the ranks of one program waited for each other, where they were recorded together: *run*
    is then without what is estimated of that.
    """
    link = model if timeline.device else None
    won = [
        *(_by_copies(timeline, link, run) if link else ()),
        *_by_fewer_copies(timeline, link, run),
        *_by_memory(timeline, run),
        *_by_the_host(run),
        *_by_unclaimed_idle(timeline, link, run),
        *_by_kernels(timeline, run),
        *_by_ranks(run, ranks),
        *_by_one_kernel(timeline, run),
    ]
    listed = sorted(
        (one for one in won if one.saved >= WORTH_SAYING * run.span_seconds and one.saved > 0),
        key=lambda one: -(one.bound or 1 / (1 - _NEARLY_ALL)),
    )
    return tuple(_without_repeats(listed, run))


def _without_repeats(listed: Sequence[_Won], run: TracedRun) -> Iterator[WhatIf]:
    """Yield what is *listed*, with how much of its idle time, at least, is in the rows above, too."""
    claimed, idle = 0.0, max(0.0, run.span_seconds - run.busy_seconds)
    for one in listed:
        also = min(one.idle, max(0.0, claimed + one.idle - idle))
        claimed += one.idle
        again = f"; {show_seconds(also)} of it or more is idle time of rows above"
        yield WhatIf(
            change=one.change,
            saved_ns=round(min(one.saved, run.span_seconds) * _NS),
            speedup=one.bound,
            how=one.how + (again if also >= WORTH_SAYING * run.span_seconds else ""),
            subject=one.subject,
        )


def _by_copies(timeline: Timeline, link: LinkModel, run: TracedRun) -> Iterator[_Won]:
    """Yield what other copies win, a row for each kind of them that a finding is about."""
    transfers = traced_transfers(timeline, run)
    for copy in copies_to_pin(transfers, timeline.device, link, run.span_seconds):
        how = "time of pageable copies beyond that of pinned ones, idle in their calls and after waits"
        if copy.direction is Direction.D2H:
            how += f", where copies to the host take up to {PAGEABLE_D2H_SPREAD}x as long in other runs"
        yield _Won(
            change=Change.PIN_MEMORY,
            saved=saved_of_run_by_pinning(copy, link, run),
            bound=bound_of_pinning(copy, link, run),
            how=how,
            subject=_WAYS[copy.direction],
            idle=run.lost_to_pageable_copies,
        )
    for copy in transfers:
        if worth_merging(copy, link, run.span_seconds, run):
            saved = saved_of_run_by_merging(copy, link, run)
            yield _Won(
                change=Change.MERGE_COPIES,
                saved=saved,
                bound=run.bound(saved),
                how="time of small copies beyond that of their bytes, idle while they are queued or waited for",
                subject=_WAYS[copy.direction],
                idle=run.around_copies,
            )
    pipeline = traced_pipeline(timeline, link)
    staged = worthwhile_staging(pipeline, link, run) if pipeline else None
    if staged is not None:
        saved = saved_by_staging(staged, run)
        yield _Won(
            change=Change.OVERLAP_COPIES,
            saved=saved,
            bound=run.bound(saved),
            how="time of kernels and copies beyond the longest of copy in, kernel and copy out",
        )


_WAYS = {Direction.H2D: "host to device", Direction.D2H: "device to host"}


def _by_fewer_copies(timeline: Timeline, link: LinkModel | None, run: TracedRun) -> Iterator[_Won]:
    pipeline = traced_pipeline(timeline, link) if link else None
    saved = saved_by_fewer_copies(
        run,
        traced_transfer_seconds(timeline, link) if link else 0.0,
        traced_transfers(timeline, run),
        timeline.device,
        link,
        pipeline,
    )
    if saved is None:
        return
    again = _travel_again(timeline)
    yield _Won(
        change=Change.KEEP_ON_GPU if again else Change.AVOID_COPIES,
        saved=saved,
        bound=run.bound(saved),
        how="copies to the GPU and back again and again, while no kernel runs"
        if again
        else "copies while no kernel runs, inside of the GPU too",
    )


def _travel_again(timeline: Timeline) -> bool:
    """Return whether data of like size travel to the GPU and back often."""
    to_gpu, back = map(timeline.copies_over_link, (CopyPath.H2D, CopyPath.D2H))
    often = min(sum(copies.calls for copies in way) for way in (to_gpu, back)) >= _OFTEN
    moved = [sum(copies.bytes for copies in way) for way in (to_gpu, back)]
    return often and min(moved) * _LIKE_SIZE >= max(moved)


_AND_STREAMS = " and what streams take one after the other"


def _by_memory(timeline: Timeline, run: TracedRun) -> Iterator[_Won]:
    if repeated_allocation_ns(timeline) >= WORTH_SAYING * timeline.span_ns:
        yield _Won(
            change=Change.REUSE_MEMORY,
            saved=run.lost_to_allocations,
            bound=run.bound(run.lost_to_allocations),
            how="idle while the host allocated, and launches not queued while it freed",
            idle=run.lost_to_allocations,
        )
    managed = traced_managed(timeline)
    saved = None if managed is None else saved_by_prefetching(managed, timeline.device, run)
    if managed is not None and saved is not None:
        yield _Won(
            change=Change.PREFETCH_MEMORY,
            saved=saved,
            bound=run.bound(saved),
            how="time that page faults of managed memory take",
            idle=saved if managed.taken_back and managed.prefetched else 0.0,
        )


def _by_the_host(run: TracedRun) -> Iterator[_Won]:
    """Yield what the host could do against an idle GPU, where the rules advise it too."""
    if run.waits_for_launches:
        yield _Won(
            change=Change.LAUNCH_GRAPHS,
            saved=run.launch_idle_seconds,
            bound=run.bound_without_profiler(run.lost_to_launches),
            how=f"idle between launches, with the start and end of each kernel{_AND_STREAMS * run.streams_kept_apart}, the profiler's part of each launch taken off the span",
            idle=run.launch_idle_seconds,
        )
    if run.waits_cost:
        yield _Won(
            change=Change.WAIT_LESS,
            saved=run.lost_to_waits,
            bound=run.bound(run.lost_to_waits),
            how="idle time after waits, and the copies of single values",
            idle=run.lost_to_waits - run.values_read_seconds,
        )
    if run.host_bound and not run.paced:
        yield _Won(
            change=Change.SHORTEN_HOST_WORK,
            saved=run.lost_to_host_work,
            bound=run.bound_without_host_gaps,
            how="idle while the host worked, with the gap after the last kernel"
            + (", and copies of the same work" if run.host_copy_seconds else ""),
            idle=run.host_idle_seconds,
        )


def _by_unclaimed_idle(
    timeline: Timeline, link: LinkModel | None, run: TracedRun
) -> Iterator[_Won]:
    """Yield what would be won without idle time that no other change is about."""
    idle = unclaimed_idle(run, traced_transfers(timeline, run), link)
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
    in_call = change is Change.SHORTEN_CALLS
    yield _Won(
        change=change,
        saved=idle.seconds,
        bound=run.bound(idle.seconds) if in_call else run.bound_without_profiler(idle.seconds),
        how=_MEANWHILE[GapCause(idle.cause)],
        idle=idle.seconds,
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


def _by_kernels(timeline: Timeline, run: TracedRun) -> Iterator[_Won]:
    """Yield what other kernels for the same work win."""
    device = timeline.device
    for change, saved in (
        (Change.LEAVE_FP64, saved_by_single_precision(run, device)),
        (Change.USE_TENSOR_CORES, saved_by_tensor_cores(run, device)),
        (Change.KEEP_LAYOUT, saved_by_one_layout(run, device)),
        (Change.PAD_PRODUCTS, saved_by_padding(run, device)),
        (Change.FUSE_ATTENTION, saved_by_fused_attention(run, device)),
        (Change.FUSE_PASSES, saved_by_fused_passes(run)),
    ):
        if saved is not None:
            yield _Won(change=change, saved=saved, bound=run.bound(saved), how=_BY_KERNELS[change])
    for operators in costly_operators(run, fp64_ratio(device)):
        yield _Won(
            change=Change.REPLACE_OPERATORS,
            saved=operators.saved,
            bound=run.bound(operators.saved),
            how=operators.how,
            subject=str(operators.kind),
        )


_BY_KERNELS = {
    Change.LEAVE_FP64: "time of FP64 products beyond that in TF32, and half of the other busy time, for half the bytes",
    Change.USE_TENSOR_CORES: "time of FP32 products beyond that on tensor cores, and half of the other busy time beside communication, for half the bytes",
    Change.KEEP_LAYOUT: "time of conversions between NCHW and NHWC, and half of the other busy time beside communication, for half the bytes",
    Change.PAD_PRODUCTS: "time of products with unaligned rows beyond that on tensor cores",
    Change.FUSE_ATTENTION: "time of products and passes of attention beyond that on tensor cores",
    Change.FUSE_PASSES: "time of passes over memory but for the shortest of them",
}


def _by_ranks(run: TracedRun, ranks: RankWaits | None) -> Iterator[_Won]:
    """Yield what ranks win that wait less for each other, and that compute meanwhile."""
    if ranks is None:
        parts = (
            (
                Change.EVEN_RANKS,
                saved_by_even_rank(run),
                "time of collectives beyond that of like ones",
            ),
            (
                Change.HIDE_COMMUNICATION,
                hidden_of_one(run),
                "time of kernels that communicate while none computes, as far as computing could hide it",
            ),
        )
        span = run.span_seconds
    else:
        parts = (
            (
                Change.EVEN_RANKS,
                saved_by_even_ranks(ranks),
                "mean wait of the ranks for the last to come to a collective",
            ),
            (
                Change.HIDE_COMMUNICATION,
                hidden_among_ranks(ranks),
                "communication of the mean rank while nothing computes, as far as computing could hide it",
            ),
        )
        span = ranks.span_seconds
    for change, saved, how in parts:
        if saved is not None and span > 0:
            share = min(1.0, saved / span)
            yield _Won(
                change=change, saved=saved, bound=1 / (1 - share) if share < 1 else None, how=how
            )


def _by_one_kernel(timeline: Timeline, run: TracedRun) -> Iterator[_Won]:
    by_name: dict[str, int] = {}
    for kernel in timeline.kernels:
        if not kernel.communicates:
            by_name[kernel.shape.name] = by_name.get(kernel.shape.name, 0) + kernel.steady_ns
    for name in sorted(by_name, key=lambda name: -by_name[name])[:_MOST_KERNELS]:
        seconds = by_name[name] / _NS
        most = seconds > _NEARLY_ALL * run.span_seconds
        how = "all of its time"
        if most:
            how += ", nearly all of the run: only the kernel itself bounds what it can win"
        yield _Won(
            change=Change.FASTEN_KERNEL,
            saved=seconds,
            bound=None if most else run.bound(seconds),
            how=how,
            subject=name,
        )
