"""Two recorded runs of a program, kernel by kernel: times, calls, registers, occupancy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.names import stable_name
from gpuadvise.advisor.resource_diff.run_steps import (
    RunSteps,
    StepChange,
    as_often,
    step_change,
    steps_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.timelines.timeline import Timeline, TracedCopies, TracedKernel

# Below this change of its time a kernel is as fast as it was: repeated runs of the recorded
# programs differ by up to 4 %.
NOTICEABLE = 0.05
# A kernel that costs the whole run less than this more or less is no regression of the run.
WORTH_SAYING = 0.01
# Pages of a profiler round the occupancy to a hundredth of a percent; tiers lie 1/64 apart.
_ROUNDING = 0.001
_NS = 1e9


class RunStatus(StrEnum):
    """What became of a kernel between two runs, worst first."""

    WORSE = "worse"  # fewer of its warps fit, and its time is not known
    SLOWER = "slower"
    MORE_CALLS = "more calls"  # and so more time; a call takes no longer
    FASTER = "faster"
    BETTER = "better"  # more of its warps fit, in the same time
    FEWER_CALLS = "fewer calls"  # and so less time; a call takes no less
    CHANGED = "changed"  # other calls or registers, in the same time
    NEW = "new"
    REMOVED = "removed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKernel:
    """All runs of a kernel; shape, registers and occupancy are those that took most time."""

    name: str
    calls: int
    seconds: float
    median_seconds: float
    registers: int | None
    occupancy: float | None  # theoretical, 0 to 1
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    timed: bool = True  # whether each call has a time


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCopies:
    """All copies of one direction between the same kinds of memory."""

    direction: str
    source: str
    target: str
    calls: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run. A report of a kernel profiler has neither span nor copies.

    The kernels and copies are those of all GPUs; ``span_seconds`` and what follows are of the GPU
    with the longest span.
    """

    device: Device | None
    kernels: tuple[RunKernel, ...]
    copies: tuple[RunCopies, ...] = ()
    span_seconds: float | None = None
    busy_seconds: float | None = None
    idle_seconds: float | None = None
    occupied_seconds: float | None = None  # at least one kernel ran
    copy_seconds: float | None = None  # at least one copy ran
    gpus: int = 1
    all_spans_seconds: float | None = None  # the spans of all GPUs together
    steps: RunSteps | None = None  # where they are known
    notes: tuple[str, ...] = ()  # what was left out of a file of which only a part was read
    damaged: bool = False  # it was left out because the file is

    @property
    def step_seconds(self) -> float | None:
        """The middle step, where steps are known."""
        return self.steps.median_ns / _NS if self.steps else None

    @property
    def step_mean_seconds(self) -> float | None:
        """All steps together, shared out."""
        return self.steps.mean_ns / _NS if self.steps else None

    @property
    def step_count(self) -> int | None:
        """How many steps it has."""
        return self.steps.count if self.steps else None

    @property
    def kernel_seconds(self) -> float:
        """The time in which a kernel ran; of a profiler's report the time of all kernels."""
        if self.occupied_seconds is not None:
            return self.occupied_seconds
        return sum(kernel.seconds for kernel in self.kernels)

    @property
    def whole_seconds(self) -> float:
        """The span where it is known, else the time of all kernels."""
        return self.kernel_seconds if self.span_seconds is None else self.span_seconds

    @property
    def summed_seconds(self) -> float:
        """What the sums over all GPUs are a part of: all spans, or the time of all kernels."""
        return self.kernel_seconds if self.all_spans_seconds is None else self.all_spans_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange:
    """A kernel of either run, or of both."""

    old: RunKernel | None
    new: RunKernel | None
    status: RunStatus


def run_of_timelines(timelines: Sequence[Timeline]) -> Run:
    """Return the run of all GPUs in *timelines*; span and its parts are of the longest."""
    longest = max(timelines, key=lambda line: line.span_ns)
    groups: dict[str, list[TracedKernel]] = {}
    for line in timelines:
        for kernel in line.kernels:
            groups.setdefault(stable_name(kernel.shape.name), []).append(kernel)
    return Run(
        device=longest.device,
        kernels=tuple(_traced(name, kernels) for name, kernels in groups.items()),
        copies=_copies(copies for line in timelines for copies in line.copies),
        span_seconds=longest.span_seconds,
        busy_seconds=longest.busy_seconds,
        idle_seconds=longest.idle_seconds,
        occupied_seconds=longest.kernel_seconds,
        copy_seconds=longest.copy_seconds,
        gpus=len(timelines),
        all_spans_seconds=sum(line.span_seconds for line in timelines),
        steps=steps_of(longest),
        notes=tuple(dict.fromkeys(note for line in timelines for note in line.notes)),
    )


