"""The steps of a run: what the GPU did in each, and which took longest and why."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.timelines.phases import Phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.timelines.activities import Activities, Recording
    from gpuadvise.advisor.timelines.intervals import Blocks
    from gpuadvise.advisor.timelines.phases import PhasePart

# Behind whatever is recorded.
_NEVER = 2**62
# Fewer tell no typical one.
FEWEST = 3
_MOST = 10_000
_MOST_RANGES = 1_000_000  # of all names
# Starts that are kept of each kernel, to find the one that each step runs once.
MOST_STARTS = 512
# Of the kernels' time: so much must come as often as the steps, or a multiple of that.
_REGULAR = 0.8
# Kernels that come so many times less often than others are no part of what those repeat.
_RARER = 2
# Steps that no one marks are as long as the typical one, within a factor.
_ALIKE, _MOST_ALIKE = 2, 0.8


_DIGITS = re.compile(r"\d+")


class StepSource(StrEnum):
    """How the steps of a recording are known."""

    PROFILER = "profiler"  # ProfilerStep# of PyTorch
    RANGES = "ranges"  # of NVTX, one name again and again
    KERNELS = "kernels"  # a kernel that comes once in each


class StepTimes:
    """When steps with a number were; of one number the first begin and the last end count."""

    __slots__ = ("_times",)

    def __init__(self) -> None:
        self._times: dict[int, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._times)

    def add(self, number: int, start: int, end: int) -> None:
        """Add one step."""
        if number not in self._times and len(self._times) >= _MOST:
            return
        begun, ended = self._times.get(number, (start, end))
        self._times[number] = min(start, begun), max(end, ended)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the steps in order of time."""
        return sorted(self._times, key=self._times.__getitem__)

    @property
    def spans(self) -> list[tuple[str, int, int]]:
        """The number of each step, its begin and its end, in order of time."""
        return [(str(number), *self._times[number]) for number in self.numbers]

    @property
    def bounds(self) -> list[int]:
        """The begin of each step, and the end of the last."""
        times = sorted(self._times.values())
        return [start for start, _ in times] + [max(end for _, end in times)] if times else []


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMarks:
    """Where the steps of a recording begin, and where the last ends: of its clock."""

    bounds: Sequence[int]
    numbers: Sequence[int]
    source: StepSource
    name: str | None = None  # of the range that marks them


class RepeatedRanges:
    """Ranges that a program names, by name and thread; numbers in a name tell no other name."""

    def __init__(self) -> None:
        self._ranges: dict[tuple[str, int], list[tuple[int, int]]] = {}
        self._kept = 0
        self.name: str | None = None  # of those that look most like steps, numbers in it as #

    def add(self, name: str, thread: int, start: int, end: int) -> None:
        """Add one range."""
        key = _DIGITS.sub("#", name), thread
        ranges = self._ranges.get(key)
        if ranges is None:
            if len(self._ranges) >= _MOST:
                return
            ranges = self._ranges[key] = []
        if len(ranges) < _MOST and self._kept < _MOST_RANGES:
            ranges.append((start, end))
            self._kept += 1

    def steps(self) -> list[tuple[int, int]]:
        """Return the ranges that look most like steps: one after the other, for the longest time."""
        best: list[tuple[int, int]] = []
        taken = 0
        for (name, _), ranges in self._ranges.items():
            total = sum(end - start for start, end in ranges)
            ordered = sorted(ranges)
            apart = all(first[1] <= second[0] for first, second in pairwise(ordered))
            if len(ordered) >= FEWEST and apart and total > taken:
                best, taken, self.name = ordered, total, name
        return best


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPhase:
    """One phase of a step: its kernels' nanoseconds, and those from its first kernel to its last.

    Of data it is the time in which the GPU was idle and waited for it, of communication that beside
    no kernel that computes.
    """

    phase: Phase
    kernel_ns: int
    length_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What the GPU did from the begin of a step to that of the next, in nanoseconds.

    The parts are those of the account: they add up to the length.
    """

    number: int
    start_ns: int  # from the span's
    length_ns: int
    computing_ns: int
    communication_ns: int  # beside no kernel that computes
    copies_ns: int  # and memsets, beside no kernel
    idle_ns: int
    phases: tuple[StepPhase, ...] = ()  # where the recording tells them

    def part_ns(self, part: str) -> int:
        """Return one of PARTS."""
        return {
            "computing": self.computing_ns,
            "communication": self.communication_ns,
            "copies": self.copies_ns,
            "idle": self.idle_ns,
        }[part]


PARTS = ("computing", "communication", "copies", "idle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The steps of a run in order of time, at least FEWEST of them."""

    source: StepSource
    steps: tuple[Step, ...]
    name: str | None = None  # of the range that marks them

    @property
    def median_ns(self) -> int:
        """The length of the middle step."""
        return median_low([step.length_ns for step in self.steps])

    @property
    def shortest_ns(self) -> int:
        """The length of the shortest step."""
        return min(step.length_ns for step in self.steps)

    @property
    def slowest(self) -> Step:
        """The longest step."""
        return max(self.steps, key=lambda step: step.length_ns)

    @property
    def median_parts(self) -> dict[str, int]:
        """The median of each part over all steps."""
        return {part: median_low([step.part_ns(part) for step in self.steps]) for part in PARTS}

    @property
    def median_phases(self) -> tuple[StepPhase, ...]:
        """The median of each phase over all steps, in the order in which they run."""
        by_phase: dict[Phase, list[StepPhase]] = {}
        for step in self.steps:
            for one in step.phases:
                by_phase.setdefault(one.phase, []).append(one)
        return tuple(
            StepPhase(
                phase=phase,
                kernel_ns=median_low([one.kernel_ns for one in ones]),
                length_ns=median_low([one.length_ns for one in ones]),
            )
            for phase in Phase
            if 2 * len(ones := by_phase.get(phase, [])) >= len(self.steps)
        )

    @property
    def slowest_for(self) -> tuple[str, int]:
        """The part of which the slowest step has most beyond the median, and by how much."""
        usual, slowest = self.median_parts, self.slowest
        beyond = {part: slowest.part_ns(part) - usual[part] for part in PARTS}
        part = max(beyond, key=beyond.__getitem__)
        return part, beyond[part]


