"""What pinned memory, merged copies and staging would save of a program's copies, and when it is worth doing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timeline import HOST_BOUND_IDLE
from gpuadvise.advisor.facts.timing import HostMemory
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.advisor.transfers.copies import (
    WORTHWHILE,
    Direction,
    copy_rate,
    copy_seconds,
    latency_share,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.facts.timing import Pipeline, Transfer
    from gpuadvise.advisor.transfers.links import LinkModel
    from gpuadvise.advisor.transfers.overlap import Overlap

SLOW_COPY = number(
    0.6, "slow copy", "share", "pinned copies reach 80 % and more of a link", LaunchSet.RECORDED
)
NOTICEABLE = number(0.05, "noticeable copies", "share", "our judgement", LaunchSet.RECORDED)
MUCH_COPIED = number(
    0.3, "share of copies", "share", "our judgement of the guide's 'avoid transfers', 10.1"
)
MOSTLY_LATENCY = number(0.5, "share of latency", "share", "guide 10.1: batch small transfers")


def pinned_seconds(copy: Transfer, link: LinkModel) -> float:
    """Return the time of one such copy from pinned memory."""
    return copy_seconds(copy.bytes, link, copy.direction)


def seconds_now(copy: Transfer, link: LinkModel) -> float:
    """Return the time of one such copy as it was measured, else as pageable copies take."""
    return copy.seconds or copy_seconds(copy.bytes, link, copy.direction, pageable=True)


def saved_by_pinning(copy: Transfer, link: LinkModel) -> float:
    """Return the seconds that all such copies take beyond those of pinned ones."""
    return copy.count * (seconds_now(copy, link) - pinned_seconds(copy, link))


def worth_pinning(copy: Transfer, link: LinkModel, run_seconds: float | None) -> bool:
    """Return whether pinned memory saves what a user would notice; copies of unknown memory must be late."""
    if not _noticeable(copy, link, run_seconds):
        return False
    if copy.memory is HostMemory.PAGEABLE:
        return copy.seconds is None or saved_by_pinning(copy, link) > 0
    return copy.memory is None and _late(copy, link)


def copies_to_pin(
    transfers: Iterable[Transfer], device: Device | None, link: LinkModel, run_seconds: float | None
) -> list[Transfer]:
    """Return the *transfers* that pinned memory would shorten; none where the GPU reads the host's memory itself."""
    if device is None or device.coherent_host_memory or device.integrated:
        return []
    return [copy for copy in transfers if worth_pinning(copy, link, run_seconds)]


def bound_of_pinning(copy: Transfer, link: LinkModel, run: TracedRun) -> float | None:
    """Return what pinning *copy* wins of *run* at most, its copies to the host as slow as in other runs; None: no bound."""
    bound = run.bound(saved_of_run_by_pinning(copy, link, run))
    slower = copy.memory is HostMemory.PAGEABLE and copy.direction is Direction.D2H
    if bound is None or not slower:
        return bound
    return run.bound_of_slower_copies(bound, copy.count * (copy.seconds or 0.0))


def saved_of_run_by_pinning(copy: Transfer, link: LinkModel, run: TracedRun) -> float:
    """Return the seconds of *run* that pinning *copy* saves: also the idle ones that its calls make."""
    return saved_by_pinning(copy, link) + run.lost_to_pageable_copies


def late_though_pinned(copy: Transfer, link: LinkModel, run_seconds: float | None) -> bool:
    """Return whether copies of pinned memory take far longer than the link needs."""
    return (
        copy.memory is HostMemory.PINNED
        and _noticeable(copy, link, run_seconds)
        and _late(copy, link)
    )


def _noticeable(copy: Transfer, link: LinkModel, run_seconds: float | None) -> bool:
    """Return whether the copy's rate is that of the link, and its time at that rate matters to the run."""
    if not copy.bytes or latency_share(copy.bytes, link, copy.direction) > MOSTLY_LATENCY:
        return False
    return saved_by_pinning(copy, link) >= NOTICEABLE * (run_seconds or 0.0)


def _late(copy: Transfer, link: LinkModel) -> bool:
    return copy.seconds is not None and pinned_seconds(copy, link) < SLOW_COPY * copy.seconds


def seconds_separate(copy: Transfer, link: LinkModel) -> float:
    """Return the seconds of all copies of *copy*: as measured, else by the model."""
    return copy.count * (copy.seconds or copy_seconds(copy.bytes, link, copy.direction))


