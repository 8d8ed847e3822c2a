"""Long stretches of a recorded run in which the host works on its own, and the GPU waits: how loudly they are said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timeline import GAPS_OF_A_LOOP, WORTH_SAYING
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number, show_seconds
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import Advice, Gain, GainKind
from gpuadvise.rules.beside_run import MUCH_MORE
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.idle_times import in_pytorch
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Priority
from gpuadvise.rules.traced import held_by, how_to_see_lines, line_of

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timeline import TracedRun

_HALF_COLD = number(
    0.5,
    "what a program does once in a recording whose other idle time is medium at most",
    "share of the recording",
    "our judgement: much of what is left may be first uses, too",
    LaunchSet.RECORDED,
)
_COLD = number(
    0.8,
    "what a program does once in a recording whose other idle time is low",
    "share of the recording",
    "our judgement: nothing of it was warm, and first uses lie in the rest, too",
    LaunchSet.RECORDED,
)


def host_gaps(timeline: TracedRun) -> Advice:
    """Return what to say of the long gaps of a run that has them."""
    idle, gaps = timeline.host_idle_seconds, timeline.host_gaps
    cause = next((one for one in timeline.idle_causes if one.cause == "host-work"), None)
    message = (
        f"{plural(gaps, 'gap')} of {show_seconds(idle / gaps)}{' on average' if gaps > 1 else ''}, "
        f"{of_span(timeline, idle)}: the host works on its own or waits meanwhile, "
        f"in no call of CUDA.{held_by(cause, idle)}{_copies(timeline)}"
    )
    evidence = (
        traced("idle while the host worked", idle, "s"),
        traced("gaps", gaps, "gaps"),
        traced("span", timeline.span_seconds, "s"),
    )
    if timeline.paced and timeline.frame_period_seconds:
        period = timeline.frame_period_seconds
        return Advice(
            message=(
                f"{message} The work comes every {show_seconds(period)}, {show_number(1 / period)} times a second, as from a "
                "camera or for a display: a clock paces it."
            ),
            action=(
                "Leave it where that is the rate that is wanted: the GPU has its work done in time, and less idle time wins "
                "nothing. Feed it from a file, or as fast as it goes, to measure what it can do; then look at this again."
            ),
            evidence=(*evidence, traced("period", period, "s")),
            location=line_of(cause),
            priority=Priority.MEDIUM,
        )
    return Advice(
        message=message,
        action=(
            "Let the GPU work meanwhile: queue the next kernels before the host's work begins, and "
            f"do that work in another thread or process. {in_pytorch(cause, calls=timeline.calls_pytorch)}"
            "In CUDA: cudaStreamSynchronize() after the host's work, or cudaLaunchHostFunc()."
            f"{how_to_see_lines(timeline, cause)}"
        ),
        evidence=evidence,
        gain=_gain(timeline),
        location=line_of(cause),
        priority=_loudness(timeline, idle),
    )


def _copies(run: TracedRun) -> str:
    """Return what the copies of the same work take, as a sentence; nothing where that is little."""
    if run.share(run.host_copy_seconds) < WORTH_SAYING:
        return ""
    return (
        f" Copies between them, of the same work, take {show_seconds(run.host_copy_seconds)} more."
    )


def _loudness(run: TracedRun, idle: float) -> Priority | None:
    """Return how loudly long gaps of *idle* seconds are said: beside a start of as much they are no more certain than that."""
    if _is_minor(run, idle):
        return Priority.LOW
    # Of a bound that is mostly idle time of launches the gaps are the smaller part.
    launches = run.launches_go_with_host_work and run.launch_idle_seconds > run.lost_to_host_work
    cold = run.share_of_recording(run.one_time_seconds) >= _HALF_COLD
    return Priority.MEDIUM if cold or launches else None


def _is_minor(run: TracedRun, idle: float) -> bool:
    """Return whether another finding is about more than twice these *idle* seconds, or little but a start ran."""
    loaders = any(one.loader for one in run.idle_causes)
    few = run.is_a_test and run.host_gaps < GAPS_OF_A_LOOP and not loaders
    if few or run.share_of_recording(run.one_time_seconds) >= _COLD:
        return True
    others = (one.seconds for one in run.idle_causes if one.cause not in _BESIDE_LAUNCHES)
    launches = run.launch_idle_seconds if run.waits_for_launches else 0.0
    return max(launches, *others, 0.0) > MUCH_MORE * idle


# Idle time of these causes is the launches', or the host's own.
_BESIDE_LAUNCHES = ("host-work", "launch", "profiler")


def _gain(run: TracedRun) -> Gain:
    """Return the bound; a loop has one gap more than lie between its kernels."""
    return Gain(
        kind=GainKind.RUN_TIME,
        upper_bound=run.bound_without_host_gaps or 1e6,
        how=(
            "(span + the gap after it) / (span - gaps, and copies of the same work between them"
            f"{', and idle time of launches, for which the host is ahead then' * run.launches_go_with_host_work})"
        ),
    )
