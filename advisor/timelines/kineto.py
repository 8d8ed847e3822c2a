"""Traces of PyTorch's profiler (Kineto), of 2022 and later.

The words of the events are those of ``libkineto``: ``MetadataFieldCatalog.h``,
``output_json.cpp`` and ``cupti_strings.cpp``; categories of 2022 are written with capitals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import prod
from sys import intern
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.timelines.activities import (
    LATEST,
    LONGEST_NAME,
    MOST_ACTIVITIES,
    MOST_SHAPES,
    OF_AMD,
    OF_ASCEND,
    OF_HABANA,
    OF_INTEL,
    OF_MOORE,
    OF_MTIA,
    OF_OTHERS,
    CopyPath,
    CopyRoute,
    KernelShape,
    MatrixProduct,
    MemoryKind,
    Recorder,
    Recording,
)
from gpuadvise.advisor.timelines.calls import LAUNCHES, CallKind
from gpuadvise.advisor.timelines.collectives import collective_named, collective_of
from gpuadvise.advisor.timelines.copy_calls import CopyCalls
from gpuadvise.advisor.timelines.gpus import MOST_MULTIPROCESSORS, traced_device
from gpuadvise.advisor.timelines.host_events import EventKind
from gpuadvise.advisor.timelines.kineto_rows import RepeatedEvents
from gpuadvise.advisor.timelines.memory_log import CATEGORY as MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.timelines.activities import CallRuns, KernelRuns
    from gpuadvise.advisor.timelines.chrome import ChromeTrace, Event
    from gpuadvise.advisor.timelines.collectives import Collective
    from gpuadvise.advisor.timelines.copy_calls import UnjoinedCopies

_WANTED = re.compile(
    rb'"cat"\s*:\s*"(?:[Kk]ernel"|gpu_mem|Mem(?:cpy|set)"|cuda_[rd]|Runtime"|overhead"|[a-z0-9]{1,30}_runtime")'
    rb'|"name"\s*:\s*"(?:aten::(?:mm|addmm|bmm|baddbmm)"|ProfilerStep#|Optimizer\.|Record Window End"|\[memory\]")'
    # Events of 0.3 ms or more, by whatever name.
    rb'|"dur"\s*:\s*(?:[3-9]\d\d|\d{4})'
)
# As the profiler writes an event of an operator: nearly all of them are counted, and not read.
_OF_OPERATOR = b'"cat": "cpu_op"'
_AMD = re.compile(r"\s*(?:AMD|Radeon)\b", re.IGNORECASE)
# Whose device the calls or operators of a category are, and that of kernels with such arguments.
_OTHER_MAKERS = {
    "xpu": OF_INTEL,
    "hpu": OF_HABANA,
    "mtia": OF_MTIA,
    "npu": OF_ASCEND,
    "musa": OF_MOORE,
}
# Only CUDA's runtime is NVIDIA's; of the makers above operators and drivers tell as well.
_RUNTIME = r"(?!cuda_)([a-z]\w{0,30}?)_(?:runtime|driver)"
_OTHER_CATEGORY = re.compile(
    rb'"cat"\s*:\s*"(?:(xpu|hpu|mtia|npu|musa)_|' + _RUNTIME.encode() + rb'")'
)
_OTHER_RUNTIME = re.compile(_RUNTIME)
_OTHER_BACKEND = re.compile(r"(?:.*,)?(xpu|hpu|mtia|npu|musa):")
# What makers call their devices in a trace whose kernels look like CUDA's.
_OTHER_NAMES = (
    (re.compile(r"\bGaudi|\bHabana|\bHL-?\d{3}", re.IGNORECASE), OF_HABANA),
    (re.compile(r"\bIntel\b", re.IGNORECASE), OF_INTEL),
    (re.compile(r"\bAscend", re.IGNORECASE), OF_ASCEND),
    (re.compile(r"\bMTT\b|\bMoore ?Threads\b", re.IGNORECASE), OF_MOORE),
    (re.compile(r"\bMTIA\b", re.IGNORECASE), OF_MTIA),
    (
        re.compile(
            r"\b(?:Iluvatar|MetaX|Cambricon|MLU\d|Enflame|Biren|Kunlun|Hygon)", re.IGNORECASE
        ),
        OF_OTHERS,
    ),
)
# The processes that torch.autograd.profiler names in what it exports.
_OLD_PROFILER = re.compile(rb'"pid"\s*:\s*"(CPU|CUDA) functions"')
_INTEL_QUEUES = ("sycl queue", "l0 queue")
_COPY = re.compile(r"Memcpy (\w+) \((\w[\w ]*) -> (\w[\w ]*)\)")
_PATHS = {
    "HtoD": CopyPath.H2D,
    "DtoH": CopyPath.D2H,
    "DtoD": CopyPath.D2D,
    "HtoH": CopyPath.H2H,
    "PtoP": CopyPath.P2P,
    "HtoA": CopyPath.H2D,
    "AtoH": CopyPath.D2H,
}
MEMORIES = {
    "pageable": MemoryKind.PAGEABLE,
    "pinned": MemoryKind.PINNED,
    "device": MemoryKind.DEVICE,
    "array": MemoryKind.ARRAY,
    "managed": MemoryKind.MANAGED,
    "device static": MemoryKind.DEVICE,
    "managed static": MemoryKind.MANAGED,
}
# Where the two matrices stand among an operator's inputs.
_FACTORS = {"aten::mm": 0, "aten::addmm": 1, "aten::bmm": 0, "aten::baddbmm": 1}
_MOST_NAMES = 10_000
_LONGEST_WORD = 100
_NUMBERS = (int, float)
_STEP = re.compile(r"ProfilerStep#(\d{1,9})$")
# Blocks for each multiprocessor are written with six digits.
_NEARLY = 1e-3
# Events of the category "overhead" that are not the profiler's doing.
_LOADING = ("Lazy Function Loading", "Runtime Triggered Module Loading", "Driver Compiler")
_QUEUE_FULL = "Command Buffer Full"

_SAMPLE = (
    "It is a sample: by the numbers of its calls of CUDA, events between them were left out. Why the GPU was idle, and for "
    "how long, cannot be told."
)
# What the profiler writes once, where a recording ends.
_WINDOW_END = "Record Window End"
_REPEATED = (
    "The same events are in it {} times, so that calls and times would count that many times."
)
_TOGETHER = "Several recordings were put together in it: calls of CUDA have the numbers of others, or it ends more than once."
_OF_ITS_OWN = "Give each recording as a file of its own, or a folder of them."
_SEVERAL = f"{_TOGETHER} Why the GPUs were idle, and for how long, cannot be told."


def read_kineto(trace: ChromeTrace, recording: Recording) -> Recording:
    """Return *recording* with the events of *trace*; raises BadInput where no GPU worked."""
    recording.recorder = Recorder.PYTORCH
    reader = _Reader(recording)
    repeated = RepeatedEvents(recording.launch_log)

    def take(block: bytes) -> bytes:
        recording.operators = (recording.operators or 0) + block.count(_OF_OPERATOR)
        return repeated.take(block)

    handlers: dict[str, Callable[[Event], KernelRuns | CallRuns | None]] = {
        "kernel": reader.kernel,
        "gpu_memcpy": reader.copy,
        "memcpy": reader.copy,
        "gpu_memset": reader.memset,
        "memset": reader.memset,
        "cuda_runtime": reader.call,
        "runtime": reader.call,
        "cuda_driver": reader.call,
        "overhead": reader.overhead,
        "cpu_op": reader.operator,
        "operator": reader.operator,
        "python_function": reader.frame,
        "user_annotation": reader.annotation,
        "gpu_user_annotation": reader.gpu_annotation,
    }
    kept, other, windows = 0, "", 0
    for number, event in trace.events(_WANTED, take):
        category = event.get("cat")
        if category == MEMORY:
            recording.memory.add(event)
            continue
        word = category.lower() if isinstance(category, str) else ""
        handle = handlers.get(word)
        if handle is None or event.get("ph") != "X":
            if not other and (match := _OTHER_RUNTIME.fullmatch(word)):
                other = match[1]
            windows += event.get("name") == _WINDOW_END
            continue
        try:
            repeated.learn(handle(event), event, trace.text)
        except _Unusable as error:
            recording.skip(number, str(error))
        kept += 1
        if kept + repeated.taken >= MOST_ACTIVITIES:
            recording.notes.append(f"Only the first {MOST_ACTIVITIES:,} activities were read.")
            break
    repeated.finish()
    reader.finish()
    _read_header(trace.header, recording)
    _check_vendor(trace, recording, other)
    if _are_several(recording, windows):
        recording.is_sample = True
        recording.notes.append(_SEVERAL)
    elif recording.launch_log.is_sample_of(_calls(recording)):
        recording.is_sample = True
        recording.notes.append(_SAMPLE)
    return recording


def _are_several(recording: Recording, windows: int) -> bool:
    """Return whether recordings of several GPUs were put together, which end *windows* times.

    Raises BadInput where they are of one GPU: no time or call between them is true.
    """
    log = recording.launch_log
    if windows < 2 and not log.numbers_come_again:
        return False
    if (times := log.times_each_kernel) > 1:
        raise BadInput(_REPEATED.format(times), hint=_OF_ITS_OWN)
    if len(recording.gpus) < 2:
        raise BadInput(_TOGETHER, hint=_OF_ITS_OWN)
    return True


def _calls(recording: Recording) -> int:
    return sum(
        runs.durations.summary().count for runs in recording.calls.values() if runs.durations
    )


class _Unusable(Exception):
    """An event that says nothing usable, and why."""


@dataclass(slots=True)
class _Reader:
    """Events sorted into a recording."""

    recording: Recording
    _shapes: dict[tuple[Any, ...], KernelRuns] = field(default_factory=dict)
    _copies: dict[tuple[int, str], UnjoinedCopies] = field(default_factory=dict)
    _threads: set[int] = field(default_factory=set)
    _copy_calls: CopyCalls = field(init=False)

    def __post_init__(self) -> None:
        self._copy_calls = CopyCalls(self.recording)

    def kernel(self, event: Event) -> KernelRuns | None:
        """Add a kernel; return the runs of its shape unless each run says more of itself."""
        start, end = _interval(event)
        args = _arguments(event)
        gpu = _gpu(event, args)
        try:
            key = (
                gpu,
                event["name"],
                args.get("registers per thread"),
                args.get("shared memory"),
                tuple(args.get("grid", ())),
                tuple(args.get("block", ())),
            )
            runs = self._shapes.get(key)
        except (TypeError, KeyError):
            raise _Unusable("its name or launch shape is not readable") from None
        if runs is None:
            runs = self._new_shape(key, args)
        runs.add(start, end)
        number = args.get("correlation")
        if self.recording.launch_log.wanted and type(number) is int and 0 <= number < LATEST:
            self.recording.launch_log.add_kernels([number], [start], [end], gpu)
        activities = self.recording.gpus[gpu]
        communicates = runs.times is activities.communication_times
        if communicates:
            activities.collectives.add(_collective(key[1], args), start, end)
        stream = args.get("stream")
        if isinstance(stream, int):
            runs.streams.add(stream)
        if args.get("graph node id"):
            runs.in_graphs += 1
        return None if communicates else runs

    def _new_shape(self, key: tuple[Any, ...], args: dict[str, Any]) -> KernelRuns:
        gpu, name, registers, shared, grid, block = key
        if len(self._shapes) >= MOST_SHAPES:
            raise _Unusable(f"there are more than {MOST_SHAPES:,} kernels and launch shapes")
        if any(queue in args for queue in _INTEL_QUEUES):
            raise BadInput(OF_INTEL)
        reported = _count(args.get("est. achieved occupancy %"))
        shape = KernelShape(
            name=intern(_text(name)),  # ranks run the same kernels
            grid=_dimensions(grid),
            block=_dimensions(block),
            registers=_count(registers) or None,
            dynamic_shared=_count(shared),
            reported_occupancy=None if reported is None else reported / 100,
        )
        activities = self.recording.gpu(gpu)
        runs = activities.runs_of(shape, communicating="Collective name" in args)
        if count := _multiprocessors(shape.grid, args.get("blocks per SM")):
            activities.multiprocessors[count] = activities.multiprocessors.get(count, 0) + 1
        self._shapes[key] = runs
        return runs

    def copy(self, event: Event) -> None:
        """Add a copy."""
        start, end = _interval(event)
        args = _arguments(event)
        gpu = _gpu(event, args)
        name = _text(event.get("name"))
        kind = self._copies.get((gpu, name))
        if kind is None:
            if len(self._copies) >= _MOST_NAMES:
                raise _Unusable("there are too many kinds of copies")
            kind = self._copies[gpu, name] = self._copy_calls.kind(gpu, _copy_kind(name))
        size = _count(args.get("bytes"))
        if size is None:
            raise _Unusable("its bytes are not a count")
        self._copy_calls.add_copy(kind, start, end, size, _count(args.get("correlation")))
        if isinstance(stream := args.get("stream"), int):
            kind.streams.add(stream)

    def memset(self, event: Event) -> None:
        """Add a memset."""
        start, end = _interval(event)
        args = _arguments(event)
        activities = self.recording.gpu(_gpu(event, args))
        activities.memset_times.add(start, end)
        activities.memset_bytes += _count(args.get("bytes")) or 0

    def call(self, event: Event) -> CallRuns | None:
        """Add a call of the host; return the runs of its function unless they are joined with copies."""
        start, end = _interval(event)
        name = _text(event.get("name"))
        if name not in self.recording.calls and len(self.recording.calls) >= _MOST_NAMES:
            raise _Unusable("there are too many names of calls")
        calls = self.recording.call(name)
        calls.add(start, end)
        thread = event.get("tid")
        if isinstance(thread, int) and thread not in self._threads:
            self._threads.add(thread)
            self.recording.host_events.called_from(thread)
        if calls.kind in LAUNCHES and isinstance(thread, int):
            number = _count(_arguments(event).get("correlation"))
            if number is not None:
                graph = calls.kind is CallKind.GRAPH_LAUNCH
                log = self.recording.launch_log
                log.add_launches([number], [start], [end], thread, graph=graph)
        if calls.kind is CallKind.COPY:
            correlation = _count(_arguments(event).get("correlation"))
            if correlation is not None:
                self._copy_calls.add_call(correlation, asynchronous=calls.waits is None)
            return None
        return calls

    def overhead(self, event: Event) -> None:
        """Add time in which recording, or the loading of code, held up whatever call it was in."""
        name = _text(event.get("name"))
        if name in _LOADING:
            self.recording.load_times.add(*_interval(event))
        elif name != _QUEUE_FULL:
            self.recording.profiler_times.add(*_interval(event))

    def operator(self, event: Event) -> None:
        """Add a matrix product that a framework called, and what took long."""
        args = _arguments(event)
        name = _text(event.get("name"))
        self._host_event(EventKind.OPERATOR, name, event)
        product = _product(name, args)
        products = self.recording.products
        if product and (product in products or len(products) < MOST_SHAPES):
            products[product] = products.get(product, 0) + 1
            if product.batch == 1:
                weight = product.columns, product.inner, product.dtype
                start, _ = _interval(event)
                self.recording.launch_log.add_product(start, product.rows, weight)

    def frame(self, event: Event) -> None:
        """Add a call of Python that took long."""
        self._host_event(EventKind.FRAME, _text(event.get("name")), event)

    def annotation(self, event: Event) -> None:
        """Add what the program or PyTorch calls a part of the host's work, and steps."""
        name = _text(event.get("name"))
        if step := _STEP.match(name):
            self.recording.steps.add(int(step[1]), *_interval(event))
            self.recording.launch_log.mark(event.get("tid"))
        else:
            if name.startswith("Optimizer."):
                self.recording.launch_log.add_optimizer(event.get("tid"), *_interval(event))
            self._host_event(EventKind.ANNOTATION, name, event)

    def gpu_annotation(self, event: Event) -> None:
        """Add when a GPU did the work of a step."""
        if step := _STEP.match(_text(event.get("name"))):
            gpu = _gpu(event, _arguments(event))
            self.recording.gpu(gpu).steps.add(int(step[1]), *_interval(event))

    def _host_event(self, kind: EventKind, name: str, event: Event) -> None:
        start, end = _interval(event)
        thread = event.get("tid")
        if isinstance(thread, int | str):
            self.recording.host_events.add(kind, name, start, end, thread)

    def finish(self) -> None:
        """Sort the copies by whether their calls blocked."""
        self._copy_calls.finish()


