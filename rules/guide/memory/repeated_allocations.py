"""Device memory allocated and freed again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.rules.advice import PASSED, Advice, Gain, Verdict
from gpuadvise.rules.evidence import given, traced
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.traced import held_by, idle_of, line_of, span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.application import Allocations
    from gpuadvise.advisor.facts.timeline import TracedRun


def check(allocations: Allocations, timeline: TracedRun | None = None) -> Verdict:
    """Advise when a loop allocates and no pool keeps the memory."""
    calls = allocations.per_iteration * allocations.iterations
    if not allocations.per_iteration or allocations.iterations == 1:
        return PASSED
    if allocations.stream_ordered and allocations.pool_keeps_memory is not False:
        return PASSED
    idle = None if timeline is None else idle_of(timeline, "allocation")
    return Advice(
        message=_seen(allocations, calls, timeline),
        action=(
            "Raise the pool's release threshold: cudaMemPoolSetAttribute(pool, "
            "cudaMemPoolAttrReleaseThreshold, &bytes); at 0 it returns memory at every "
            "synchronisation."
            if allocations.stream_ordered
            else "Allocate once before the loop and reuse the buffer; where sizes vary, use "
            "cudaMallocAsync() and cudaFreeAsync() with a pool that keeps its memory. In PyTorch: "
            "take torch.cuda.empty_cache() out of the loop, keep PYTORCH_NO_CUDA_MEMORY_CACHING "
            "unset, and pin buffers once, not in each step."
        ),
        evidence=((given if timeline is None else traced)("allocations", calls, "calls"),),
        gain=None if timeline is None else _gain(timeline),
        location=line_of(idle),
    )


def _seen(allocations: Allocations, calls: int, timeline: TracedRun | None) -> str:
    if timeline is not None:
        seconds = timeline.allocation_idle_seconds
        line = held_by(idle_of(timeline, "allocation"), seconds)
        idle = of_span(timeline, seconds)
        return f"{plural(calls, 'call')} that allocate keep the GPU idle for {idle}.{line}"
    return (
        f"{plural(allocations.per_iteration, 'allocation')} in each of "
        f"{plural(allocations.iterations, 'iteration')}: {calls:,} calls."
    )


def _gain(timeline: TracedRun) -> Gain:
    how = "idle time in allocations"
    if timeline.release_idle_seconds:
        how += ", and of launches that could not be queued while memory was freed"
    return span_gain(timeline, timeline.lost_to_allocations, how)


RULE = Rule(
    id="repeated-allocations",
    title="Allocate once and reuse",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.APPLICATION, Kind.SOURCE),
    why="Each cudaMalloc and cudaFree takes tens of microseconds or more, and cudaFree waits for the device.",
    when="A loop of two or more iterations allocates device memory without a pool that keeps it.",
    citations=guide("10.3", "9.3"),
    check=check,
    examples=Examples(
        fires={"allocations": {"per_iteration": 3, "iterations": 1000}},
        quiet={
            "allocations": {
                "per_iteration": 3,
                "iterations": 1000,
                "stream_ordered": True,
                "pool_keeps_memory": True,
            }
        },
    ),
)
