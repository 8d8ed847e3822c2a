"""One GPU's time line: where the time went, by kernel, copy, gap and call.

Made of a recording by ``timeline_of``. Whole nanoseconds inside, so that parts sum to the whole;
``*_seconds`` for people and JSON.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.library_kernels import (
    is_compiled_at_first_call,
    is_fused_attention,
    is_of_pytorch,
    is_softmax,
)
from gpuadvise.advisor.occupancy.grid import waves
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.timelines.account import Account
from gpuadvise.advisor.timelines.activities import (
    CopyPath,
    MemoryKind,
    Recorder,
    launch_overhead_ns,
)
from gpuadvise.advisor.timelines.calls import CallKind
from gpuadvise.advisor.timelines.exposure import communication_of
from gpuadvise.advisor.timelines.gaps import LONG_NS, GapCause, idleness
from gpuadvise.advisor.timelines.idle_places import idle_places
from gpuadvise.advisor.timelines.intervals import Cover, CoverReader, common, length
from gpuadvise.advisor.timelines.outside import Outside, outside_of
from gpuadvise.advisor.timelines.pace import frame_period_ns
from gpuadvise.advisor.timelines.phases import launched_work, optimizer_work
from gpuadvise.advisor.timelines.start_up import first_steps_end, held_up_steps_end
from gpuadvise.advisor.timelines.steps import (
    FEWEST,
    StepCovers,
    covered_between,
    marked_steps,
    median_low,
    steps_between,
    steps_by_a_kernel,
    unmarked_steps,
    with_phases,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.grid import Waves
    from gpuadvise.advisor.timelines.activities import (
        Activities,
        CallRuns,
        CopyRoute,
        CopyRuns,
        KernelRuns,
        KernelShape,
        MatrixProduct,
        Recording,
        SkippedEvent,
    )
    from gpuadvise.advisor.timelines.exposure import Communication
    from gpuadvise.advisor.timelines.gaps import Gap, Idleness, IdleTime
    from gpuadvise.advisor.timelines.idle_places import IdlePlace
    from gpuadvise.advisor.timelines.intervals import Interval
    from gpuadvise.advisor.timelines.memory_log import MemoryOfStep
    from gpuadvise.advisor.timelines.phases import (
        GraphReplays,
        Inference,
        LaunchedWork,
        OptimizerWork,
    )
    from gpuadvise.advisor.timelines.steps import StepMarks, StepParts, Steps

_NS = 1e9
# What comes before the first step, and is as long as so many, is no part of it.
_SET_UP_STEPS = 2
# Kernels of so many launches are in a recording: some run before it begins, or behind its end.
_NEARLY_ALL = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedKernel:
    """Every run of one kernel in one launch shape; times in nanoseconds.

    ``occupancy`` is the model's answer for the shape, None where the recording or the GPU leave
    it open.
    """

    shape: KernelShape
    calls: int
    total_ns: int
    median_ns: int
    longest_ns: int
    streams: int
    in_graphs: int
    occupancy: Occupancy | None
    waves: Waves | None
    communicates: bool = False  # sends to other GPUs or waits for them, rather than computing
    first_steps_ns: int = 0  # of all runs, those in first steps that are the program's start

    @property
    def steady_ns(self) -> int:
        """Time of the runs behind the program's start."""
        return self.total_ns - self.first_steps_ns

    @property
    def seconds(self) -> float:
        """Time of all runs, those that ran side by side counted each."""
        return self.total_ns / _NS

    @property
    def median_seconds(self) -> float:
        """Time of the middle run."""
        return self.median_ns / _NS


class FirstCopies(NamedTuple):
    """Copies of one kind in first steps that are the program's start, and before these."""

    calls: int = 0
    total_ns: int = 0
    bytes: int = 0


