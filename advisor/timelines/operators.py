"""Operators of PyTorch in a trace: the GPU's time by operator, queue, memory, and what could be fused.

A kernel carries the ``External id`` of the operator that launched it, and the ``correlation`` of
its launch. Both are joined after the file was read, so that memory does not grow with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, TypeGuard

from gpuadvise.advisor.facts.step_memory import growth_of
from gpuadvise.advisor.timelines.activities import LATEST, LONGEST_NAME, MOST_SHAPES
from gpuadvise.advisor.timelines.annotations import AnnotationLog
from gpuadvise.advisor.timelines.calls import LAUNCHES, CallKind, call_kind
from gpuadvise.advisor.timelines.memory_log import CATEGORY, MemoryLog
from gpuadvise.advisor.timelines.modules import ModuleLog
from gpuadvise.advisor.timelines.operator_work import (
    OperatorCall,
    OperatorKind,
    OperatorWork,
    work_of,
)
from gpuadvise.advisor.timelines.scopes import Questions, ScopeLog, ScopePaths, with_match
from gpuadvise.advisor.timelines.sorted_runs import SortedRuns
from gpuadvise.advisor.timelines.tally import Tally
from gpuadvise.advisor.timelines.traced_operator import TracedOperator

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from gpuadvise.advisor.timelines.annotations import AnnotatedTime
    from gpuadvise.advisor.timelines.chrome import Event
    from gpuadvise.advisor.timelines.memory_log import MemoryOfStep
    from gpuadvise.advisor.timelines.modules import ModuleTimes

# Kernels that multiply tiles of matrices in tensor cores, by the names that libraries give them.
_TENSOR_CORES = re.compile(
    r"nvjet|tensorop|_(?:16816|1688|884)gemm|[hib]?(?:16816|1688|884)(?:gemm|fprop|dgrad|wgrad|cudnn)"
    r"|xmma_\w+_(?:f16|bf16|tf32|e4m3|e5m2|i8)|flash_(?:fwd|bwd)|fmha|wgmma|hmma|mma_sync"
    r"|sdpa_sm\d+_flash|cudnn_generated_fort_native_sdpa|sm(?:80|90|100)_xmma",
    re.IGNORECASE,
)
_FP32_MATRIX = re.compile(r"f32f32_f32f32_f32|simt_[sdcz]gemm|ffma", re.IGNORECASE)
_MEMORY_BOUND = (OperatorKind.ELEMENTWISE, OperatorKind.NORM)
# Two launches further apart than this have other work of the program between them.
_NEIGHBOURS_NS = 100_000
_MOST_PAIRS = 10_000
# Launches that a channel of CUDA holds: a further one waits until one of them begins.
_FULL_QUEUE = 1024
_STEP = "ProfilerStep#"
_MOST_STEPS = 100_000
_MOST_THREADS = 100_000
_UNKNOWN = -1  # correlation or id
_NEARLY_ALL = 0.9
_LONGEST_SHAPES = 400  # characters of an operator's shapes and values


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionCandidate:
    """Two operators one behind the other, the first of which writes what the second may read."""

    first: str
    second: str
    times: int
    saved_bytes: float  # written and read again, of all times


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchQueue:
    """Kernels between their launch and their start; nanoseconds."""

    median_delay_ns: int
    longest_delay_ns: int
    longest_queue: int  # launched and not yet begun
    full_ns: int = 0  # with so many that a further launch waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Operators:
    """What a trace says of its operators; the longest total first."""

    operators: tuple[TracedOperator, ...]
    fusions: tuple[FusionCandidate, ...]  # the most bytes first
    queue: LaunchQueue | None
    memory: tuple[MemoryOfStep, ...]  # by step; empty where it was not recorded
    modules: ModuleTimes | None  # None: the trace names none
    annotations: tuple[AnnotatedTime, ...]  # the longest first
    kernel_ns: int  # of all kernels

    @property
    def total_ns(self) -> int:
        """Time of all kernels that an operator launched."""
        return sum(operator.total_ns for operator in self.operators)

    @property
    def creep_bytes(self) -> int | None:
        """Bytes that nearly each step leaves behind; None where they do not."""
        return growth_of([step.end_bytes for step in self.memory]) or None


def operators_in(events: Iterable[tuple[int, Event]]) -> Operators:
    """Return what the *events* of a PyTorch trace say of its operators."""
    reader = _Reader()
    for _, event in events:
        reader.add(event)
    return reader.finish()


@dataclass(slots=True)
class _Sums:
    calls: int = 0
    kernels: int = 0
    total_ns: int = 0
    tensor_ns: int = 0


@dataclass(slots=True)
class _Reader:
    """Events that are being read."""

    _calls: dict[OperatorCall, int] = field(default_factory=dict)
    _counts: list[int] = field(default_factory=list)  # of calls, by the operator's place
    _ids: SortedRuns = field(default_factory=lambda: SortedRuns(width=2))  # id, place
    # correlation, id, start, duration, stream, whether it uses tensor cores
    _kernels: SortedRuns = field(default_factory=lambda: SortedRuns(width=6))
    _kernel_ns: int = 0
    _identified: int = 0  # kernels with an id and a correlation
    _same: int = 0  # of those, both are one number
    _launches: SortedRuns = field(default_factory=lambda: SortedRuns(width=2))
    _memory: MemoryLog = field(default_factory=MemoryLog)
    _steps: dict[str, tuple[int, int]] = field(default_factory=dict)
    _threads: dict[Hashable, int] = field(default_factory=dict)
    _modules: ModuleLog = field(default_factory=ModuleLog)
    _annotations: AnnotationLog = field(default_factory=AnnotationLog)
    _launch_times: Questions = field(default_factory=Questions)
    _operator_times: ScopeLog = field(default_factory=lambda: ScopeLog(ScopePaths()))

    def add(self, event: Event) -> None:
        """Add an event, if it is of a kind that is looked at."""
        category, args = event.get("cat"), event.get("args")
        if not isinstance(args, dict):
            return
        if category == CATEGORY:
            self._memory.add(event)
        interval = _interval(event)
        name = event.get("name")
        if interval is None or not isinstance(name, str):
            return
        if category == "kernel":
            self._add_kernel(name, args, *interval)
            return
        thread = self._thread(event)
        if category == "cpu_op":
            self._add_operator(thread, interval, name, args)
            self._modules.add_operator(thread, interval, name, args)
        elif category == "python_function":
            self._modules.add_frame(thread, interval, name)
        elif category in ("cuda_runtime", "cuda_driver"):
            self._add_call(thread, interval, name, args)
        elif name.startswith(_STEP) and len(self._steps) < _MOST_STEPS:
            self._steps.setdefault(name[:40], interval)
        if category == "user_annotation":
            self._annotations.add(thread, interval, name)

    def _thread(self, event: Event) -> int:
        """Return a number for the thread of an event; beyond the first thousands all are one."""
        key = event.get("pid"), event.get("tid")
        if not all(isinstance(part, int | str) for part in key):
            return 0
        if key not in self._threads and len(self._threads) >= _MOST_THREADS:
            return 0
        return self._threads.setdefault(key, 1 + len(self._threads))

    def _add_call(
        self, thread: int, interval: tuple[int, int], name: str, args: dict[str, Any]
    ) -> None:
        correlation, kind = args.get("correlation"), call_kind(name)
        if kind not in LAUNCHES or not _is_count(correlation):
            return
        self._launch_times.add(thread, interval[0], correlation)
        if kind is CallKind.LAUNCH:
            self._launches.add(correlation, interval[1])

    def _add_operator(
        self, thread: int, interval: tuple[int, int], name: str, args: dict[str, Any]
    ) -> None:
        number = args.get("External id")
        if not _is_count(number):
            return
        call = OperatorCall(
            name=name[:LONGEST_NAME],
            shapes=_shapes(args.get("Input Dims")),
            dtypes=_texts(args.get("Input type")),
            values=_texts(args.get("Concrete Inputs")),
        )
        place = self._calls.get(call)
        if place is None:
            if len(self._calls) >= MOST_SHAPES:
                return
            place = self._calls[call] = len(self._calls)
            self._counts.append(0)
        self._ids.add(number, place)
        self._operator_times.enter(thread, *interval, number)

    def _add_kernel(self, name: str, args: dict[str, Any], start: int, end: int) -> None:
        correlation, number, stream = (
            args.get(word) for word in ("correlation", "External id", "stream")
        )
        on_tensor_cores = bool(_TENSOR_CORES.search(name)) and not _FP32_MATRIX.search(name)
        self._kernels.add(
            correlation if _is_count(correlation) else _UNKNOWN,
            number if _is_count(number) else _UNKNOWN,
            start,
            end - start,
            stream if _is_count(stream) else 0,
            int(on_tensor_cores),
        )
        self._kernel_ns += end - start
        if _is_count(correlation) and _is_count(number):
            self._identified += 1
            self._same += correlation == number

    def finish(self) -> Operators:
        """Return what all events say together."""
        calls = list(self._calls)
        sums = [_Sums() for _ in calls]
        launched = SortedRuns(width=4)  # stream, start, end, place of the operator
        kernels_of_all = self._with_operators()
        for place, kernels in self._joined(kernels_of_all):
            one = sums[place]
            one.calls += 1
            for start, duration, stream, tensor in kernels:
                one.kernels += 1
                one.total_ns += duration
                one.tensor_ns += duration * tensor
                launched.add(stream, start, start + duration, place)
        works = [work_of(call) for call in calls]
        operators = [
            TracedOperator(
                call=call,
                work=work,
                calls=one.calls,
                kernels=one.kernels,
                total_ns=one.total_ns,
                tensor_ns=one.tensor_ns,
            )
            for call, work, one in zip(calls, works, sums, strict=True)
            if one.kernels
        ]
        return Operators(
            operators=tuple(sorted(operators, key=lambda one: (-one.total_ns, one.call.name))),
            fusions=_fusions(launched, calls, works),
            queue=self._queue(),
            memory=self._step_memory(),
            modules=self._modules.times(
                self._launch_times, kernels_of_all, self._ids, calls, works
            ),
            annotations=self._annotations.times(self._launch_times, kernels_of_all),
            kernel_ns=self._kernel_ns,
        )

    def _with_operators(self) -> SortedRuns:
        """Return the kernels with the ids of their operators.

        Up to PyTorch 2.3 a kernel's id is the number of its launch: the operator is the innermost one
        that ran on the thread that launched it.
        """
        if self._same < _NEARLY_ALL * self._identified or not self._identified:
            return self._kernels
        placed = SortedRuns(width=2)  # correlation, id
        for correlation, _, _, number, _ in self._operator_times.innermost(self._launch_times):
            placed.add(correlation, number)
        resolved = SortedRuns(width=6)
        for (correlation, _, *kernel), operator in with_match(self._kernels, placed):
            resolved.add(correlation, operator[1] if operator else _UNKNOWN, *kernel)
        return resolved

    def _joined(
        self, kernels_of_all: SortedRuns
    ) -> Iterator[tuple[int, list[tuple[int, int, int, int]]]]:
        """Yield the operators that launched kernels, by their places, with those kernels."""
        by_id = SortedRuns(width=5)
        for _, number, *row in kernels_of_all:
            if number != _UNKNOWN:
                by_id.add(number, *row)
        operators = iter(self._ids)
        operator = next(operators, None)
        number, kernels = None, list[tuple[int, int, int, int]]()
        for kernel_id, *kernel in chain(by_id, [(LATEST,)]):
            if kernel_id != number:
                while operator is not None and number is not None and operator[0] < number:
                    operator = next(operators, None)
                if operator is not None and operator[0] == number:
                    yield operator[1], kernels
                number, kernels = kernel_id, []
            if kernel:
                kernels.append((kernel[0], kernel[1], kernel[2], kernel[3]))

    def _queue(self) -> LaunchQueue | None:
        delays, ends = Tally(), SortedRuns(width=2)  # time, one more or one less
        launches = iter(self._launches)
        launch = next(launches, None)
        for correlation, _, start, *_ in self._kernels:
            while launch is not None and launch[0] < correlation:
                launch = next(launches, None)
            if launch is None or launch[0] != correlation:
                continue
            delays.add(max(0, start - launch[1]))
            ends.add(min(launch[1], start), 1)
            ends.add(start, -1)
        if not delays:
            return None
        waiting = longest = full_ns = before = 0
        for time, change in ends:
            full_ns += time - before if waiting >= _FULL_QUEUE else 0
            before = time
            waiting += change
            longest = max(longest, waiting)
        summary = delays.summary()
        return LaunchQueue(
            median_delay_ns=summary.median,
            longest_delay_ns=summary.largest,
            longest_queue=longest,
            full_ns=full_ns,
        )

    def _step_memory(self) -> tuple[MemoryOfStep, ...]:
        steps = sorted(self._steps.items(), key=lambda item: item[1])
        return self._memory.by_step(
            [(name, *interval) for name, interval in steps], self._memory.fullest
        )


def _fusions(
    launched: SortedRuns, calls: list[OperatorCall], works: list[OperatorWork]
) -> tuple[FusionCandidate, ...]:
    """Return pairs of passes over memory that follow each other on a stream."""
    pairs: dict[tuple[str, str], list[float]] = {}
    for (stream, _, end, first), (other, start, _, second) in pairwise(launched):
        if stream != other or start - end > _NEIGHBOURS_NS:
            continue
        before, after = works[first], works[second]
        if before.kind not in _MEMORY_BOUND or after.kind is not OperatorKind.ELEMENTWISE:
            continue
        # What is written is read again by the next only if that takes a tensor of its size.
        result, taken = before.result_bytes, after.result_bytes
        if not result or not taken or not 0.5 <= taken / result <= 2:
            continue
        key = calls[first].name, calls[second].name
        if key in pairs or len(pairs) < _MOST_PAIRS:
            sums = pairs.setdefault(key, [0, 0.0])
            sums[0] += 1
            sums[1] += 2 * min(result, taken)
    candidates = [
        FusionCandidate(first=first, second=second, times=int(times), saved_bytes=size)
        for (first, second), (times, size) in pairs.items()
    ]
    return tuple(sorted(candidates, key=lambda one: -one.saved_bytes))


def _interval(event: Event) -> tuple[int, int] | None:
    start, duration = event.get("ts"), event.get("dur")
    if type(start) not in (int, float) or type(duration) not in (int, float):
        return None
    assert isinstance(start, int | float)
    assert isinstance(duration, int | float)
    if not (abs(start) * 1000 < LATEST and 0 <= duration * 1000 < LATEST):
        return None
    begin = round(start * 1000)
    return begin, begin + round(duration * 1000)


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < LATEST


def _shapes(dims: object) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of inputs, empty ones for what is no tensor; of lists of tensors the first."""
    if not isinstance(dims, list):
        return ()
    shapes = []
    for shape in dims[:16]:
        if isinstance(shape, list) and shape and isinstance(shape[0], list):
            shape = shape[0]
        whole = isinstance(shape, list) and len(shape) < 9 and all(map(_is_count, shape))
        shapes.append(tuple(shape) if whole else ())
    return tuple(shapes)


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list):
        return ()
    return tuple(str(value)[:_LONGEST_SHAPES] for value in values[:16])