def _traced(name: str, kernels: list[TracedKernel]) -> RunKernel:
    first = max(kernels, key=lambda kernel: kernel.total_ns)
    return RunKernel(
        name=name,
        calls=sum(kernel.calls for kernel in kernels),
        seconds=sum(kernel.seconds for kernel in kernels),
        median_seconds=_median(kernels),
        registers=first.shape.registers,
        occupancy=first.occupancy.occupancy if first.occupancy else None,
        grid=first.shape.grid,
        block=first.shape.block,
    )


def _median(kernels: list[TracedKernel]) -> float:
    """Return the lower median of all calls, each taken as long as the middle one of its shape."""
    half = (sum(kernel.calls for kernel in kernels) - 1) // 2
    for kernel in sorted(kernels, key=lambda kernel: kernel.median_ns):
        half -= kernel.calls
        if half < 0:
            return kernel.median_seconds
    return 0.0


def _copies(kinds: Iterable[TracedCopies]) -> tuple[RunCopies, ...]:
    groups: dict[tuple[str, str, str], list[TracedCopies]] = {}
    for copies in kinds:
        kind = copies.kind
        groups.setdefault((str(kind.path), str(kind.source), str(kind.target)), []).append(copies)
    return tuple(
        RunCopies(
            direction=path,
            source=source,
            target=target,
            calls=sum(copies.calls for copies in group),
            bytes=sum(copies.bytes for copies in group),
            seconds=sum(copies.seconds for copies in group),
        )
        for (path, source, target), group in groups.items()
    )


def run_of_profiles(
    profiles: Iterable[KernelProfile], device: Device | None, damage: Sequence[str] = ()
) -> Run:
    """Return the run whose launches a kernel profiler measured one by one.

    *damage* says what of the file could not be read.
    """
    groups: dict[str, list[KernelProfile]] = {}
    for profile in profiles:
        groups.setdefault(stable_name(profile.kernel), []).append(profile)
    kernels = tuple(_profiled(name, group) for name, group in groups.items())
    return Run(device=device, kernels=kernels, notes=tuple(damage), damaged=bool(damage))


def _profiled(name: str, launches: list[KernelProfile]) -> RunKernel:
    times = [launch.seconds or 0.0 for launch in launches]
    first = max(launches, key=lambda launch: launch.seconds or 0.0)
    return RunKernel(
        name=name,
        calls=len(launches),
        seconds=sum(times),
        median_seconds=median(times),
        registers=first.registers,
        occupancy=first.theoretical_occupancy,
        grid=first.grid,
        block=first.block,
        timed=all(launch.seconds is not None for launch in launches),
    )


def run_changes(old: Run, new: Run, *, slower: float = NOTICEABLE) -> Iterator[RunChange]:
    """Yield what became of each kernel, paired by name; *slower* is the share that counts."""
    before = {kernel.name: kernel for kernel in old.kernels}
    after = {kernel.name: kernel for kernel in new.kernels}
    whole = max(old.summed_seconds, new.summed_seconds)
    steps = _step_counts(old, new)
    for name in dict.fromkeys([*before, *after]):
        pair = before.get(name), after.get(name)
        status = run_status(*pair, whole, slower=slower, steps=steps)
        yield RunChange(old=pair[0], new=pair[1], status=status)


def _step_counts(old: Run, new: Run) -> tuple[int, int]:
    """Return how many steps each run has; 1 each where nobody marks them: they may be layers of a pass."""
    change = step_change(old.steps, new.steps, NOTICEABLE)
    if change is None or not (change.old.marked and change.new.marked) or old.gpus != new.gpus:
        return 1, 1
    return change.old.count, change.new.count


