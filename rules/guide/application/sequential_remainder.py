"""A sequential part that keeps the wanted speed-up out of reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.scaling import amdahl, amdahl_limit, gustafson, needed_parallel
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.application import Scaling


def check(scaling: Scaling) -> Verdict:
    """Advise when the sequential part bounds the speed-up below the target or dominates."""
    part, n = scaling.parallel, scaling.processors
    reached = gustafson(part, n) if scaling.grows else amdahl(part, n)
    if scaling.target is None:
        dominates = not scaling.grows and 1 - part > part / n
        fires = n > 1 and dominates
    else:
        fires = reached < scaling.target
    if not fires:
        return PASSED
    return Advice(
        message=_seen(scaling, reached),
        action=_needed(scaling),
        evidence=(
            given("parallel fraction", part, "share"),
            given("processors", n, "processors"),
            derived("speed-up", reached, "x"),
        ),
        gain=_gain(min(n, scaling.target or n), reached),
    )


def _gain(goal: float, reached: float) -> Gain:
    """Return the bound: *goal* is the target, but never more than there are processors."""
    return Gain(
        kind=GainKind.RUN_TIME,
        upper_bound=max(1.0, goal / reached),
        how=f"speed-up wanted / now = {show_number(goal)} / {show_number(reached)}",
    )


def _seen(scaling: Scaling, reached: float) -> str:
    part, n = scaling.parallel, scaling.processors
    if scaling.grows:
        return (
            f"With {show_share(part)} of the run time parallel, {plural(n, 'processor')} speed a "
            f"problem that grows with the machine up by {show_number(reached)}x."
        )
    most = "without limit" if part == 1 else f"{show_number(amdahl_limit(part))}x with any number"
    return (
        f"With {show_share(part)} of the run time parallel, {plural(n, 'processor')} give "
        f"{show_number(reached)}x, and {most} is the most."
    )


def _needed(scaling: Scaling) -> str:
    part, n, target = scaling.parallel, scaling.processors, scaling.target
    if target is None:
        return (
            f"Move more of the sequential {show_share(1 - part)} to the GPU before you speed up "
            f"kernels: it takes longer than the parallel part does on {plural(n, 'processor')}. "
            f"If the problem grows with the machine, expect {show_number(gustafson(part, n))}x."
        )
    needed = needed_parallel(target, n)
    if needed is None:
        return f"{target:g}x is more than {plural(n, 'processor')} can give: use more of them."
    return (
        f"For {target:g}x, {show_share(needed)} of the run time must be parallel: move "
        f"{show_share(max(0.0, needed - part))} more of it to the GPU."
    )


RULE = Rule(
    id="sequential-remainder",
    title="Parallelise the sequential part",
    topic=Topic.APPLICATION,
    priority=Priority.HIGH,
    kinds=(Kind.APPLICATION,),
    recommendation=True,
    why="However fast the kernels are, the program is never faster than its sequential part.",
    when=(
        "The speed-up that Amdahl's law (or Gustafson's, if the problem grows) allows is below "
        "the target; without a target, when the sequential part outlasts the parallel one."
    ),
    thresholds=(
        Threshold(
            name="without a target: sequential / parallel time",
            value=1,
            unit="",
            source="guide 4.1.2: the larger part first",
        ),
    ),
    citations=guide("4.1.3", "3.1.3"),
    check=check,
    examples=Examples(
        fires={"scaling": {"parallel": 0.75, "processors": 132, "target": 10}},
        quiet={"scaling": {"parallel": 0.999, "processors": 132, "target": 10}},
        edges=(
            {"scaling": {"parallel": 0.79, "processors": 4}},
            {"scaling": {"parallel": 0.8, "processors": 4}},
        ),
    ),
)