class StepParts(NamedTuple):
    """Nanoseconds of each step in which the GPU computed, ran any kernel, and did anything."""

    computing: list[int]
    kernels: list[int]
    busy: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCovers:
    """When the GPU computed, ran any kernel, and did anything."""

    computing: Blocks
    kernels: Blocks
    busy: Blocks

    def between(self, bounds: Sequence[int]) -> StepParts:
        """Return what the GPU did between each two of *bounds*."""
        covers = (self.computing, self.kernels, self.busy)
        return StepParts(*(covered_between(cover, bounds) for cover in covers))


def marked_steps(
    recording: Recording, activities: Activities, covers: StepCovers
) -> StepMarks | None:
    """Return the steps that the recorder or the program marks, two or more of them; None where they do not.

    Of a range most of what was computed since it first began is in it: parts of a layer are no steps.
    """
    for times in (activities.steps, recording.steps):
        if len(times) > 1:
            bounds = times.bounds
            # Marks end before the work that was queued last, or, on the GPU's side, on another stream.
            bounds[-1] = max(bounds[-1], _span(covers.busy)[1])
            return StepMarks(bounds=bounds, numbers=times.numbers, source=StepSource.PROFILER)
    ranges = recording.ranges
    if len(ranges) < FEWEST:
        return None
    bounds = ranges.bounds
    usual = median_low([later - earlier for earlier, later in pairwise(bounds)])
    bounds[-1] = max(bounds[-1], bounds[-2] + usual)
    computed = covered_between(covers.computing, [*bounds, _NEVER])
    if 2 * computed[-1] > sum(computed) or _are_layers(bounds[:-1], activities):
        return None
    return StepMarks(
        bounds=bounds,
        numbers=ranges.numbers,
        source=StepSource.RANGES,
        name=recording.range_name,
    )


def steps_between(marks: StepMarks, parts: StepParts, start_ns: int) -> Steps | None:
    """Return the steps of *marks*, which have these *parts*; None for too few."""
    bounds = marks.bounds
    if len(bounds) <= FEWEST:
        return None
    computing, kernels, busy = parts
    return Steps(
        source=marks.source,
        name=marks.name,
        steps=tuple(
            Step(
                number=marks.numbers[at],
                start_ns=begin - start_ns,
                length_ns=end - begin,
                computing_ns=computing[at],
                communication_ns=kernels[at] - computing[at],
                copies_ns=busy[at] - kernels[at],
                idle_ns=end - begin - busy[at],
            )
            for at, (begin, end) in enumerate(pairwise(bounds))
        ),
    )


