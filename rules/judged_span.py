"""What is judged of a recorded run, in words: its span, or what is left of it without the program's start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timeline import WORTH_SAYING
from gpuadvise.advisor.quantity import show_seconds, show_share

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timeline import TracedRun


def of_span(run: TracedRun, seconds: float) -> str:
    """Return which share *seconds* are of what is judged of a run, and what that is."""
    return f"{show_share(run.share(seconds))} of {judged_span(run)}"


def judged_span(run: TracedRun) -> str:
    """Return what is judged of a run: where the program's start is left out of the span, how long the rest is."""
    if not starts(run):
        return "the span"
    return f"the {show_seconds(run.span_seconds)} that are judged"


def starts(run: TracedRun) -> bool:
    """Return whether what the program does once is worth a word, of the time from the GPU's first work to its last."""
    return run.start_up_seconds >= WORTH_SAYING * (run.span_seconds + run.start_up_seconds) > 0