def seconds_merged(copy: Transfer, link: LinkModel) -> float:
    """Return the seconds of one copy of all the bytes."""
    return copy_seconds(copy.count * copy.bytes, link, copy.direction)


def saved_by_merging(copy: Transfer, link: LinkModel) -> float:
    """Return the seconds that the copies take beyond those of their bytes."""
    moving = copy.count * copy.bytes / copy_rate(link, copy.direction)
    return max(0.0, seconds_separate(copy, link) - moving)


def worth_merging(
    copy: Transfer, link: LinkModel, run_seconds: float | None, run: TracedRun | None = None
) -> bool:
    """Return whether copies are mostly latency and take a twentieth of the run, if its time is known.

    The model's time counts here, since a recorded copy's leaves out what the host spends on it;
    that is the idle time around copies to the GPU, where a recorded *run* tells it.
    """
    mostly_latency = latency_share(copy.bytes, link, copy.direction) > MOSTLY_LATENCY
    if copy.count < 2 or not mostly_latency:
        return False
    if seconds_merged(copy, link) >= seconds_separate(copy, link):
        return False
    seconds = copy.count * copy_seconds(copy.bytes, link, copy.direction)
    if run is not None and copy.direction is Direction.H2D:
        seconds += run.around_copies
    return run_seconds is None or seconds >= NOTICEABLE * run_seconds


def saved_of_run_by_merging(copy: Transfer, link: LinkModel, run: TracedRun) -> float:
    """Return the seconds of *run* that merging *copy* saves: also the idle ones around copies."""
    return saved_by_merging(copy, link) + run.around_copies


def worthwhile_staging(
    pipeline: Pipeline, link: LinkModel, run: TracedRun | None = None
) -> Overlap | None:
    """Return what staging *pipeline* wins; None where that is less than 5 %, also of *run*."""
    if pipeline.streams > 1 or not pipeline.divisible:
        return None
    staged = staged_pipeline(pipeline, link)
    if staged is None or not staged.worthwhile or staged.best.pieces == 1:
        return None
    if run is not None and run.share(saved_by_staging(staged, run)) < WORTHWHILE:
        return None
    return staged


def staged_pipeline(pipeline: Pipeline, link: LinkModel) -> Overlap | None:
    """Return what *pipeline* takes in its streams and at best; None without copies or a kernel."""
    copies = pipeline.to_device_seconds + pipeline.to_host_seconds
    if not (copies and pipeline.kernel_seconds):
        return None
    from gpuadvise.advisor.transfers.overlap import overlap
    from gpuadvise.advisor.transfers.pipeline import MOST_PIECES, StagedWork

    work = StagedWork(
        kernel_seconds=pipeline.kernel_seconds,
        h2d_seconds=pipeline.to_device_seconds,
        d2h_seconds=pipeline.to_host_seconds,
    )
    streams = min(pipeline.streams, MOST_PIECES) if pipeline.streams > 1 else None
    return overlap(work, link, streams=streams)


def saved_by_staging(staged: Overlap, run: TracedRun) -> float:
    """Return the seconds that staging saves of *run* at most."""
    return run.busy_seconds * (1 - staged.floor / staged.sequential)


def is_bound_by_copies(run: TracedRun, transfer_seconds: float) -> bool:
    """Return whether copies at the rate of the link would take much of *run* beside all of its kernels."""
    return run.kernels > 0 and transfer_seconds > MUCH_COPIED * run.span_seconds


def saved_by_fewer_copies(
    run: TracedRun,
    transfer_seconds: float,
    transfers: Sequence[Transfer],
    device: Device | None,
    link: LinkModel | None,
    pipeline: Pipeline | None,
) -> float | None:
    """Return what copies take of *run* while no kernel runs; None where pinning, merging or staging is about them.

    Unless they are more than kernels could hide: then nothing but fewer of them helps. Of a run of copies alone
    nobody can tell whether they are needed.
    """
    if is_bound_by_copies(run, transfer_seconds):
        return run.exposed_copy_seconds
    if not run.kernels or run.share(run.exposed_copy_seconds) < HOST_BOUND_IDLE:
        return None
    if link is not None:
        named = copies_to_pin(transfers, device, link, run.span_seconds) or [
            copy for copy in transfers if worth_merging(copy, link, run.span_seconds, run)
        ]
        if named or (pipeline is not None and worthwhile_staging(pipeline, link, run)):
            return None
    return run.exposed_copy_seconds
