"""What ``diff`` says of the steps of two recorded runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import quoted_path
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.advisor.resource_diff.run_steps import slow_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.resource_diff.run_steps import RunSteps, SlowSteps, StepChange

_NS = 1e9
_PARTS = {
    "computing": "of kernels",
    "communication": "of communication",
    "copies": "of copies",
    "idle": "of idle time",
}
# The mean of steps is told beside the middle one where it is this much longer in either run.
_APART = 1.01
_ALONE = "One slow step alone fails no gate: record more steps to see whether it comes again."


def times(change: StepChange, factor: Callable[[float, float], str]) -> str:
    """Return what a step took in both runs; *factor* says how many times as long."""
    old, new = change.old, change.new
    middle = _moved(old.median_ns / _NS, new.median_ns / _NS, factor)
    if all(run.mean_ns <= _APART * run.median_ns for run in (old, new)):
        return f"a step took {middle}"
    mean = _moved(old.mean_ns / _NS, new.mean_ns / _NS, factor)
    return f"the middle step took {middle}; in the mean a step took {mean}"


def _moved(old: float, new: float, factor: Callable[[float, float], str]) -> str:
    return f"{show_seconds(old)} and now {show_seconds(new)}{factor(old, new)}"


def failed(change: StepChange) -> str | None:
    """Return why the steps became slower; None where they did not."""
    if change.middle_slower:
        return "The middle step became slower"
    if change.regression:
        return f"Steps became slower in the mean: {_slow(change.slow)}"
    return None


def _slow(slow: SlowSteps) -> str:
    """Return how many steps took longer than the middle one, by how much, and which took longest."""
    count, longer, longest = len(slow.steps), slow.longer_ns / _NS, slow.longest
    took = f"{count:,} of {slow.of:,} took {show_seconds(longer)} longer than the middle one"
    if slow.part_ns > 0:
        took += f", with {show_seconds(slow.part_ns / _NS)} more {_PARTS[slow.part]}"
    if count == 1:
        return f"{took} (step {longest.number})"
    return f"{took} (step {longest.number} most: {show_seconds(longest.length_ns / _NS)})"


def notes(change: StepChange, old: str, new: str) -> list[str]:
    """Return what a slow step that came alone hides from the gate, in the files *old* and *new*."""
    if change.regression:
        return []
    if change.mean_slower:
        return [_note(new, change.new, "it is all that makes the steps slower in the mean")]
    if change.hidden_by_one_step:
        return [
            _note(old, change.old, "without it the new run's steps would be slower in the mean")
        ]
    return []


def _note(path: str, run: RunSteps, why: str) -> str:
    slow = _slow(slow_steps(run, run.slow_ns))
    return f"{quoted_path(path)}: of its steps {slow}; {why}. {_ALONE}"
