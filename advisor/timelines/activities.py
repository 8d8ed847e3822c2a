"""What a recording holds of one GPU, gathered event by event in little memory.

Readers add kernels, copies, memsets and calls of the host; ``timeline.py`` makes the timeline of
it. Times are whole nanoseconds on any clock, the same for all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.calls import CallKind, blocks_host, call_kind, prompt_ns
from gpuadvise.advisor.timelines.collectives import CollectiveRuns
from gpuadvise.advisor.timelines.communication import communicates
from gpuadvise.advisor.timelines.host_events import HostEvents
from gpuadvise.advisor.timelines.intervals import IntervalLog
from gpuadvise.advisor.timelines.launch_log import LaunchLog
from gpuadvise.advisor.timelines.memory_log import MemoryLog
from gpuadvise.advisor.timelines.sorted_runs import SortedRuns
from gpuadvise.advisor.timelines.steps import MOST_STARTS, StepTimes
from gpuadvise.advisor.timelines.tally import Tally

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device

# Latest time that 64 bits of nanoseconds hold with room for sums: 146 years.
LATEST = 2**62
# More than this of one recording is not kept: some 40 GB of PyTorch's trace.
MOST_ACTIVITIES = 20_000_000
# Kernels by name and launch shape; a program has hundreds.
MOST_SHAPES = 200_000
LONGEST_NAME = 2_000
# Copies of a kind that are kept with their times: an upload of weights has one for each layer's parameters.
_MOST_FIRST_COPIES = 4_096
_NEARLY_ALL = 0.9
# Why a recording is refused whose device has other multiprocessors.
_NOT_NVIDIA = "occupancy and rules here are those of NVIDIA GPUs."
OF_AMD = f"The trace is of an AMD GPU (ROCm): {_NOT_NVIDIA}"
OF_INTEL = f"The trace is of an Intel GPU (XPU): {_NOT_NVIDIA}"
OF_HABANA = f"The trace is of a Habana accelerator (HPU): {_NOT_NVIDIA}"
OF_MTIA = f"The trace is of a MTIA accelerator: {_NOT_NVIDIA}"
OF_ASCEND = f"The trace is of an Ascend accelerator (NPU): {_NOT_NVIDIA}"
OF_MOORE = f"The trace is of a Moore Threads GPU (MUSA): {_NOT_NVIDIA}"
OF_OTHERS = f"The trace is of a device that is none of NVIDIA's: {_NOT_NVIDIA}"


class CopyPath(StrEnum):
    """Between what a copy goes."""

    H2D = "h2d"
    D2H = "d2h"
    D2D = "d2d"
    H2H = "h2h"
    P2P = "p2p"
    UNKNOWN = "unknown"


class MemoryKind(StrEnum):
    """What kind of memory a copy reads or writes."""

    PAGEABLE = "pageable"
    PINNED = "pinned"
    DEVICE = "device"
    ARRAY = "array"
    MANAGED = "managed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelShape:
    """A kernel and how it was launched; shared memory in bytes per block, None = not recorded.

    Where a recording holds static and dynamic shared memory as one sum, all of it stands as
    dynamic. ``reported_occupancy`` is the recorder's own figure, 0 to 1.
    """

    name: str
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    cluster: tuple[int, int, int] = (1, 1, 1)
    registers: int | None = None  # per thread
    static_shared: int = 0
    dynamic_shared: int | None = None
    local_memory: int | None = None  # bytes per thread: spills and arrays
    reported_occupancy: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRoute:
    """Copies of one direction between the same kinds of memory."""

    path: CopyPath
    source: MemoryKind
    target: MemoryKind
    asynchronous: bool | None = None  # by the call that began it; None: not recorded


@dataclass(slots=True)
class KernelRuns:
    """Every run of one kernel shape: how long each took, in nanoseconds.

    ``times`` is where readers put when each was, among those of other shapes.
    """

    times: IntervalLog
    starts: list[int] = field(default_factory=list)  # the first of them
    first_start: int | None = None  # of the kernel in any shape, where that is known
    durations: Tally = field(default_factory=Tally)
    streams: set[int] = field(default_factory=set)
    in_graphs: int = 0

    @property
    def first_ns(self) -> int | None:
        """When the kernel ran for the first time; None where that is not known."""
        return min(self.starts, default=None) if self.first_start is None else self.first_start

    def add(self, start: int, end: int) -> None:
        """Add one run."""
        self.durations.add(end - start)
        self.times.add(start, end)
        if len(self.starts) <= MOST_STARTS:
            self.starts.append(start)

    def extend(self, starts: list[int], ends: list[int], durations: list[int]) -> None:
        """Add many runs."""
        self.durations.extend(durations)
        self.times.extend(starts, ends)
        self.starts.extend(starts[: max(0, MOST_STARTS + 1 - len(self.starts))])


@dataclass(slots=True)
class CopyRuns:
    """Every copy of one kind: how long each took, and its bytes; of the first ones also when it began."""

    durations: Tally = field(default_factory=Tally)
    sizes: Tally = field(default_factory=Tally)
    streams: set[int] = field(default_factory=set)
    first: list[tuple[int, int, int]] = field(default_factory=list)  # start, duration, bytes

    def add(self, start: int, duration: int, size: int) -> None:
        """Add one copy."""
        self.durations.add(duration)
        self.sizes.add(size)
        if len(self.first) < _MOST_FIRST_COPIES:
            self.first.append((start, duration, size))


@dataclass(slots=True)
class Activities:
    """What one GPU did: when kernels, copies and memsets ran, and how often each kind of them."""

    kernels: dict[KernelShape, KernelRuns] = field(default_factory=dict)
    copies: dict[CopyRoute, CopyRuns] = field(default_factory=dict)
    kernel_times: IntervalLog = field(default_factory=IntervalLog)  # of kernels that compute
    communication_times: IntervalLog = field(default_factory=IntervalLog)  # of those that do not
    collectives: CollectiveRuns = field(default_factory=CollectiveRuns)
    steps: StepTimes = field(default_factory=StepTimes)  # when their work ran, where it is said
    copy_times: IntervalLog = field(default_factory=IntervalLog)
    memset_times: IntervalLog = field(default_factory=IntervalLog)
    memset_bytes: int = 0
    # First starts of the kernel that takes the longest, where its runs keep none.
    longest_starts: list[int] = field(default_factory=list)
    launched_ns: int | None = (
        None  # when the call came back that gave it its first kernel, where the reader joins them
    )
    graph_replays: int = 0  # recorded as one row each, which stands among the kernels' times
    # By number of multiprocessors: kernel shapes whose blocks were shared out over so many.
    multiprocessors: dict[int, int] = field(default_factory=dict)

    @property
    def multiprocessor_count(self) -> int | None:
        """How many multiprocessors the GPU has, where nearly all kernels say the same."""
        counts = sorted(self.multiprocessors.items(), key=lambda item: -item[1])
        shapes = sum(self.multiprocessors.values())
        return counts[0][0] if counts and counts[0][1] >= _NEARLY_ALL * shapes else None

    def runs_of(self, shape: KernelShape, *, communicating: bool = False) -> KernelRuns:
        """Return the runs of kernels of *shape*, which the file may say to be *communicating*."""
        runs = self.kernels.get(shape)
        if runs is None:
            runs = self.kernels[shape] = KernelRuns(
                self.communication_times if communicating else self.times_of(shape)
            )
        return runs

    @property
    def worked(self) -> bool:
        """Whether the GPU did anything."""
        return any(map(len, self.times))

    @property
    def times(self) -> tuple[IntervalLog, ...]:
        """When the GPU did anything, by what it did."""
        return (self.kernel_times, self.communication_times, self.copy_times, self.memset_times)

    def times_of(self, shape: KernelShape) -> IntervalLog:
        """Return where the times of kernels of *shape* belong."""
        return self.communication_times if communicates(shape.name) else self.kernel_times


class CallRuns:
    """Every call of one function of the CUDA interface, how long each took, and when it was.

    When it was is kept only where a gap can hang on it, and of waits, as rows of end and start.
    """

    __slots__ = ("durations", "kind", "prompt_ns", "times", "waits")

    def __init__(self, name: str) -> None:
        self.kind = call_kind(name)
        self.prompt_ns = prompt_ns(name)
        self.durations = Tally()
        self.times = IntervalLog()
        waiting = self.kind is CallKind.SYNCHRONIZATION
        waiting |= self.kind is CallKind.COPY and blocks_host(name)
        self.waits = SortedRuns(width=2) if waiting else None

    def add(self, start: int, end: int) -> None:
        """Add one call."""
        self.durations.add(end - start)
        if end - start > self.prompt_ns:
            self.add_times([start], [end])

    def add_times(self, starts: list[int], ends: list[int]) -> None:
        """Keep when calls were that took longer than is prompt."""
        self.times.extend(starts, ends)
        if self.waits is not None:
            self.waits.extend(list(chain.from_iterable(zip(ends, starts, strict=True))))


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixProduct:
    """A matrix product that a framework called: M x N x K, how often, and of what type."""

    operator: str
    rows: int
    columns: int
    inner: int
    batch: int
    dtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedEvent:
    """An event that could not be read."""

    event: int  # counted from 1 in the file, or the row of a table
    reason: str


class Recorder(StrEnum):
    """Who wrote a recording."""

    PYTORCH = "pytorch"
    NSIGHT_SYSTEMS = "nsight-systems"
    JAX = "jax"


# What the profilers added to each launch of a minimal kernel on a H200's host: 5.2 us (PyTorch),
# 2.8 us (Nsight Systems), 15.7 us (JAX). Less is taken off, so that no bound falls too low.
LAUNCH_OVERHEAD_NS = {Recorder.PYTORCH: 5_000, Recorder.NSIGHT_SYSTEMS: 2_500, Recorder.JAX: 5_000}
# Of PyTorch's, what is added to a launch that shares its operator with others, as those of an LSTM in
# cuDNN do: 2.4 us each, where 19 operators made 266 launches. The rest is the operator's.
_SHARED_OVERHEAD_NS = 2_000
# About what PyTorch's profiler adds to each call of CUDA, operator and step, fitted to 25 programs of 1 to
# 723 operators that ran on a H200 with it and without.
_CALL_COST_NS, _OPERATOR_COST_NS, _STEP_COST_NS = 2_300, 2_000, 12_000


def launch_overhead_ns(recorder: Recorder, operators_per_launch: float | None) -> float:
    """Return what *recorder* added to each launch at least, on average."""
    with_operator = LAUNCH_OVERHEAD_NS[recorder]
    if operators_per_launch is None:
        return with_operator
    of_operators = min(1.0, operators_per_launch) * (with_operator - _SHARED_OVERHEAD_NS)
    return _SHARED_OVERHEAD_NS + of_operators


def recording_cost_ns(*, calls: int, operators: float, steps: int) -> float:
    """Return about what PyTorch's profiler added to *calls* of CUDA, *operators* and *steps*."""
    return _CALL_COST_NS * calls + _OPERATOR_COST_NS * operators + _STEP_COST_NS * steps


