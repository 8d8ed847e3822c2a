"""Long stretches in which the GPU waits for the host's own work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timeline import LAUNCH_BOUND_IDLE
from gpuadvise.advisor.facts.unclaimed_idle import unclaimed_idle
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.idle_times import IDLE_TIMES, in_pytorch
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.traced import (
    held_by,
    how_to_see_lines,
    idle_gain,
    line_of,
    span_gain,
    too_little,
)

_MUCH_MORE = number(
    2.0,
    "idle time of one cause beside that of another",
    "times",
    "our judgement: an expert names the larger first",
)

_MUCH_OUTSIDE = number(
    0.3,
    "host's code before and behind the GPU's work, of more than low priority",
    "share of the recording",
    "our judgement: with less a longer run has hardly any of it",
    LaunchSet.RECORDED,
)

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.application import Managed
    from gpuadvise.advisor.facts.timeline import IdleCause, TracedRun
    from gpuadvise.advisor.facts.timing import Transfer
    from gpuadvise.advisor.transfers.links import LinkModel


def check(
    timeline: TracedRun,
    transfers: tuple[Transfer, ...] | None = None,
    link: LinkModel | None = None,
    managed: Managed | None = None,
) -> Verdict:
    """Advise when the host's own work, or what no other rule names, leaves the GPU idle for a tenth of the span."""
    advice = [_host_bound(timeline)] if timeline.host_bound else []
    idle = unclaimed_idle(timeline, transfers or (), link)
    if idle is not None:
        advice.append(_idle_for(timeline, idle, managed))
    if timeline.much_beside(timeline.one_time_seconds):
        advice.append(_once(timeline))
    if timeline.much_beside(timeline.outside_code_seconds) and not _is_another_gap(timeline):
        advice.append(_outside(timeline))
    return tuple(advice) or PASSED


def _once(timeline: TracedRun) -> Advice:
    seconds, whole = timeline.one_time_seconds, timeline.recorded_seconds
    return Advice(
        message=(
            f"{show_seconds(seconds)} of {show_seconds(whole)} recorded, "
            f"{show_share(timeline.share_of_recording(seconds))}, go to what a program does once: "
            "contexts, first allocations and launches, the loading and compiling of code, first calls of "
            f"operators, and freeing all of it{_most_of_it(timeline)}."
        ),
        action=(
            "Measure after a warm-up, or let the program run longer. Where this is how it is used, keep "
            "one process that serves many requests, load code for this GPU alone, and make contexts "
            "while the host still reads its data: cudaFree(0) on a thread."
        ),
        evidence=(
            traced("one-time work", seconds, "s"),
            traced("recorded", whole, "s"),
        ),
        priority=Priority.LOW if timeline.kernels and timeline.too_short else Priority.MEDIUM,
    )


def _most_of_it(run: TracedRun) -> str:
    if run.start_cause is not None:
        return (
            f", {show_seconds(run.start_cause.culprit_seconds)} of it in {run.start_cause.culprit}"
        )
    return f", {run.outside_call} more than any other call" if run.outside_call else ""


def _outside(timeline: TracedRun) -> Advice:
    seconds, whole = timeline.outside_code_seconds, timeline.recorded_seconds
    return Advice(
        message=(
            f"The host works for {show_seconds(timeline.before_seconds)} before the GPU's first work and for "
            f"{show_seconds(timeline.after_seconds)} behind its last in no call of CUDA, "
            f"{show_share(timeline.share_of_recording(seconds))} of the {show_seconds(whole)} recorded."
            f"{held_by(timeline.before_cause)}"
        ),
        action=(
            "Look there first: reading, filling and checking data. Give the GPU the first part while the "
            "host makes the next, fill and check arrays in kernels, or use all cores of the host."
        ),
        evidence=(
            traced("before the GPU's first work", timeline.before_seconds, "s"),
            traced("behind its last", timeline.after_seconds, "s"),
            traced("recorded", whole, "s"),
        ),
        location=line_of(timeline.before_cause),
        priority=Priority.MEDIUM if _is_much(timeline, seconds) else Priority.LOW,
    )


def _is_another_gap(run: TracedRun) -> bool:
    """Return whether the host does before the GPU's first work what it does in the long gaps, too."""
    if not run.host_bound or run.before_cause is None:
        return False
    work = next((one for one in run.idle_causes if one.cause == "host-work"), None)
    return work is not None and run.before_cause.culprit == work.culprit


def _is_much(run: TracedRun, seconds: float) -> bool:
    """Return whether *seconds* beside the run are much of the recording, and of what holds the GPU up."""
    if run.kernels and run.share_of_recording(seconds) < _MUCH_OUTSIDE:
        return False
    idle = max((one.seconds for one in run.idle_causes), default=0.0)
    more = max(run.one_time_seconds, idle, run.launch_idle_seconds, run.host_idle_seconds)
    return more <= _MUCH_MORE * seconds and not (run.kernels > 0 and run.too_short)


