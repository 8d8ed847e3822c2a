"""Long stretches in which the GPU waits for the host's own work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timeline import LAUNCH_BOUND_IDLE
from gpuadvise.advisor.facts.unclaimed_idle import unclaimed_idle
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.beside_run import MUCH_OUTSIDE, beside_run
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.host_gaps import host_gaps
from gpuadvise.rules.idle_times import IDLE_TIMES
from gpuadvise.rules.judged_span import of_span
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

_FETCHED_BACK = number(
    2e9,
    "managed memory that the host takes back by page faults, at least",
    "bytes/s",
    "half of what was measured on a H200",
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
    advice = [host_gaps(timeline)] if timeline.host_bound else []
    idle = unclaimed_idle(timeline, transfers or (), link)
    if idle is not None:
        advice.append(_idle_for(timeline, idle, managed))
    advice += beside_run(timeline)
    return tuple(advice) or PASSED


def _idle_for(run: TracedRun, idle: IdleCause, managed: Managed | None) -> Advice:
    said = IDLE_TIMES[idle.cause]
    share = run.share(idle.seconds)
    short = too_little(run) if run.too_short else ""
    if managed is not None and idle.cause == "host-work":
        short = f" Taking pages of managed memory back counts as its work.{short}"
    how = "idle time of this cause"
    return Advice(
        message=(
            f"For {show_seconds(idle.seconds)}, {of_span(run, idle.seconds)}, the GPU is idle while "
            f"{said.meanwhile}.{held_by(idle)}{short}"
        ),
        action=f"{said.action}{how_to_see_lines(run, idle)}",
        reasoned=not said.by_program,  # the host's work is not what costs
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
            if (
                said.in_call
                and said.by_program
                and share >= LAUNCH_BOUND_IDLE
                and not run.too_short
            )
            or _is_most(run, idle, managed)
            else Priority.LOW
        ),
    )


def _is_most(run: TracedRun, idle: IdleCause, managed: Managed | None) -> bool:
    """Return whether the host's own work takes much of all that was recorded; a framework's is its launches.

    Pages that the host takes back are no work of its own.
    """
    faults = managed.taken_back / _FETCHED_BACK if managed is not None else 0.0
    much = run.share_of_recording(idle.seconds - faults) >= MUCH_OUTSIDE
    return idle.cause == "host-work" and much and not run.calls_pytorch and not run.too_short


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
        "last (low; medium from three tenths on), or pass while a launched kernel does not begin (low); or a tenth of what the program was seen to run "
        "lies before its first call of CUDA and behind its last (low; medium from three tenths and a second on); or a tenth of the launches have no kernel in the "
        "recording (low). Work that comes at the rate of a camera or a display has no gain (medium). The host's own work outside of PyTorch is medium where it is three tenths of "
        "all that was recorded. Low is what less than half as much hangs on as on something else, what is left of a recording of which four fifths come once (medium from a half on), a gap or two of a test as of "
        "launch-bound, and what the GPU does not begin though it was queued."
    ),
    citations=guide("10.1.2", "9.1.2"),
    check=check,
    examples=Examples(
        fires=_run(busy="14ms", host_idle="25ms"),
        quiet=_run(busy="39.9ms", host_idle="0s"),
        edges=(_run(busy="36ms", host_idle="4ms"), _run(busy="36ms", host_idle="3.9ms")),
    ),
)