@dataclass(slots=True, kw_only=True)
class Recording:
    """One file: the GPUs it holds by their number, the host's calls, and what was left out."""

    recorder: Recorder
    member: str | None = None  # the file's name, where a folder was named
    version: str | None = None
    rank: int | None = None
    ranks: int | None = None
    clock_base_ns: int = 0  # what its clock counts from
    gpus: dict[int, Activities] = field(default_factory=dict)
    devices: dict[int, Device] = field(default_factory=dict)
    calls: dict[str, CallRuns] = field(default_factory=dict)
    first_call_ns: int | None = None  # of any length; None: not known
    # First and last that is known of the processes that gave the GPUs work, whatever it is.
    began_ns: int | None = None
    over_ns: int | None = None
    steps: StepTimes = field(default_factory=StepTimes)  # of the host, as the recorder marks them
    ranges: StepTimes = field(default_factory=StepTimes)  # of the program, one again and again
    range_name: str | None = None  # of these
    host_events: HostEvents = field(default_factory=HostEvents)
    launch_log: LaunchLog = field(default_factory=LaunchLog)
    memory: MemoryLog = field(default_factory=MemoryLog)
    profiler_times: IntervalLog = field(default_factory=IntervalLog)  # recording held the host up
    # A context was made, or a library set itself up, between calls.
    set_up_times: IntervalLog = field(default_factory=IntervalLog)
    library_starts: list[int] = field(default_factory=list)  # in order: when one set itself up
    load_times: IntervalLog = field(default_factory=IntervalLog)  # code was loaded, in some call
    products: dict[MatrixProduct, int] = field(default_factory=dict)
    operators: int | None = None  # calls of PyTorch's operators; None: not counted
    is_sample: bool = False  # most of its events were left out
    skipped: list[SkippedEvent] = field(default_factory=list)  # the first of them
    skipped_count: int = 0
    notes: list[str] = field(default_factory=list)

    def gpu(self, number: int) -> Activities:
        """Return the activities of GPU *number*."""
        return self.gpus.setdefault(number, Activities())

    def call(self, name: str) -> CallRuns:
        """Return the calls of the function *name*."""
        calls = self.calls.get(name)
        if calls is None:
            calls = self.calls[name] = CallRuns(name)
        return calls

    @property
    def operators_per_launch(self) -> float | None:
        """How many operators of PyTorch were called for each launch of a kernel; None: not counted."""
        launches = sum(
            runs.durations.summary().count
            for runs in self.calls.values()
            if runs.kind is CallKind.LAUNCH and runs.durations
        )
        return self.operators / launches if self.operators and launches else None

    def skip(self, event: int, reason: str) -> None:
        """Count an event that could not be read."""
        self.skipped_count += 1
        if len(self.skipped) < 20:
            self.skipped.append(SkippedEvent(event=event, reason=reason))
