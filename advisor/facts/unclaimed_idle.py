"""The idle time of a run that no other finding is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timeline import HOST_BOUND_IDLE, WORTH_SAYING
from gpuadvise.advisor.transfers.savings import worth_merging, worth_pinning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.facts.timeline import IdleCause, TracedRun
    from gpuadvise.advisor.facts.timing import Transfer
    from gpuadvise.advisor.transfers.links import LinkModel


def unclaimed_idle(
    run: TracedRun, transfers: Iterable[Transfer], link: LinkModel | None
) -> IdleCause | None:
    """Return the longest idle time of one cause that is a tenth of the span and in no other finding."""
    if not run.kernels or run.sampled:
        return None
    claimed = _claimed(run, transfers, link)
    left = [cause for cause in run.idle_causes if cause.cause not in claimed]
    longest = max(left, key=lambda cause: cause.seconds, default=None)
    if longest is None or run.share(longest.seconds) < HOST_BOUND_IDLE:
        return None
    return None if _is_the_profilers(run, longest) else longest


def _is_the_profilers(run: TracedRun, idle: IdleCause) -> bool:
    """Return whether idle time beside launches may be no more than what recording adds to each."""
    if idle.cause not in ("host-work", "launch") or not run.launches:
        return False
    bound = run.bound_without_profiler(idle.seconds)
    return bound is not None and bound < 1 / (1 - WORTH_SAYING)


def _claimed(run: TracedRun, transfers: Iterable[Transfer], link: LinkModel | None) -> set[str]:
    """Return the causes that findings name already."""
    claimed = set()
    if run.waits_for_launches:
        claimed |= {"host-work", "launch", "profiler"}
    if run.host_bound:
        claimed.add("host-work")
    if run.waits_cost:
        claimed |= {"synchronization", *(("copy",) if run.values_read else ())}
    if run.share(run.allocation_idle_seconds) >= WORTH_SAYING:
        claimed.add("allocation")
    if link is not None and any(_named(copy, run, link) for copy in transfers):
        claimed.add("copy")
    return claimed


def _named(copy: Transfer, run: TracedRun, link: LinkModel) -> bool:
    return worth_pinning(copy, link, run.span_seconds) or worth_merging(
        copy, link, run.span_seconds, run
    )