def with_phases(
    steps: Steps, parts: Sequence[PhasePart], data: Sequence[tuple[int, int]], start_ns: int
) -> Steps:
    """Return *steps* with the phases of each: *parts*, and waits for *data* (start and length).

    *parts* are of the recording's clock, in which the span begins at *start_ns*.
    """
    if not parts and not data:
        return steps
    starts = [step.start_ns for step in steps.steps]
    phases: list[dict[Phase, list[int]]] = [{} for _ in starts]
    timed = [
        (one.phase, one.start_ns - start_ns, one.kernel_ns, one.end_ns - one.start_ns)
        for one in parts
    ]
    timed += [(Phase.DATA, start, 0, length) for start, length in data]
    for phase, begin, kernel_ns, length_ns in timed:
        at = bisect_right(starts, begin) - 1
        if at >= 0:
            sums = phases[at].setdefault(phase, [0, 0])
            sums[0], sums[1] = sums[0] + kernel_ns, sums[1] + length_ns
    for step, found in zip(steps.steps, phases, strict=True):
        if step.communication_ns:
            found[Phase.COMMUNICATION] = [step.communication_ns, step.communication_ns]
    return replace(
        steps,
        steps=tuple(
            replace(
                step,
                phases=tuple(
                    StepPhase(phase=phase, kernel_ns=found[phase][0], length_ns=found[phase][1])
                    for phase in Phase
                    if phase in found
                ),
            )
            for step, found in zip(steps.steps, phases, strict=True)
        ),
    )


def covered_between(blocks: Blocks, bounds: Sequence[int]) -> list[int]:
    """Return the nanoseconds that a cover has between each two of *bounds*."""
    until = [0] * len(bounds)
    before, at = 0, 0
    for block in blocks.blocks():
        sums = [0, *accumulate(map(int.__sub__, block.ends, block.starts))]
        while at < len(bounds) and bounds[at] <= block.ends[-1]:
            place = bisect_left(block.starts, bounds[at])
            # Of the interval that begins before the bound, what lies behind it is too much.
            over = max(0, block.ends[place - 1] - bounds[at]) if place else 0
            until[at] = before + sums[place] - over
            at += 1
        before += sums[-1]
    for rest in range(at, len(bounds)):
        until[rest] = before
    return [later - earlier for earlier, later in pairwise(until)]


def steps_by_a_kernel(activities: Activities) -> StepMarks | None:
    """Return the steps from one run of a kernel to the next that each step runs once; None where none tells them."""
    for marks in _once_in_each(activities, FEWEST + 1):
        lengths = [later - earlier for earlier, later in pairwise(marks)]
        if _alike(lengths) or _alike(lengths[1:]):  # the first may be the program's start
            return StepMarks(
                bounds=marks, numbers=range(1, len(marks) + 1), source=StepSource.KERNELS
            )
    return None


def unmarked_steps(activities: Activities, busy: Blocks) -> list[int]:
    """Return the begins of steps that kernels tell, and the end of the last: all in which the GPU was *busy*.

    The first may take as long as it likes; empty where the others are not alike.
    """
    for marks in _once_in_each(activities, FEWEST):
        begin, end = _span(busy)
        bounds = [begin, *marks[1:], end]
        if _alike([later - earlier for earlier, later in pairwise(bounds[1:])]):
            return bounds
    return []


def _span(busy: Blocks) -> tuple[int, int]:
    begin, end = None, 0
    for block in busy.blocks():
        begin, end = block.starts[0] if begin is None else begin, block.ends[-1]
    return begin or 0, end


def _once_in_each(activities: Activities, fewest: int) -> Iterator[list[int]]:
    """Yield the starts of kernels that would come once in each of *fewest* steps or more.

    Layers of a pass come again as steps do: what begins and ends each pass is much rarer than they are.
    """
    times: dict[int, int] = {}
    for runs in activities.kernels.values():
        if runs.durations:
            summary = runs.durations.summary()
            times[summary.count] = times.get(summary.count, 0) + summary.total
    total = sum(times.values())
    for count in sorted(times, key=lambda count: -times[count]):
        if not fewest <= count <= MOST_STARTS:
            continue
        regular = sum(time for other, time in times.items() if other % count == 0)
        if regular < _REGULAR * total:
            continue
        once = [
            sorted(runs.starts) for runs in activities.kernels.values() if len(runs.starts) == count
        ]
        marks = min(once, default=[])
        if len(activities.kernels) > 1 and marks and not _are_layers(marks, activities):
            yield marks


def _are_layers(marks: Sequence[int], activities: Activities) -> bool:
    """Return whether kernels that come half as often at most stand before the first of *marks* and behind the last.

    As an embedding and a head do around the layers of a network.
    """
    rarer = [
        runs.starts
        for runs in activities.kernels.values()
        if runs.starts and _RARER * len(runs.starts) <= len(marks)
    ]
    before = any(min(starts) < marks[0] for starts in rarer)
    return before and any(max(starts) > marks[-1] for starts in rarer)


def median_low(values: Sequence[int]) -> int:
    """Return the lower median; `statistics`, which has it too, loads fractions and decimals."""
    return sorted(values)[(len(values) - 1) // 2]


def _alike(lengths: Sequence[int]) -> bool:
    typical = median_low(lengths)
    alike = sum(typical / _ALIKE <= length <= _ALIKE * typical for length in lengths)
    return typical > 0 and alike >= _MOST_ALIKE * len(lengths)
