"""Gains as shares of a recorded run: what a change wins of the whole traced span."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.product_savings import half_of_the_rest
from gpuadvise.advisor.facts.timeline import NOTICEABLE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Location
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.expectation import OF_A_KERNEL
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timeline import IdleCause, TracedRun
    from gpuadvise.rules.advice import Outcome

MOST_OF_A_RUN = number(
    1e6, "largest gain that is said of a run", "factor", "where nothing is left of the span"
)
LOUD = number(
    0.09,
    "part of a recorded run that is worth more than a quiet word",
    "share of the recording",
    "a speed-up of 1.1, as of kernels: readers of public recordings name first what takes a tenth or more",
    LaunchSet.RECORDED,
)
_WORTH_MORE_THAN_LOW = number(
    1.1,
    "gain of a run by one kernel's launch, of more than low priority",
    "factor",
    "our judgement: less is within what a launch's shape promises loosely",
)

_MUCH_OF_A_RUN = number(
    1 / 3,
    "part of a run that a kernel takes of which a finding is high",
    "share of the run",
    "our judgement: of less, two thirds of the run are something else, which comes first",
)


def span_gain(run: TracedRun, saved: float, how: str) -> Gain:
    """Return the bound on the span if *saved* seconds of it went, which *how* names."""
    bound = run.bound(saved)
    return Gain(
        kind=GainKind.RUN_TIME,
        upper_bound=MOST_OF_A_RUN if bound is None else min(bound, MOST_OF_A_RUN),
        how=f"span / (span - {how})",
    )


def idle_gain(run: TracedRun, saved: float, how: str) -> Gain:
    """Return the same for idle time beside launches, which the profiler lengthens itself."""
    bound = run.bound_without_profiler(saved)
    return Gain(
        kind=GainKind.RUN_TIME,
        upper_bound=MOST_OF_A_RUN if bound is None else max(1.0, min(bound, MOST_OF_A_RUN)),
        how=f"span / (span - {how}), the profiler's part of each launch taken off the span",
    )


def idle_of(run: TracedRun, *causes: str) -> IdleCause | None:
    """Return the longest idle time of *causes* of which a line of the program is known."""
    known = [idle for idle in run.idle_causes if idle.cause in causes and idle.file is not None]
    return max(known, key=lambda idle: idle.seconds, default=None)


def held_by(cause: IdleCause | None, within: float | None = None) -> str:
    """Return what held the GPU up, as a sentence; nothing where the recording does not say.

    *within* are the seconds that were said just before, where these are not all idle time of the cause.
    """
    if cause is None or cause.culprit is None:
        return ""
    place = ""
    if cause.file is not None:
        function = cause.function if cause.function and cause.function != cause.culprit else ""
        place = f", {f'{function}, ' if function else ''}{cause.file}:{cause.line}"
    seconds = show_seconds(cause.culprit_seconds)
    if within is not None and cause.culprit_seconds > within:
        return (
            f" In all the GPU is idle for {seconds} in: {cause.culprit}{place}{_for_loader(cause)}."
        )
    return f" {seconds} of it: {cause.culprit}{place}{_for_loader(cause)}."


def _for_loader(cause: IdleCause) -> str:
    """Return who was asked for data meanwhile, where the name does not say it; or that ranks were."""
    if cause.communicates:
        return ", communication on the host"
    if cause.loader == "files":
        return ", which reads files"
    if cause.loader is None or "DataLoader" in (cause.culprit or ""):
        return ""
    return f", asked by a DataLoader {'without' if cause.loader == 'itself' else 'with'} workers"


def too_little(run: TracedRun) -> str:
    """Return that too little ran to judge a run by, as a sentence; nothing where enough did."""
    if not run.is_a_test:
        return ""
    return (
        f" {plural(run.kernels, 'kernel')} in {show_seconds(run.busy_seconds)} are too few to judge a run by: "
        "record work of the size that you mean to run."
    )


def how_to_see_lines(run: TracedRun, cause: IdleCause | None) -> str:
    """Return how to record the lines of a program, where a recording could hold them and does not."""
    if run.has_stacks is not False or (cause is not None and cause.file is not None):
        return ""
    return " Recorded with profile(with_stack=True), this names the line."


def line_of(cause: IdleCause | None) -> Location | None:
    """Return the line of the program that held the GPU up, None where it is not known."""
    if cause is None or cause.file is None:
        return None
    return Location(file=cause.file, line=cause.line)


def with_half_the_bytes(
    run: TracedRun, seconds: float, bits: int, *, sends_fewer: bool = False
) -> str:
    """Return why numbers of *bits* may win more than *seconds*; nothing where that is little of the rest."""
    rest = half_of_the_rest(run, seconds, sends_fewer=sends_fewer)
    if rest < NOTICEABLE * (run.span_seconds - seconds):
        return ""
    return f", and numbers of {bits} bits may halve the time of the other kernels and copies"


def in_recording(outcome: Outcome, run: TracedRun) -> Outcome:
    """Return *outcome* about a run, low where it wins less than a tenth of all that was recorded of it.

    Likewise where too little ran to judge a run by. What promises no gain is not about the run.
    """
    if not isinstance(outcome, Advice) or outcome.gain is None or outcome.broken:
        return outcome
    saved = 1 - 1 / outcome.gain.upper_bound if outcome.gain.upper_bound > 0 else 0.0
    share = run.lasting_share(saved * run.span_seconds)
    if share < LOUD or (run.kernels and run.too_short):
        return replace(outcome, priority=Priority.LOW)
    return outcome


def in_span(
    outcome: Outcome, share: float | None, usual: Priority, *, brief: bool = False
) -> Outcome:
    """Return *outcome* about a kernel that takes *share* of a recorded run, as a gain of the run.

    A gain of less than 5 % of the run is none: a launch's shape alone promises it loosely. Up to a
    tenth the finding is low, and of a *brief* run always; of a kernel of less than a third of the run
    it is medium at most. *usual* is the rule's own priority.
    """
    if share is None or not isinstance(outcome, Advice):
        return outcome
    evidence = (*outcome.evidence, traced("share of the run", share, "share"))
    if outcome.gain is None:
        return replace(outcome, evidence=evidence)
    saved = share * (1 - 1 / outcome.gain.upper_bound)
    if saved < NOTICEABLE:
        return PASSED
    how = f"{outcome.gain.how}, for {show_share(share)} of the run"
    timely = outcome.gain.kind in OF_A_KERNEL
    gain = Gain(
        kind=GainKind.RUN_TIME,
        upper_bound=1 / (1 - saved),
        how=how,
        of_kernel=outcome.gain.upper_bound if timely else None,
        share=share,
    )
    return replace(
        outcome,
        evidence=evidence,
        gain=gain,
        priority=_of_a_part(outcome.priority or usual, gain.upper_bound, share, brief=brief),
    )


def _of_a_part(said: Priority, bound: float, share: float, *, brief: bool) -> Priority:
    """Return how loudly a kernel of *share* of a run is said that wins *bound* of it: as *said* at most."""
    if brief or bound < _WORTH_MORE_THAN_LOW:
        return Priority.LOW
    return Priority.MEDIUM if said is Priority.HIGH and share < _MUCH_OF_A_RUN else said
