"""Managed memory that reaches the device page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.rules.evidence import given, traced
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Gain,
    Kind,
    Priority,
    Rule,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import programming_guide
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.application import Managed
    from gpuadvise.advisor.facts.timeline import TracedRun


def check(managed: Managed, timeline: TracedRun | None = None) -> Verdict:
    """Advise when managed memory is neither prefetched nor advised before its first use."""
    if managed.prefetched or managed.advised:
        return PASSED
    return Advice(
        message=(
            f"{show_bytes(managed.bytes)} of managed memory are used without a prefetch or an "
            "advice: the kernel's first touch of each page stops and fetches it."
        ),
        action=(
            "Call cudaMemPrefetchAsync(ptr, bytes, device, stream) before the launch, and back to "
            "the host after it; for data that are only read add cudaMemAdvise "
            "with cudaMemAdviseSetReadMostly."
        ),
        evidence=(
            (given if timeline is None else traced)("managed memory", managed.bytes, "bytes"),
        ),
        gain=None if timeline is None else _gain(timeline),
    )


def _gain(timeline: TracedRun) -> Gain:
    how = "kernels' time beyond that of the bytes on the link"
    return span_gain(timeline, timeline.migration_seconds, how)


RULE = Rule(
    id="unprefetched-managed-memory",
    title="Prefetch managed memory",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    kinds=(Kind.APPLICATION, Kind.SOURCE),
    why="A page fault costs tens of microseconds, and a prefetch moves the same data at the rate of the link.",
    when="Managed memory is used by a kernel with neither cudaMemPrefetchAsync nor cudaMemAdvise.",
    citations=(programming_guide("Unified Memory Programming"),),
    check=check,
    examples=Examples(
        fires={"managed": {"bytes": "2GiB", "prefetched": False}},
        quiet={"managed": {"bytes": "2GiB", "prefetched": True}},
    ),
)
