"""Traces of JAX: the ``trace.json.gz`` that XLA's profiler writes, and the ``xplane.pb`` beside it.

A process ``/device:GPU:0`` has one thread for each stream; its other threads repeat the same time
by module and operation. Launch shapes and copies stand as texts (``kernel_details``). The trace
does not name the GPU; the ``xplane.pb`` does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.timelines.activities import (
    LATEST,
    LONGEST_NAME,
    MOST_ACTIVITIES,
    MOST_SHAPES,
    OF_AMD,
    Activities,
    CopyPath,
    CopyRoute,
    CopyRuns,
    KernelShape,
    MemoryKind,
    Recorder,
    Recording,
)
from gpuadvise.advisor.timelines.collectives import collective_named
from gpuadvise.advisor.timelines.host_events import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.timelines.activities import KernelRuns
    from gpuadvise.advisor.timelines.chrome import Event

_GPU = re.compile(r"/device:GPU:(\d{1,3})")
_STREAM = re.compile(r"Stream #(\d{1,9})")
_CALL = re.compile(
    r"((?:cuda|cu|hip)[A-Z]\w{2,60})(?: \(\w{1,60}:\d{1,20}\))?$"
)  # cuGraphLaunch (CudaGraph:2)
# Launches on an AMD GPU: newer versions of XLA name their memory so.
_AMD_KERNEL = re.compile(r" private_mem:\d+ group_mem:\d+")
_KERNEL = re.compile(
    r"regs:(\d{1,6}) static_shared:(\d{1,9}) dynamic_shared:(\d{1,9}) "
    r"grid:(\d{1,10}),(\d{1,10}),(\d{1,10}) block:(\d{1,10}),(\d{1,10}),(\d{1,10})"
    r"(?: occ_pct:([\d.]{1,12}))?"
)
_LAUNCH = "cuLaunchKernel"  # what XLA calls by the name of the kernel
_FIELD = re.compile(r"(\w+):(\w+)")
_MOST_THREADS = 100_000
_PATHS = {"h2d": CopyPath.H2D, "d2h": CopyPath.D2H, "d2d": CopyPath.D2D, "p2p": CopyPath.P2P}


def read_jax(events: Iterable[tuple[int, Event]], recording: Recording) -> Recording:
    """Return *recording* with the numbered *events*; raises BadInput where no GPU worked."""
    recording.recorder = Recorder.JAX
    gpus: dict[object, int] = {}
    streams: dict[tuple[object, object], int] = {}
    shapes: dict[tuple[int, str, str], KernelRuns] = {}
    for kept, (number, event) in enumerate(events):
        if kept >= MOST_ACTIVITIES:
            recording.notes.append(f"Only the first {MOST_ACTIVITIES:,} events were read.")
            break
        phase = event.get("ph")
        try:
            if phase == "M":
                _name_lane(event, gpus, streams)
            elif phase == "X":
                _add(event, recording, gpus, streams, shapes)
        except (TypeError, ValueError, OverflowError) as error:
            reason = str(error) if isinstance(error, _Unusable) else "its values are of other types"
            recording.skip(number, reason)
    if any(name.startswith("hip") for name in recording.calls) or any(
        _AMD_KERNEL.search(words) for _, _, words in shapes
    ):
        raise BadInput(OF_AMD)
    if not recording.gpus:
        raise BadInput("The trace holds no work of a GPU.", hint="JAX ran on another device.")
    return recording


class _Unusable(ValueError):
    """An event that says nothing usable, and why."""


def _name_lane(
    event: Event, gpus: dict[object, int], streams: dict[tuple[object, object], int]
) -> None:
    """Remember which process is a GPU, and which thread a stream."""
    arguments = event.get("args")
    name = arguments.get("name") if isinstance(arguments, dict) else None
    if not isinstance(name, str) or len(streams) > _MOST_THREADS or len(gpus) > _MOST_THREADS:
        return
    pid = event.get("pid")
    if event.get("name") == "process_name" and (gpu := _GPU.search(name)):
        gpus[pid] = int(gpu[1])
    elif event.get("name") == "thread_name" and (stream := _STREAM.match(name)):
        streams[pid, event.get("tid")] = int(stream[1])


def _add(
    event: Event,
    recording: Recording,
    gpus: dict[object, int],
    streams: dict[tuple[object, object], int],
    shapes: dict[tuple[int, str, str], KernelRuns],
) -> None:
    """Add one event, if it is of a stream or a call of the host."""
    name, pid = event.get("name"), event.get("pid")
    gpu = gpus.get(pid)
    if not isinstance(name, str):
        return
    if gpu is None:
        if call := _CALL.match(name):
            recording.call(call[1]).add(*_interval(event))
            recording.host_events.called_from((pid, event.get("tid")))
        elif _is_launch(event.get("args")):
            recording.call(_LAUNCH).add(*_interval(event))
            recording.host_events.called_from((pid, event.get("tid")))
        else:
            kind = EventKind.FRAME if name.startswith("$") else EventKind.OPERATOR
            thread = pid, event.get("tid")
            recording.host_events.add(kind, name[:LONGEST_NAME], *_interval(event), thread)
        return
    stream = streams.get((pid, event.get("tid")))
    if stream is None:
        return
    start, end = _interval(event)
    arguments = event.get("args")
    details: dict[str, Any] = arguments if isinstance(arguments, dict) else {}
    activities = recording.gpu(gpu)
    if isinstance(words := details.get("memcpy_details"), str):
        _add_copy(activities, name, words, stream, start, end)
    elif isinstance(words := details.get("memset_details", details.get("Memset_details")), str):
        activities.memset_times.add(start, end)
        activities.memset_bytes += _size(dict(_FIELD.findall(words[:LONGEST_NAME])))
    else:
        words = details.get("kernel_details")
        key = (gpu, name[:LONGEST_NAME], words if isinstance(words, str) else "")
        runs = shapes.get(key)
        if runs is None:
            runs = shapes[key] = _new_shape(activities, key, len(shapes))
        runs.add(start, end)
        if runs.times is activities.communication_times:
            activities.collectives.add(collective_named(name), start, end)
        runs.streams.add(stream)
        runs.in_graphs += "cuda_graph_id" in details or "graph_id" in details


def _is_launch(arguments: object) -> bool:
    """Return whether an event of the host is the launch of a kernel, whose name it then has."""
    if not isinstance(arguments, dict) or not {"correlation_id", "context_id"} <= arguments.keys():
        return False
    return not any(name.lower().endswith("_details") for name in arguments)


def _new_shape(activities: Activities, key: tuple[int, str, str], shapes: int) -> KernelRuns:
    _, name, words = key
    if shapes >= MOST_SHAPES:
        raise _Unusable(f"there are more than {MOST_SHAPES:,} kernels and launch shapes")
    match = _KERNEL.search(words[:LONGEST_NAME])
    shape = KernelShape(name=name)
    if match:
        registers, static, dynamic, *sizes = map(int, match.groups()[:9])
        shape = KernelShape(
            name=name,
            grid=(sizes[0], sizes[1], sizes[2]) if all(sizes[:3]) else None,
            block=(sizes[3], sizes[4], sizes[5]) if all(sizes[3:]) else None,
            registers=registers or None,
            static_shared=static,
            dynamic_shared=dynamic,
            reported_occupancy=float(match[10]) / 100 if match[10] else None,
        )
    return activities.runs_of(shape)


def _add_copy(
    activities: Activities, name: str, words: str, stream: int, start: int, end: int
) -> None:
    fields = dict(_FIELD.findall(words[:LONGEST_NAME]))
    source, target = _memory(fields.get("kind_src")), _memory(fields.get("kind_dst"))
    kind = CopyRoute(
        path=_PATHS.get(name.lower().removeprefix("memcpy"), CopyPath.UNKNOWN),
        source=source,
        target=target,
        asynchronous={"1": True, "0": False}.get(fields.get("async", "")),
    )
    runs = activities.copies.setdefault(kind, CopyRuns())
    activities.copy_times.add(start, end)
    runs.add(start, end - start, _size(fields))
    runs.streams.add(stream)


def _size(fields: dict[str, str]) -> int:
    digits = fields.get("size", fields.get("num_bytes", ""))
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 18 else 0


def _memory(word: str | None) -> MemoryKind:
    return next((kind for kind in MemoryKind if kind == word), MemoryKind.UNKNOWN)


def _interval(event: Event) -> tuple[int, int]:
    """Return start and end in nanoseconds; an event without a duration is an instant."""
    start, duration = float(event.get("ts", "")), float(event.get("dur", 0))
    if not (0 <= duration * 1000 < LATEST and -LATEST < start * 1000 < LATEST):
        raise _Unusable("its times are out of range")
    begin = round(start * 1000)
    return begin, begin + round(duration * 1000)