def _host_bound(timeline: TracedRun) -> Advice:
    idle, gaps = timeline.host_idle_seconds, timeline.host_gaps
    cause = next((one for one in timeline.idle_causes if one.cause == "host-work"), None)
    return Advice(
        message=(
            f"{plural(gaps, 'gap')} of {show_seconds(idle / gaps)}{' on average' if gaps > 1 else ''}, "
            f"{show_share(timeline.share(idle))} of the span: the host works on its own meanwhile, "
            f"in no call of CUDA.{held_by(cause)}"
        ),
        action=(
            "Let the GPU work meanwhile: queue the next kernels before the host's work begins, and "
            f"do that work in another thread or process. {in_pytorch(cause)}"
            "In CUDA: cudaStreamSynchronize() after the host's work, or cudaLaunchHostFunc()."
            f"{how_to_see_lines(timeline, cause)}"
        ),
        evidence=(
            traced("idle while the host worked", idle, "s"),
            traced("gaps", gaps, "gaps"),
            traced("span", timeline.span_seconds, "s"),
        ),
        gain=_gain(timeline),
        location=line_of(cause),
        priority=Priority.LOW if _is_minor(timeline, idle) else None,
    )


def _is_minor(run: TracedRun, idle: float) -> bool:
    """Return whether another finding is about more than twice these *idle* seconds."""
    others = (one.seconds for one in run.idle_causes if one.cause not in _BESIDE_LAUNCHES)
    launches = run.launch_idle_seconds if run.waits_for_launches else 0.0
    return max(launches, *others, 0.0) > _MUCH_MORE * idle


# Idle time of these causes is the launches', or the host's own.
_BESIDE_LAUNCHES = ("host-work", "launch", "profiler")


def _idle_for(run: TracedRun, idle: IdleCause, managed: Managed | None) -> Advice:
    said = IDLE_TIMES[idle.cause]
    share = run.share(idle.seconds)
    short = too_little(run) if run.too_short else ""
    if managed is not None and idle.cause == "host-work":
        short = f" Taking pages of managed memory back counts as its work.{short}"
    how = "idle time of this cause"
    return Advice(
        message=(
            f"For {show_seconds(idle.seconds)}, {show_share(share)} of the span, the GPU is idle while "
            f"{said.meanwhile}.{held_by(idle)}{short}"
        ),
        action=f"{said.action}{how_to_see_lines(run, idle)}",
        location=line_of(idle),
        evidence=(
            traced(f"idle: {idle.cause}", idle.seconds, "s"),
            traced("span", run.span_seconds, "s"),
        ),
        gain=(
            None
            if not said.by_program or run.too_short
            else span_gain(run, idle.seconds, how)
            if said.in_call
            else idle_gain(run, idle.seconds, how)
        ),
        priority=(
            Priority.MEDIUM
            if said.in_call and said.by_program and share >= LAUNCH_BOUND_IDLE and not run.too_short
            else Priority.LOW
        ),
    )


def _gain(run: TracedRun) -> Gain:
    """Return the bound; a loop has one gap more than lie between its kernels."""
    return Gain(
        kind=GainKind.RUN_TIME,
        upper_bound=run.bound_without_host_gaps or 1e6,
        how="(span + the gap after it) / (span - gaps)",
    )


def _run(busy: str, host_idle: str) -> dict[str, object]:
    run = {"span": "40ms", "busy": busy, "kernels": 5, "launches": 5}
    return {"timeline": {**run, "host_idle": host_idle, "host_gaps": 5}}


RULE = Rule(
    id="idle-gaps",
    title="Keep the GPU at work while the host works",
    topic=Topic.APPLICATION,
    priority=Priority.HIGH,
    kinds=(Kind.TIMING,),
    why="Kernels run on their own once they are queued, so the host's work can cost nothing.",
    when=(
        "In a recorded run the GPU is idle for a tenth of the span or more in gaps of half a "
        "millisecond and longer, in which the host calls nothing of CUDA; or for another cause that no "
        "other rule names (low; medium from a fifth of the span on, inside of calls of CUDA); or a tenth of all that was recorded "
        "and 5 ms or more go to what a program does once (medium), or to the host's own code before the GPU's first work and behind its "
        "last (low; medium from three tenths on). Low is what less than half as much hangs on as on something else, and what the GPU does not begin "
        "though it was queued."
    ),
    citations=guide("10.1.2", "9.1.2"),
    check=check,
    examples=Examples(
        fires=_run(busy="14ms", host_idle="25ms"),
        quiet=_run(busy="39.9ms", host_idle="0s"),
        edges=(_run(busy="36ms", host_idle="4ms"), _run(busy="36ms", host_idle="3.9ms")),
    ),
)
