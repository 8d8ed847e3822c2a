"""Launches that cost more than what they do, in a profile or in a recorded run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.framework_operators import operator_of
from gpuadvise.advisor.facts.library_kernels import (
    is_call_of_its_own,
    is_library_product,
    library_of,
)
from gpuadvise.advisor.facts.limiter import SHORT
from gpuadvise.advisor.facts.timeline import NOTICEABLE
from gpuadvise.advisor.facts.workload import blocks_of
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Evidence, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import given, profiled, traced
from gpuadvise.rules.gain_bounds import launched_at_once
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide, programming_guide
from gpuadvise.rules.thresholds import STARTING
from gpuadvise.rules.traced import (
    held_by,
    how_to_see_lines,
    idle_gain,
    idle_of,
    line_of,
    too_little,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.timeline import IdleCause, TracedRun
    from gpuadvise.advisor.facts.timing import Traffic, Work

_AND_STREAMS = ", and what streams take one after the other"
MANY = number(4, "many", "launches", "our judgement", LaunchSet.RECORDED)
AGAIN = number(
    2,
    "again, of few blocks",
    "launches, which would all fit the SMs at once",
    "our judgement: a report is mostly a part of a run, so that two tell of a loop",
    LaunchSet.SIXTH,
)


def check(
    timeline: TracedRun | None = None,
    launches: int | None = None,
    profile: KernelProfile | None = None,
    traffic: Traffic | None = None,
    work: Work | None = None,
    run_seconds: float | None = None,
) -> Verdict:
    """Advise when launches, rather than what they do, take the time."""
    if timeline is not None:
        return _recorded(timeline)
    if launches is not None and profile is not None and _fit_together(profile, launches):
        return _one_after_another(profile, launches)
    if launches is None or launches < MANY:
        return PASSED
    timed = next((fact for fact in (profile, traffic, work) if fact and fact.seconds), None)
    if timed is None or timed.seconds is None:
        return undecided("profile.time")
    if timed.seconds >= STARTING:
        return PASSED
    if run_seconds is not None and launches * STARTING < NOTICEABLE * run_seconds:
        return PASSED
    return _repeated(timed.seconds, launches, profiled if timed is profile else given)


def _held_between_launches(run: TracedRun, idle: float) -> IdleCause | None:
    """Return what holds the host up between launches: not the long work that `idle-gaps` names."""
    work = idle_of(run, "host-work")
    return work if work and work.culprit_seconds <= idle else idle_of(run, "launch")


def _fit_together(profile: KernelProfile, launches: int) -> bool:
    """Return whether short launches of few blocks, one after another, would all fit the device at once."""
    kernel, seconds = profile.kernel, profile.seconds or math.inf
    called = library_of(kernel) is None or is_library_product(kernel)
    small = is_call_of_its_own(kernel) or operator_of(kernel) is not None
    return (
        launches >= AGAIN
        and 0 < launches * blocks_of(profile) <= (profile.sm_count or 0)
        and seconds < SHORT
        and (small or (called and seconds >= STARTING))
    )


def _one_after_another(profile: KernelProfile, launches: int) -> Advice:
    blocks, sms = blocks_of(profile), profile.sm_count or 0
    seconds = profile.seconds or 0.0
    return Advice(
        message=(
            f"{launches:,} launches of {plural(blocks, 'block')} and {show_seconds(seconds)} each, on {sms} SMs: one at a "
            "time they leave nearly all SMs without work, and together they would fit at once."
        ),
        action=(
            "Where one does not need what another wrote, do them in 1 launch with a grid dimension for what the loop on the "
            "host counts (products: torch.bmm, cublasGemmStridedBatchedEx), or launch them in streams of their own "
            "(cudaStreamNonBlocking). Steps that need each other fit into 1 kernel that loops, or into a CUDA graph."
        ),
        evidence=(
            profiled("time of a launch", seconds, "s"),
            given("launches", launches, "launches"),
            given("blocks in the grid", blocks, "blocks"),
        ),
        gain=launched_at_once(profile, blocks, sms),
        priority=Priority.MEDIUM,
    )


def _repeated(seconds: float, launches: int, seen: Callable[..., Evidence]) -> Advice:
    return Advice(
        message=f"{launches:,} launches of {show_seconds(seconds)} each: a launch costs 2 to 3 us, as much as the kernel itself.",
        action=(
            f"Do the work of the {launches:,} launches in 1: a grid dimension more, or one kernel that does several steps. "
            "Where they must stay apart, record them once as a CUDA graph (cudaStreamBeginCapture, cudaGraphLaunch)."
        ),
        evidence=(seen("time of a launch", seconds, "s"), given("launches", launches, "launches")),
        gain=Gain(
            kind=GainKind.KERNEL_TIME, upper_bound=launches, how=f"{launches:,} launches / 1"
        ),
    )


def _recorded(timeline: TracedRun) -> Verdict:
    if not timeline.waits_for_launches:
        return PASSED
    idle, launches = timeline.launch_idle_seconds, timeline.launches
    waiting, loud = _held_between_launches(timeline, idle), not timeline.is_a_test
    quieter = Priority.MEDIUM if timeline.late_launches and loud else Priority.LOW
    return Advice(
        message=(
            f"The GPU is idle for {of_span(timeline, idle)} because the next kernel is not there yet: {launches:,} launches for kernels of "
            f"{show_seconds(timeline.median_kernel_seconds)} (median).{held_by(waiting, idle)}{too_little(timeline)}"
        ),
        location=line_of(waiting),
        action=(
            "Record the launches once and replay them: a CUDA graph (cudaStreamBeginCapture, then cudaGraphLaunch). In PyTorch: "
            "torch.compile(model, mode='reduce-overhead') or torch.cuda.CUDAGraph(); in JAX: one jax.jit around the loop, "
            "jax.lax.scan in it. A graph works on fixed buffers: write inputs into them where they are made, for copies of large "
            f"ones can cost more than it wins. Larger batches and fused kernels need fewer launches.{how_to_see_lines(timeline, waiting)}"
        ),
        evidence=(
            traced("idle between launches", idle, "s"),
            traced("span", timeline.span_seconds, "s"),
            traced("launches", launches, "launches"),
            traced("median kernel", timeline.median_kernel_seconds, "s"),
        ),
        gain=idle_gain(
            timeline,
            timeline.lost_to_launches,
            f"idle time between launches, and the start and end of each kernel{_AND_STREAMS * timeline.streams_kept_apart}",
        ),
        priority=None if timeline.launch_bound and loud else quieter,
    )


def _run(busy: str, launch_idle: str, **more: object) -> dict[str, object]:
    run = {"span": "10ms", "busy": busy, "kernels": 300, "launch_idle": launch_idle}
    return {"timeline": {**run, **more}}


RULE = Rule(
    id="launch-bound",
    title="Launch less often: graphs, fusion, larger batches",
    topic=Topic.EXECUTION,
    priority=Priority.HIGH,
    kinds=(Kind.TIMING, Kind.PROFILE),
    family=Family.GRID,
    why="A launch costs the host several microseconds, and a kernel that is shorter ends before the next arrives.",
    when=(
        "A kernel of less than 5 us is launched at least 4 times in the same shape, for which 5 us each are 5 % of the run or more where its time is known; or one of 5 to 20 us, no library's unless it is a product (or, below 20 us, a sum, a scan or an operator of PyTorch or CuPy), is launched twice or more with so few blocks "
        "that all its launches would fit the SMs at once (medium); or the GPU is busy for less than half of a recorded run, the median kernel is shorter than "
        "18 us or the GPU idle for twice as long as it works, and a fifth of the span or more is idle between launches; or longer kernels wait as much beyond three times what the profiler adds to each launch (medium), or half as much (low). "
        "A millisecond or more of idle time for each launch is no launch's, nor is what PyTorch's profiler adds to operators, calls and steps. Fewer than 200 kernels that take less than 0.5 ms, or 2 ms where stacks were recorded, are a test, and what is said of it is low."
    ),
    citations=(*guide("10.1.2"), programming_guide("CUDA Graphs")),
    caller_side=True,
    fewer_launches=True,
    check=check,
    either=("timeline", "launches"),
    examples=Examples(
        fires=_run("1ms", "9ms", launches=1000, median_kernel="1us"),
        quiet=_run("9.6ms", "400us", graph_launches=1, median_kernel="1us"),
        edges=(
            _run("8.9ms", "1.1ms", launches=300, median_kernel="16us"),
            _run("9.1ms", "900us", launches=300, median_kernel="16us"),
        ),
    ),
)