def _read_header(header: dict[str, Any], recording: Recording) -> None:
    """Take the GPUs, the rank and the version from what stands before the events."""
    properties = header.get("deviceProperties")
    for gpu in properties if isinstance(properties, list) else ():
        if isinstance(gpu, dict) and not _is_amd(gpu):
            number = _count(gpu.get("id"))
            device = traced_device(
                name=gpu.get("name"),
                major=gpu.get("computeMajor"),
                minor=gpu.get("computeMinor"),
                sm_count=gpu.get("numSms"),
                memory_bytes=gpu.get("totalGlobalMem"),
            )
            if device is not None and number is not None and len(recording.devices) < 64:
                recording.devices[number] = device
    recording.clock_base_ns = _count(header.get("baseTimeNanoseconds")) or 0
    distributed = header.get("distributedInfo")
    if isinstance(distributed, dict):
        recording.rank = _count(distributed.get("rank"))
        recording.ranks = _count(distributed.get("world_size"))


def _collective(name: str, args: dict[str, Any]) -> Collective:
    """Return what a kernel communicates, by its arguments where it has them, else by its name."""
    operation, group = args.get("Collective name"), args.get("Process Group Ranks")
    if not isinstance(operation, str):
        return collective_named(name[:LONGEST_NAME])
    described = args.get("Process Group Name"), group
    return collective_of(
        operation=operation[:_LONGEST_WORD],
        elements_in=_count(args.get("In msg nelems")),
        elements_out=_count(args.get("Out msg nelems")),
        dtype=dtype[:_LONGEST_WORD] if isinstance(dtype := args.get("dtype"), str) else None,
        ranks=_count(args.get("Group size")),
        group="|".join(str(word)[:_LONGEST_WORD] for word in described if word is not None),
    )


