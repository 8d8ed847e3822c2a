"""The steps of two recorded runs: whether they take longer, all of them or some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.steps import PARTS, StepSource, median_low

if TYPE_CHECKING:
    from gpuadvise.advisor.timelines.steps import Step
    from gpuadvise.advisor.timelines.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSteps:
    """The steps of one run that come behind the program's start, two or more of them."""

    source: StepSource
    name: str | None  # of the range that marks them
    steps: tuple[Step, ...]
    count: int  # of all steps, the program's start too

    @property
    def lengths_ns(self) -> list[int]:
        """How long each took."""
        return [step.length_ns for step in self.steps]

    @property
    def median_ns(self) -> int:
        """The length of the middle one."""
        return median_low(self.lengths_ns)

    @property
    def mean_ns(self) -> float:
        """Their whole time, shared out."""
        return sum(self.lengths_ns) / len(self.steps)

    @property
    def slow_ns(self) -> float:
        """Half way from the middle step to the longest: from here on a step is a slow one."""
        return (self.median_ns + max(self.lengths_ns)) / 2

    @property
    def slow(self) -> tuple[Step, ...]:
        """The slow steps: the longest, and those that are more like it than like the middle one."""
        return tuple(step for step in self.steps if step.length_ns >= self.slow_ns)

    @property
    def mean_but_longest_ns(self) -> float:
        """The mean if the longest step had been like the middle one."""
        longest = max(self.lengths_ns)
        return (sum(self.lengths_ns) - longest + self.median_ns) / len(self.steps)

    @property
    def marked(self) -> bool:
        """Whether the recorder or the program marks them: others may be layers of a pass."""
        return self.source is not StepSource.KERNELS


def steps_of(line: Timeline) -> RunSteps | None:
    """Return the steps of *line*; None where they are not known."""
    if line.steps is None:
        return None
    steps = line.steps.steps
    again = tuple(step for step in steps if step.start_ns >= line.first_steps.end_ns)
    return RunSteps(
        source=line.steps.source,
        name=line.steps.name,
        steps=again if len(again) > 1 else steps,
        count=len(steps),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSteps:
    """Steps of a run that took longer than its middle one, and what they have most beyond it."""

    steps: tuple[Step, ...]
    of: int
    longer_ns: int  # the middle one of them
    part: str  # one of PARTS
    part_ns: int  # likewise

    @property
    def longest(self) -> Step:
        """The longest of them."""
        return max(self.steps, key=lambda step: step.length_ns)


def slow_steps(run: RunSteps, beyond_ns: float) -> SlowSteps:
    """Return the steps of *run* longer than *beyond_ns*, or where there are none its slow ones."""
    slow = tuple(step for step in run.steps if step.length_ns > beyond_ns) or run.slow
    more = {
        part: median_low([step.part_ns(part) for step in slow])
        - median_low([step.part_ns(part) for step in run.steps])
        for part in PARTS
    }
    part = max(more, key=more.__getitem__)
    return SlowSteps(
        steps=slow,
        of=len(run.steps),
        longer_ns=median_low([step.length_ns for step in slow]) - run.median_ns,
        part=part,
        part_ns=more[part],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChange:
    """How the steps of a run changed; *slower* is the share that counts."""

    old: RunSteps
    new: RunSteps
    slower: float

    @property
    def regression(self) -> bool:
        """Whether the middle step takes longer, or all steps together do by more than one step's doing."""
        return self.middle_slower or (self.mean_slower and not self.by_one_step)

    @property
    def middle_slower(self) -> bool:
        """Whether the middle step takes longer."""
        return self._longer(self.old.median_ns, self.new.median_ns)

    @property
    def mean_slower(self) -> bool:
        """Whether all steps together take longer, for each of them."""
        return self._longer(self.old.mean_ns, self.new.mean_ns)

    @property
    def by_one_step(self) -> bool:
        """Whether one slow step of the new run makes all the difference.

        It came alone, as a checkpoint or a collection of garbage does that falls into one of two
        recordings; or slow steps come again and again in both, and one more of them fell into the
        new run.
        """
        if self._longer(self.old.mean_ns, self.new.mean_but_longest_ns):
            return False
        slow = len(self.new.slow)
        alike = sum(step.length_ns >= self.new.slow_ns for step in self.old.steps)
        usual = alike * len(self.new.steps) / len(self.old.steps)
        return slow == 1 or usual < slow <= usual + 1

    @property
    def hidden_by_one_step(self) -> bool:
        """Whether a slow step that came alone in the old run is why the new one does not take longer."""
        if self.mean_slower or len(self.old.slow) > 1:
            return False
        steps = self.new
        mean = steps.mean_but_longest_ns if len(steps.slow) == 1 else steps.mean_ns
        return self._longer(self.old.mean_but_longest_ns, mean)

    @property
    def slow(self) -> SlowSteps:
        """The steps of the new run that are why all together take longer."""
        return slow_steps(self.new, (1 + self.slower) * max(self.old.mean_ns, self.new.median_ns))

    def _longer(self, old: float, new: float) -> bool:
        return new - old > self.slower * old


def step_change(old: RunSteps | None, new: RunSteps | None, slower: float) -> StepChange | None:
    """Return how the steps changed; None where they are not known, or told in different ways."""
    if old is None or new is None or (old.source, old.name) != (new.source, new.name):
        return None
    return StepChange(old=old, new=new, slower=slower)


def as_often(old_calls: int, new_calls: int, old_steps: int, new_steps: int) -> bool:
    """Return whether calls go with the number of steps: so many in each, and so many besides in both runs.

    Of what comes in every other step only, one call may fall into one step more or less.
    """
    if old_steps == new_steps:
        return old_calls == new_calls
    each, rest = divmod(new_calls - old_calls, new_steps - old_steps)
    if rest == 0 and each >= 0 and old_calls >= each * old_steps:
        return True
    return abs(new_calls * old_steps - old_calls * new_steps) <= old_steps