class FirstSteps(NamedTuple):
    """What a GPU did in first steps that are the program's start, and before these, in nanoseconds."""

    end_ns: int = 0  # from the span's begin
    busy_ns: int = 0
    computing_ns: int = 0
    copies_ns: int = 0  # and memsets, beside no kernel

    @property
    def communication_ns(self) -> int:
        """Time in which a kernel communicated, and none computed."""
        return self.busy_ns - self.computing_ns - self.copies_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCopies:
    """Every copy of one kind: nanoseconds, bytes, and how many streams they were on."""

    kind: CopyRoute
    calls: int
    total_ns: int
    bytes: int
    median_bytes: int
    largest_bytes: int
    streams: int
    at_start: FirstCopies = field(default_factory=FirstCopies)

    @property
    def steady(self) -> TracedCopies | None:
        """The copies behind the program's start; None where all of them belong to it."""
        start = self.at_start
        if not start.calls:
            return self
        if start.calls >= self.calls:
            return None
        return replace(
            self,
            calls=self.calls - start.calls,
            total_ns=self.total_ns - start.total_ns,
            bytes=self.bytes - start.bytes,
            at_start=FirstCopies(),
        )

    @property
    def seconds(self) -> float:
        """Time of all copies together."""
        return self.total_ns / _NS

    @property
    def rate(self) -> float | None:
        """Bytes per second while copying; None for copies of no measurable time."""
        return self.bytes / self.seconds if self.total_ns else None

    @property
    def on_link(self) -> bool:
        """Whether the copies cross the link between host and GPU."""
        return self.kind.path in (CopyPath.H2D, CopyPath.D2H)

    @property
    def pageable(self) -> bool:
        """Whether the host's side of the copies is pageable memory."""
        return MemoryKind.PAGEABLE in (self.kind.source, self.kind.target)

    @property
    def managed(self) -> bool:
        """Whether these are migrations of managed memory, which no copy of the program made."""
        return MemoryKind.MANAGED in (self.kind.source, self.kind.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCalls:
    """Every call of one function of the CUDA interface; nanoseconds the host was in it."""

    name: str
    kind: CallKind
    calls: int
    total_ns: int
    median_ns: int
    longest_ns: int
    at_start: int = 0  # of the calls, those that were over before the program's start was

    @property
    def again(self) -> int:
        """How many came behind the program's start."""
        return self.calls - self.at_start

    @property
    def seconds(self) -> float:
        """Time the host was in these calls."""
        return self.total_ns / _NS


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedLaunches:
    """How work reached the GPU."""

    kernels: int  # runs seen on the GPU
    # Calls that launch one kernel; of several GPUs in a recording the runs outside of graphs.
    kernel_launches: int
    graph_launches: int  # calls that launch a graph, on any of the recording's GPUs
    graph_kernels: int  # runs seen as nodes of a graph
    hidden_graphs: bool  # graphs were launched, but their kernels were not recorded

    @property
    def lost(self) -> int:
        """Launches whose kernels the recording does not hold; 0 where graphs may have taken them up."""
        lost = self.kernel_launches - (self.kernels - self.graph_kernels)
        return lost if not self.graph_launches and lost > _NEARLY_ALL * self.kernel_launches else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Where the time of one GPU went, from its first activity to its last.

    ``busy``: anything ran; ``kernel`` and ``copy``: at least one kernel or copy ran (memsets are
    busy only); ``overlapped_copy``: the part of ``copy`` in which a kernel ran too.
    """

    recorder: Recorder
    gpu: int
    device: Device | None
    rank: int | None
    span_ns: int
    busy_ns: int
    kernel_ns: int
    copy_ns: int
    overlapped_copy_ns: int
    memset_ns: int
    kernels: tuple[TracedKernel, ...]  # the longest total first
    copies: tuple[TracedCopies, ...]  # likewise
    calls: tuple[HostCalls, ...]  # likewise
    gaps: tuple[Gap, ...]  # the longest, in order of time
    account: Account
    long_host_gaps: IdleTime
    host_copies_ns: (
        int  # of copies between such gaps in which the host does one thing, and no kernel runs
    )
    idle_after_waits_ns: int  # of gaps that began while the host waited
    host_after_waits_ns: int  # of those, the host's own work in long gaps
    saved_without_waits_ns: int  # by a replay without the host's time in waits and copies
    launches: TracedLaunches
    operators_per_launch: float | None  # of PyTorch; None: not counted
    products: tuple[tuple[MatrixProduct, int], ...]
    skipped: tuple[SkippedEvent, ...]
    skipped_count: int
    notes: tuple[str, ...]
    lanes: Lanes
    steps: Steps | None = None  # None: nothing tells them, or there are too few
    has_stacks: bool = False  # frames of Python were recorded
    communication: Communication | None = None  # None: no kernel communicated
    multiprocessors: int | None = None  # that its kernels were shared out over, where the file says
    outside: Outside = field(default_factory=Outside)  # nothing where several GPUs worked
    graphs: tuple[GraphReplays, ...] = ()  # where kernels are joined with what launched them
    inference: Inference | None = None  # None: no shapes tell it
    optimizer: OptimizerWork | None = None  # behind the first steps; None: no annotation tells it
    frame_period_ns: int | None = None  # where a clock paces the work; None: none does
    is_sample: bool = False  # of the events, so that idle time is not known
    world: int | None = None  # how many ranks the program has, where the file says
    clock_base_ns: int = 0  # what the recording's clock counts from
    first_steps: FirstSteps = field(default_factory=FirstSteps)
    memory: tuple[MemoryOfStep, ...] = ()  # by step; empty where it was not recorded

    @property
    def steady_ns(self) -> int:
        """The span without what the program does once, work of the GPU too: what is judged."""
        return self.account.steady_ns - self.first_steps_ns

    @property
    def first_steps_ns(self) -> int:
        """Time of busy in first steps that are the program's start, and before these."""
        return self.first_steps.busy_ns

    @property
    def computing_ns(self) -> int:
        """Time of the account's computing behind the first steps."""
        return self.account.computing_ns - self.first_steps.computing_ns

    @property
    def exposed_communication_ns(self) -> int:
        """Time of the account's communication behind the first steps."""
        return max(0, self.account.communication_ns - self.first_steps.communication_ns)

    @property
    def steps_again(self) -> int:
        """How many steps begin behind the program's start; 0 for one, which does not come again."""
        steps = self.steps.steps if self.steps else ()
        again = sum(step.start_ns >= self.first_steps.end_ns for step in steps)
        return again if again > 1 else 0

    @property
    def exposed_copies_ns(self) -> int:
        """Time of the account's copies behind the first steps."""
        return max(0, self.account.copies_ns - self.first_steps.copies_ns)

    @property
    def steady_copies(self) -> tuple[TracedCopies, ...]:
        """The copies behind the program's start."""
        return tuple(steady for copies in self.copies if (steady := copies.steady) is not None)

    def copies_over_link(
        self, path: CopyPath, *, managed: bool = False
    ) -> tuple[TracedCopies, ...]:
        """Return the copies of one direction behind the program's start: its own, or *managed* memory's migrations."""
        return tuple(
            copies
            for copies in self.steady_copies
            if copies.kind.path is path and copies.managed is managed
        )

    @property
    def steady_kernel_ns(self) -> int:
        """Time of ``kernel`` behind the first steps."""
        return self.kernel_ns - (self.first_steps.busy_ns - self.first_steps.copies_ns)

    @property
    def steady_copy_ns(self) -> int:
        """Time of ``copy`` behind the first steps, in which none ran beside another."""
        return max(0, self.copy_ns - sum(copies.at_start.total_ns for copies in self.copies))

    @property
    def idle(self) -> tuple[IdleTime, ...]:
        """Idle time by cause, the longest total first."""
        return self.account.idle

    @property
    def idle_places(self) -> tuple[IdlePlace, ...]:
        """What the host did in the gaps that are kept one by one, the longest time first."""
        return idle_places(self.gaps)

    @property
    def idle_ns(self) -> int:
        """Time in which the GPU did nothing."""
        return self.span_ns - self.busy_ns

    @property
    def span_seconds(self) -> float:
        """From the start of the first activity to the end of the last."""
        return self.span_ns / _NS

    @property
    def busy_seconds(self) -> float:
        """Time in which anything ran."""
        return self.busy_ns / _NS

    @property
    def kernel_seconds(self) -> float:
        """Time in which at least one kernel ran."""
        return self.kernel_ns / _NS

    @property
    def copy_seconds(self) -> float:
        """Time in which at least one copy ran."""
        return self.copy_ns / _NS

    @property
    def overlapped_copy_seconds(self) -> float:
        """Time in which a copy and a kernel ran together."""
        return self.overlapped_copy_ns / _NS

    @property
    def idle_seconds(self) -> float:
        """Time in which the GPU did nothing."""
        return self.idle_ns / _NS

    @property
    def synchronizations(self) -> tuple[HostCalls, ...]:
        """The calls in which the host waited for the GPU."""
        return self.calls_for(CallKind.SYNCHRONIZATION)

    def calls_for(self, *kinds: CallKind) -> tuple[HostCalls, ...]:
        """Return the calls of these kinds."""
        return tuple(call for call in self.calls if call.kind in kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """Covers of the span to draw: when kernels ran, copies ran, and the host waited."""

    start_ns: int
    kernels: Cover
    copies: Cover
    host: Cover


def timelines_of(recording: Recording, *, device: Device | None = None) -> tuple[Timeline, ...]:
    """Return the timeline of each GPU of *recording* that worked.

    *device* stands for a GPU that the recording does not name. Raises BadInput where none did
    anything.
    """
    calls = _calls(recording)
    worked = sorted(gpu for gpu, activities in recording.gpus.items() if activities.worked)
    lines = tuple(
        _timeline(
            recording,
            gpu,
            calls,
            recording.devices.get(gpu, device),
            several_gpus=len(worked) > 1,
        )
        for gpu in worked
    )
    if not lines:
        raise BadInput("The recording holds no work of a GPU.")
    return lines


def _timeline(
    recording: Recording,
    gpu: int,
    calls: tuple[HostCalls, ...],
    device: Device | None,
    *,
    several_gpus: bool,
) -> Timeline:
    """Return the timeline of GPU *gpu* of *recording*."""
    activities = recording.gpus[gpu]
    computing, copies = Cover([activities.kernel_times]), Cover([activities.copy_times])
    kernels = Cover([activities.kernel_times, activities.communication_times])
    busy = Cover(activities.times)
    covers = StepCovers(computing=computing, kernels=kernels, busy=busy)
    marks = _marks(recording, activities, covers)
    first_steps_end_ns = _first_steps_end(marks, activities, covers)
    idle = _idleness(recording, gpu, busy, copies, first_steps_end_ns)
    work_ns = _work(activities, kernels, copies, idle)
    account = _account(activities, work_ns, idle)
    shapes = _kernels(activities, device, first_steps_end_ns)
    work = _launched_work(recording, gpu, shapes, alone=not several_gpus)
    return Timeline(
        recorder=recording.recorder,
        gpu=gpu,
        device=device,
        rank=recording.rank,
        world=recording.ranks,
        clock_base_ns=recording.clock_base_ns,
        span_ns=account.span_ns,
        busy_ns=account.busy_ns,
        kernel_ns=work_ns.kernels,
        copy_ns=work_ns.copies,
        overlapped_copy_ns=work_ns.copies_beside_kernels,
        memset_ns=length(Cover([activities.memset_times])),
        kernels=shapes,
        copies=_copies(activities, first_steps_end_ns),
        calls=_since_start(recording, calls, idle),
        gaps=idle.longest,
        account=account,
        saved_without_waits_ns=idle.saved_without_waits_ns,
        long_host_gaps=idle.long_host,
        host_copies_ns=_host_copies_ns(activities, kernels, copies, idle),
        idle_after_waits_ns=idle.after_waits_ns,
        host_after_waits_ns=idle.host_after_waits_ns,
        launches=_launches(calls, shapes, activities, several_gpus=several_gpus),
        operators_per_launch=recording.operators_per_launch,
        products=tuple(recording.products.items()),
        skipped=tuple(recording.skipped),
        skipped_count=recording.skipped_count,
        notes=tuple(recording.notes),
        steps=_steps(recording, activities, marks, covers, idle, work),
        frame_period_ns=frame_period_ns(activities),
        graphs=work.graphs,
        inference=work.inference,
        optimizer=optimizer_work(work.parts, first_steps_end_ns or idle.start_ns),
        has_stacks=recording.host_events.has_frames,
        is_sample=recording.is_sample,
        communication=communication_of(activities, first_steps_end_ns),
        multiprocessors=activities.multiprocessor_count,
        outside=_outside(recording, gpu, (idle.start_ns, idle.end_ns), several_gpus=several_gpus),
        first_steps=_first_steps(covers, idle.start_ns, first_steps_end_ns),
        lanes=_lanes(recording, kernels, copies, idle),
        memory=recording.memory.by_step(recording.steps.spans, gpu),
    )


def _idleness(
    recording: Recording,
    gpu: int,
    busy: Cover,
    copies: Cover,
    first_steps_end_ns: int | None,
) -> Idleness:
    """Return the gaps of one GPU, and what the host did in them."""
    kernels = recording.gpus[gpu].kernels
    return idleness(
        busy,
        recording,
        kernels=kernels.values(),
        copies=copies,
        launch_overhead_ns=round(
            launch_overhead_ns(recording.recorder, recording.operators_per_launch)
        ),
        first_steps_end_ns=first_steps_end_ns,
        compiled=[runs for shape, runs in kernels.items() if is_compiled_at_first_call(shape.name)],
        loads_on_demand=any(is_of_pytorch(shape.name) for shape in kernels),
        launched_ns=partial(recording.launch_log.launched_ns, gpu),
    )


def _host_copies_ns(activities: Activities, kernels: Cover, copies: Cover, idle: Idleness) -> int:
    """Return the time of copies that lie between two long gaps of one and the same work of the host.

    What it does with them, such as writing each of them to a file, comes and goes with them.
    """
    if not len(activities.copy_times):
        return 0
    long = [
        gap for gap in idle.longest if gap.cause is GapCause.HOST_WORK and gap.length_ns >= LONG_NS
    ]
    between = [
        idle.start_ns + bound
        for gap, following in pairwise(long)
        if gap.culprit and following.culprit and gap.culprit.is_of_one_work(following.culprit)
        for bound in (gap.start_ns + gap.length_ns, following.start_ns)
    ]
    if not between:
        return 0
    computed = covered_between(kernels, between)[::2]
    copied = covered_between(copies, between)[::2]
    return sum(ns for ns, kernel_ns in zip(copied, computed, strict=True) if not kernel_ns)


def _launched_work(
    recording: Recording, gpu: int, kernels: Sequence[TracedKernel], *, alone: bool
) -> LaunchedWork:
    """Return graphs and phases of inference, where *kernels* are joined with what launched them."""
    names = [kernel.shape.name for kernel in kernels]
    attends = any(is_fused_attention(name) or is_softmax(name) for name in names)
    return launched_work(recording.launch_log, gpu, alone=alone, attends=attends)


def _lanes(recording: Recording, kernels: Cover, copies: Cover, idle: Idleness) -> Lanes:
    """Return what to draw of the span: when kernels and copies ran, and when the host waited."""
    waits = [
        runs.times for runs in recording.calls.values() if runs.kind is CallKind.SYNCHRONIZATION
    ]
    return Lanes(
        start_ns=idle.start_ns,
        kernels=kernels,
        copies=copies,
        host=Cover(waits, clip=(idle.start_ns, idle.end_ns)),
    )


class _Work(NamedTuple):
    """Nanoseconds in which kernels ran, copies ran, and both did."""

    kernels: int
    copies: int
    copies_beside_kernels: int


def _work(activities: Activities, kernels: Cover, copies: Cover, idle: Idleness) -> _Work:
    """Return how long *kernels* and *copies* ran; where there is nothing else, the gaps tell it."""
    if not len(activities.copy_times) and not len(activities.memset_times):
        return _Work(idle.end_ns - idle.start_ns - idle.total_ns(), 0, 0)
    kernel_ns, overlapped_ns = _beside(kernels, copies)
    return _Work(kernel_ns, length(copies), overlapped_ns)


def _account(activities: Activities, work: _Work, idle: Idleness) -> Account:
    """Return where each nanosecond of the span went."""
    span_ns = idle.end_ns - idle.start_ns
    computing_ns = work.kernels
    if len(activities.communication_times):
        computing_ns = length(Cover([activities.kernel_times]))
    exposed_copies_ns = work.copies - work.copies_beside_kernels
    return Account(
        span_ns=span_ns,
        computing_ns=computing_ns,
        communication_ns=work.kernels - computing_ns,
        copies_ns=exposed_copies_ns,
        memsets_ns=span_ns - idle.total_ns() - work.kernels - exposed_copies_ns,
        idle=idle.totals,
    )


def _first_steps(covers: StepCovers, start_ns: int, end_ns: int | None) -> FirstSteps:
    """Return what the GPU did from *start_ns* to *end_ns*; nothing for None."""
    if end_ns is None or end_ns <= start_ns:
        return FirstSteps()
    (computing_ns,), (kernel_ns,), (busy_ns,) = covers.between((start_ns, end_ns))
    return FirstSteps(end_ns - start_ns, busy_ns, computing_ns, busy_ns - kernel_ns)


def _outside(recording: Recording, gpu: int, span: Interval, *, several_gpus: bool) -> Outside:
    """Return what the host did outside of *span*, where that was for this GPU alone.

    JAX's traces begin and end where the program asks, whatever the host does then.
    """
    if several_gpus or recording.recorder is Recorder.JAX:
        return Outside()
    activities = recording.gpus[gpu]
    launched_ns = activities.launched_ns
    if launched_ns is None:
        launched_ns = recording.launch_log.first_launched_ns(gpu)
    return outside_of(recording, span, activities.kernels.values(), launched_ns)


class _Marks(NamedTuple):
    """Steps that the recorder or the program marks, and what the GPU did in each."""

    marks: StepMarks
    parts: StepParts


def _marks(recording: Recording, activities: Activities, covers: StepCovers) -> _Marks | None:
    marks = marked_steps(recording, activities, covers)
    return None if marks is None else _Marks(marks, covers.between(marks.bounds))


def _steps(
    recording: Recording,
    activities: Activities,
    marked: _Marks | None,
    covers: StepCovers,
    idle: Idleness,
    work: LaunchedWork,
) -> Steps | None:
    """Return the steps, each with the phases that the recording tells."""
    if marked is None and not len(recording.steps) and not len(activities.steps):
        marks = steps_by_a_kernel(activities)
        marked = None if marks is None else _Marks(marks, covers.between(marks.bounds))
    # Those that the recorder marked may be too few.
    steps = None if marked is None else steps_between(*marked, idle.start_ns)
    if steps is None:
        return None
    waits = [
        (gap.start_ns, gap.length_ns)
        for gap in idle.longest
        if gap.culprit is not None and gap.culprit.loader is not None
    ]
    return with_phases(steps, work.parts, waits, idle.start_ns)


def _first_steps_end(
    marked: _Marks | None, activities: Activities, covers: StepCovers
) -> int | None:
    """Return when steps are over that are the program's start, or else what comes before the first.

    Two steps that are marked tell it, of others three.
    """
    if marked is None:
        unmarked = unmarked_steps(activities, covers.busy)
        return _held_up_until(unmarked, covers.between(unmarked)) if unmarked else None
    bounds, parts = marked.marks.bounds, marked.parts
    return (
        first_steps_end(bounds)
        or _held_up_until(bounds, parts)
        or _set_up_end(bounds, parts, covers)
    )


def _held_up_until(bounds: Sequence[int], parts: StepParts) -> int | None:
    """Return when the first of steps are over in which the GPU waits for what the host does once."""
    lengths = [later - earlier for earlier, later in pairwise(bounds)]
    idle = list(map(int.__sub__, lengths, parts.busy))
    return held_up_steps_end(bounds, idle, parts.computing)


def _set_up_end(bounds: Sequence[int], parts: StepParts, covers: StepCovers) -> int | None:
    """Return when the first of marked steps gave the GPU work, where what it did before is no step's.

    As the upload of weights: it took as long as two steps, and computed for no longer than in one. None
    where steps are too few to tell.
    """
    if len(bounds) <= FEWEST:
        return None
    first = next(iter(covers.busy.blocks())).starts[0]
    usual = median_low([later - earlier for earlier, later in pairwise(bounds)])
    if bounds[0] - first < _SET_UP_STEPS * usual:
        return None
    (before,) = covered_between(covers.computing, (first, bounds[0]))
    if before > median_low(parts.computing):
        return None
    return next(
        (
            block.starts[at]
            for block in covers.busy.blocks()
            if (at := bisect_left(block.starts, bounds[0])) < len(block)
        ),
        None,
    )


def _beside(kernels: Cover, copies: Cover) -> tuple[int, int]:
    """Return the nanoseconds of *kernels*, and of those the ones in which *copies* ran too."""
    total, shared, reader = 0, 0, CoverReader(copies)
    for block in kernels.blocks():
        total += block.length()
        shared += sum(common(block, part).length() for part in reader.until(block.ends[-1]))
    return total, shared


def shape_occupancy(device: Device, shape: KernelShape) -> Occupancy | None:
    """Return the occupancy of a launch shape; None where a part of it is not known or absurd."""
    if shape.block is None or shape.dynamic_shared is None or shape.registers is None:
        return None
    try:
        launch = Launch(
            threads=prod(shape.block),
            registers=shape.registers,
            static_shared=shape.static_shared,
            dynamic_shared=shape.dynamic_shared,
            block_dim=shape.block,
        )
    except BadInput:
        return None
    answer = occupancy(device.limits, launch)
    return answer if answer.launchable else None


def _kernels(
    activities: Activities, device: Device | None, first_steps_end_ns: int | None
) -> tuple[TracedKernel, ...]:
    kernels = [
        _kernel(
            shape,
            kernel,
            device,
            first_steps_end_ns,
            communicates=kernel.times is activities.communication_times,
        )
        for shape, kernel in activities.kernels.items()
        if kernel.durations
    ]
    return tuple(sorted(kernels, key=lambda kernel: (-kernel.total_ns, kernel.shape.name)))


def _kernel(
    shape: KernelShape,
    kernel: KernelRuns,
    device: Device | None,
    first_steps_end_ns: int | None,
    *,
    communicates: bool,
) -> TracedKernel:
    durations = kernel.durations.summary()
    resident = shape_occupancy(device, shape) if device else None
    grid = None
    if resident and shape.grid and device and device.sm_count:
        grid = waves(resident, device.sm_count, prod(shape.grid))
    return TracedKernel(
        shape=shape,
        calls=durations.count,
        total_ns=durations.total,
        median_ns=durations.median,
        longest_ns=durations.largest,
        streams=len(kernel.streams),
        in_graphs=kernel.in_graphs,
        occupancy=resident,
        waves=grid,
        communicates=communicates,
        first_steps_ns=_run_before(kernel, first_steps_end_ns),
    )


def _run_before(kernel: KernelRuns, end_ns: int | None) -> int:
    """Return how long the runs of *kernel* took that began before *end_ns*; 0 for None.

    All of it where all of them did, else each as long as the median.
    """
    if end_ns is None:
        return 0
    durations = kernel.durations.summary()
    before = sum(start < end_ns for start in kernel.starts)
    return durations.total if before == durations.count else before * durations.median


def _copies(activities: Activities, first_steps_end_ns: int | None) -> tuple[TracedCopies, ...]:
    copies = [_copy(kind, runs, first_steps_end_ns) for kind, runs in activities.copies.items()]
    return tuple(sorted(copies, key=lambda copy: -copy.total_ns))


def _copy(kind: CopyRoute, copies: CopyRuns, first_steps_end_ns: int | None) -> TracedCopies:
    sizes = copies.sizes.summary()
    return TracedCopies(
        kind=kind,
        calls=sizes.count,
        total_ns=copies.durations.summary().total,
        bytes=sizes.total,
        median_bytes=sizes.median,
        largest_bytes=sizes.largest,
        streams=len(copies.streams),
        at_start=_copied_before(copies, first_steps_end_ns),
    )


def _copied_before(copies: CopyRuns, end_ns: int | None) -> FirstCopies:
    """Return the *copies* that began before *end_ns*, of those whose times are kept; none for None."""
    if end_ns is None:
        return FirstCopies()
    early = [(duration, size) for start, duration, size in copies.first if start < end_ns]
    return FirstCopies(
        len(early), sum(duration for duration, _ in early), sum(size for _, size in early)
    )


def _calls(recording: Recording) -> tuple[HostCalls, ...]:
    return tuple(
        sorted(
            (_host_calls(name, runs) for name, runs in recording.calls.items() if runs.durations),
            key=lambda call: (-call.total_ns, call.name),
        )
    )


def _since_start(
    recording: Recording, calls: tuple[HostCalls, ...], idle: Idleness
) -> tuple[HostCalls, ...]:
    """Return *calls* with how many waits and frees were the start's: a search for algorithms makes hundreds.

    Of short calls no times are kept: they are shared out as those are that were longer.
    """
    if idle.started_ns <= idle.start_ns:
        return calls
    return tuple(
        replace(call, at_start=_before(recording.calls[call.name], call.calls, idle.started_ns))
        if call.kind in (CallKind.SYNCHRONIZATION, CallKind.RELEASE)
        else call
        for call in calls
    )


def _before(runs: CallRuns, calls: int, time: int) -> int:
    """Return how many of the *calls* began before *time*."""
    kept = before = 0
    for block in Cover([runs.times]).blocks():
        kept += len(block)
        before += bisect_left(block.starts, time)
    return round(calls * before / kept) if kept else 0


def _host_calls(name: str, runs: CallRuns) -> HostCalls:
    durations = runs.durations.summary()
    return HostCalls(
        name=name,
        kind=runs.kind,
        calls=durations.count,
        total_ns=durations.total,
        median_ns=durations.median,
        longest_ns=durations.largest,
    )


def _launches(
    calls: tuple[HostCalls, ...],
    kernels: tuple[TracedKernel, ...],
    activities: Activities,
    *,
    several_gpus: bool,
) -> TracedLaunches:
    """Return how work reached one GPU; a call does not say for which of *several_gpus* it was."""
    count = dict.fromkeys(CallKind, 0)
    for call in calls:
        count[call.kind] += call.calls
    in_graphs = sum(kernel.in_graphs for kernel in kernels)
    runs = sum(kernel.calls for kernel in kernels)
    return TracedLaunches(
        kernels=runs,
        kernel_launches=runs - in_graphs if several_gpus else count[CallKind.LAUNCH],
        graph_launches=count[CallKind.GRAPH_LAUNCH],
        graph_kernels=in_graphs,
        hidden_graphs=activities.graph_replays > 0 and not in_graphs,
    )