def _multiprocessors(grid: tuple[int, int, int] | None, blocks: object) -> int | None:
    """Return how many multiprocessors a grid was shared out over, by its *blocks* per each."""
    if grid is None or type(blocks) not in (int, float) or not blocks:
        return None
    assert isinstance(blocks, int | float)
    count = prod(grid) / blocks
    whole = round(min(count, MOST_MULTIPROCESSORS))
    return whole if whole and abs(count - whole) < _NEARLY * whole else None


def _is_amd(properties: dict[str, Any]) -> bool:
    named = isinstance(name := properties.get("name"), str) and _AMD.match(name)
    wide = properties.get("warpSize") == 64
    return bool(named) or wide or "maxSharedMemoryPerMultiProcessor" in properties


def _check_vendor(trace: ChromeTrace, recording: Recording, other_runtime: str) -> None:
    """Refuse traces of other makers' GPUs, which *other_runtime* tells too, and of processors alone."""
    properties = trace.header.get("deviceProperties")
    gpus = (
        [gpu for gpu in properties if isinstance(gpu, dict)] if isinstance(properties, list) else []
    )
    if any(map(_is_amd, gpus)) or any(name.startswith("hip") for name in recording.calls):
        raise BadInput(OF_AMD)
    if other := _maker_named(gpus):
        raise BadInput(other)
    # Without calls of CUDA, for a program may drive other devices beside NVIDIA's.
    if not (recording.gpus and recording.calls) and (other := _other_maker(trace, other_runtime)):
        raise BadInput(other)
    if not recording.gpus and any(map(_OLD_PROFILER.search, trace.edges)):
        raise BadInput(
            "The trace is of PyTorch's old profiler (torch.autograd.profiler), which records times of operators "
            "and no kernels.",
            hint="Record with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]).",
        )
    if not recording.gpus:
        raise BadInput(
            "The trace holds no work of a GPU.",
            hint="Record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA].",
        )