def run_status(
    old: RunKernel | None,
    new: RunKernel | None,
    whole: float,
    *,
    slower: float = NOTICEABLE,
    steps: tuple[int, int] = (1, 1),
) -> RunStatus:
    """Return what became of a kernel in runs of so many *steps*, of which the longer took *whole* seconds.

    Where times are known, time decides: half the occupancy is the usual price of a kernel that no
    longer spills, and many times as fast. Calls that go with the number of steps are no more of them.
    """
    if old is None or new is None:
        return RunStatus.NEW if old is None else RunStatus.REMOVED
    tier = _more_occupancy(old, new)
    timed = old.timed and new.timed and bool(old.seconds or new.seconds)
    if tier < -_ROUNDING and not timed:
        return RunStatus.WORSE
    same_calls = as_often(old.calls, new.calls, *steps)
    in_steps = steps[0] / steps[1]
    more, seconds = 0.0, new.seconds  # calls and time in as many steps as the old run's
    if not same_calls:
        more, seconds = new.calls * in_steps - old.calls, new.seconds * in_steps
    # Of as many calls the sum says more than the median: some of them may have changed.
    before, after = old.seconds, new.seconds
    if old.calls != new.calls:
        in_each = same_calls and new.calls * steps[0] == old.calls * steps[1]
        before = old.seconds / old.calls if in_each else old.median_seconds
        after = new.seconds / new.calls if in_each else new.median_seconds
        before, after = before * new.calls, after * new.calls
    if regressed(before, after, whole, slower):
        return RunStatus.SLOWER
    if more > 0 and regressed(old.seconds, seconds, whole, slower):
        return RunStatus.MORE_CALLS
    if regressed(after, before, whole):
        return RunStatus.FASTER
    if tier > _ROUNDING:
        return RunStatus.BETTER
    if more < 0 and regressed(seconds, old.seconds, whole):
        return RunStatus.FEWER_CALLS
    same = same_calls and old.registers == new.registers and tier >= -_ROUNDING
    return RunStatus.UNCHANGED if same else RunStatus.CHANGED


def _more_occupancy(old: RunKernel, new: RunKernel) -> float:
    """Return by how much the occupancy rose; 0 where either is not known."""
    if old.occupancy is None or new.occupancy is None:
        return 0.0
    return new.occupancy - old.occupancy


def regressed(old: float, new: float, whole: float, slower: float = NOTICEABLE) -> bool:
    """Return whether *new* seconds are longer than *old* by what counts, of *whole* seconds.

    *slower* is the share of *old* that counts; what changes the run less than WORTH_SAYING, or
    than a smaller *slower*, does not.
    """
    return new - old > max(slower * old, min(WORTH_SAYING, slower) * whole)


# Of the old run's time in kernels: what lost more, and got nothing instead, was cut short.
_CUT = 0.9


def why_cut(old: Run, new: Run) -> str | None:
    """Return why *new* does not look like the whole of the same run; None where it does."""
    timed = [any(kernel.seconds for kernel in run.kernels) for run in (old, new)]
    if new.kernels and timed == [True, False]:
        return "the new run has no time of any kernel"
    names = {kernel.name for kernel in new.kernels}
    known = {kernel.name for kernel in old.kernels}
    lost = sum(kernel.seconds for kernel in old.kernels if kernel.name not in names)
    instead = sum(kernel.seconds for kernel in new.kernels if kernel.name not in known)
    total = sum(kernel.seconds for kernel in old.kernels)
    if names & known and lost > _CUT * total and instead < (1 - _CUT) * lost:
        return (
            f"the new run lacks kernels that took {lost / total:.0%} of the old one's kernel time"
        )
    return None


REGRESSIONS = (RunStatus.WORSE, RunStatus.SLOWER, RunStatus.MORE_CALLS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDiff:
    """Two runs and what changed, the largest change of time first."""

    old: Run
    new: Run
    changes: tuple[RunChange, ...]
    slower: float = NOTICEABLE

    @property
    def regression(self) -> bool:
        """Whether the whole takes longer, or a kernel does, or without times lost occupancy."""
        return self.longer or any(change.status in REGRESSIONS for change in self.changes)

    @property
    def longer(self) -> bool:
        """Whether the steps take longer, which more or fewer of them do not, or else the whole does."""
        if (steps := self.step_change) is not None:
            return steps.regression
        times = self.old.whole_seconds, self.new.whole_seconds
        return self.comparable and regressed(*times, max(times), self.slower)

    @property
    def step_change(self) -> StepChange | None:
        """How the steps changed; None where they cannot be compared."""
        return step_change(self.old.steps, self.new.steps, self.slower)

    @property
    def comparable(self) -> bool:
        """Whether the whole times are of the same work: spans, or sums with a kernel in both."""
        spans = self.old.span_seconds is not None and self.new.span_seconds is not None
        return spans or self.in_both

    @property
    def in_both(self) -> bool:
        """Whether any kernel is in both runs."""
        names = {kernel.name for kernel in self.old.kernels}
        return any(kernel.name in names for kernel in self.new.kernels)