def _maker_named(gpus: list[dict[str, Any]]) -> str | None:
    """Return why a trace is refused whose *gpus* are named as those of another maker."""
    names = [name for gpu in gpus if isinstance(name := gpu.get("name"), str)]
    return next(
        (
            why
            for pattern, why in _OTHER_NAMES
            for name in names
            if pattern.search(name[:_LONGEST_WORD])
        ),
        None,
    )


def _other_maker(trace: ChromeTrace, other_runtime: str) -> str | None:
    """Return why a trace without calls of CUDA is refused, where another device did the work."""
    if other_runtime:
        return _OTHER_MAKERS.get(other_runtime, OF_OTHERS)
    for edge in trace.edges:
        if match := _OTHER_CATEGORY.search(edge):
            return _OTHER_MAKERS.get((match[1] or match[2]).decode(), OF_OTHERS)
    distributed = trace.header.get("distributedInfo")
    backend = distributed.get("backend") if isinstance(distributed, dict) else None
    named = _OTHER_BACKEND.match(backend) if isinstance(backend, str) else None
    return _OTHER_MAKERS[named[1]] if named else None


def _interval(event: Event) -> tuple[int, int]:
    """Return start and end in nanoseconds."""
    start: Any = event.get("ts")
    duration: Any = event.get("dur")
    if type(start) not in _NUMBERS or type(duration) not in _NUMBERS:
        raise _Unusable("its times are not numbers")
    if not (-LATEST < start * 1000 < LATEST and duration * 1000 < LATEST):
        raise _Unusable("its times are out of range")
    if duration < 0:
        raise _Unusable("its duration is negative")
    begin = round(start * 1000)
    return begin, begin + round(duration * 1000)


def _arguments(event: Event) -> dict[str, Any]:
    arguments = event.get("args", {})
    if not isinstance(arguments, dict):
        raise _Unusable("its arguments are not an object")
    return arguments


def _gpu(event: Event, args: dict[str, Any]) -> int:
    number = _count(args.get("device", event.get("pid")))
    if number is None or number > 1023:
        raise _Unusable("its device is not a number")
    return number


def _count(value: object) -> int | None:
    """Return *value* where it is a whole number from 0 to 2**62, else None."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LATEST:
        return value
    return None


def _dimensions(sizes: tuple[Any, ...]) -> tuple[int, int, int] | None:
    counts = [_count(size) for size in sizes]
    if len(counts) != 3 or not all(counts):
        return None
    x, y, z = (count or 0 for count in counts)
    return x, y, z


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise _Unusable("its name is not a text")
    return name[:LONGEST_NAME]


def _copy_kind(name: str) -> CopyRoute:
    match = _COPY.match(name)
    path, source, target = match.groups() if match else ("", "", "")
    return CopyRoute(
        path=_PATHS.get(path, CopyPath.UNKNOWN),
        source=MEMORIES.get(source.lower(), MemoryKind.UNKNOWN),
        target=MEMORIES.get(target.lower(), MemoryKind.UNKNOWN),
    )


def _product(name: str, args: dict[str, Any]) -> MatrixProduct | None:
    """Return the sizes of a matrix product, None where they were not recorded."""
    dims, types = args.get("Input Dims"), args.get("Input type")
    at = _FACTORS.get(name)
    if at is None or not isinstance(dims, list) or not isinstance(types, list):
        return None
    factors = [
        [count for size in shape if (count := _count(size))]
        for shape in dims[at : at + 2]
        if isinstance(shape, list)
    ]
    dtype = types[at] if len(types) > at else None
    if len(factors) != 2 or not isinstance(dtype, str):
        return None
    left, right = factors
    if len(left) not in (2, 3) or len(right) != len(left) or left[-1] != right[-2]:
        return None
    return MatrixProduct(
        operator=name,
        rows=left[-2],
        columns=right[-1],
        inner=left[-1],
        batch=left[0] if len(left) == 3 else 1,
        dtype=dtype.removeprefix("c10::").lower()[:40],
    )
