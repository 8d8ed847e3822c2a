"""Traces of JAX: streams of the GPU's process, launch shapes and copies from their texts."""

from __future__ import annotations

import gzip
import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.timelines.activities import CopyPath, MemoryKind, Recorder
from gpuadvise.advisor.timelines.calls import CallKind
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.timeline import timelines_of

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.timelines.activities import Recording

DETAILS = "regs:168 static_shared:0 dynamic_shared:231424 grid:64,2,1 block:384,1,1 occ_pct:18.75"
COPY = "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"


def named(kind: str, name: str, pid: int, tid: int | None = None) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def ran(name: str, ts: Any, dur: Any, tid: int = 20, pid: int = 1, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


EVENTS = [
    named("process_name", "/device:GPU:0", 1),
    named("process_name", "/host:CPU", 9),
    named("thread_name", "Stream #14(Compute)", 1, 20),
    named("thread_name", "Stream #15(MemcpyH2D)", 1, 21),
    named("thread_name", "XLA Modules", 1, 22),
    ran("gemm", 10.0, 5.5, kernel_details=DETAILS, hlo_module="jit_f"),
    ran("jit_f", 0, 100, tid=22),
    ran("MemcpyH2D", 2, 3, tid=21, memcpy_details=COPY),
    ran("Memset 3", 16, 1, Memset_details="kind:device num_bytes:4 async:1"),
    ran("cuLaunchKernel", 1, 2, pid=9, tid=3),
    ran("jit(f)", 1, 2, pid=9, tid=3),
]


def read(path: Path, events: list[dict[str, Any]]) -> Recording:
    document = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": events}
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    (recording,) = read_recordings(str(path))
    return recording


def test_a_graph_launched_by_its_number_is_no_lost_kernel(tmp_path: Path) -> None:
    events = [*EVENTS[:3]]
    launched = {"correlation_id": "1", "context_id": "$$1", "cuda_graph_id": "2"}
    for at in range(3):
        events.append(ran("cuGraphLaunch (CudaGraph:2)", 100 * at, 5, pid=9, tid=3, **launched))
        events += [
            ran("gemm", 100 * at + 10 * k, 5, kernel_details=DETAILS, cuda_graph_id="2")
            for k in (1, 2)
        ]
    recording = read(tmp_path / "trace", events)
    assert recording.calls["cuGraphLaunch"].kind is CallKind.GRAPH_LAUNCH
    (line,) = timelines_of(recording)
    assert (line.launches.graph_launches, line.launches.graph_kernels, line.launches.lost) == (
        3,
        6,
        0,
    )


def test_where_the_time_went(tmp_path: Path) -> None:
    recording = read(tmp_path / "trace", EVENTS)
    assert recording.gpus[0].memset_bytes == 4
    (line,) = timelines_of(recording, device=find("h200-sxm"))
    assert line.recorder is Recorder.JAX
    assert (line.span_ns, line.kernel_ns, line.copy_ns, line.memset_ns) == (
        15_000,
        5_500,
        3_000,
        1_000,
    )
    (kernel,) = line.kernels
    assert kernel.shape.reported_occupancy == 0.1875
    assert kernel.occupancy is not None
    assert kernel.occupancy.occupancy == 0.1875
    (copies,) = line.copies
    assert (copies.kind.path, copies.kind.source) == (CopyPath.H2D, MemoryKind.PAGEABLE)
    assert (copies.bytes, copies.kind.asynchronous) == (4096, True)
    assert [call.name for call in line.calls] == ["cuLaunchKernel"]


def test_without_a_device_occupancy_is_open(tmp_path: Path) -> None:
    (line,) = timelines_of(read(tmp_path / "trace", EVENTS))
    assert line.device is None
    assert line.kernels[0].occupancy is None


@pytest.mark.parametrize("ts", [math.nan, math.inf, "soon", None, [], {}])
def test_an_event_without_times_is_skipped(tmp_path: Path, ts: Any) -> None:
    (line,) = timelines_of(read(tmp_path / "trace", [*EVENTS, ran("odd", ts, 1)]))
    assert line.span_ns == 15_000
    assert [one.event for one in line.skipped] == [12]


def test_a_trace_of_processors_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no work of a GPU"):
        read(tmp_path / "trace", [EVENTS[1], EVENTS[-1]])


@pytest.mark.parametrize(
    "event",
    [
        ran("k", 30, 1, kernel_details=" grid:1,1,1 block:64,1,1 private_mem:0 group_mem:0"),
        ran("hipModuleLaunchKernel", 1, 2, pid=9, tid=3),
    ],
)
def test_traces_of_amd_gpus_are_refused(event: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="AMD"):
        read(tmp_path / "trace", [*EVENTS, event])


def test_launches_bear_the_names_of_kernels_and_host_functions_are_none(tmp_path: Path) -> None:
    joined = {"context_id": "$$1", "correlation_id": "2", "device_id": "0"}
    host = [
        ran("gemm", 1, 2, pid=9, tid=3, **joined),
        ran("MemcpyH2D", 3, 2, pid=9, tid=3, memcpy_details=COPY, **joined),
        ran("Memset", 5, 2, pid=9, tid=3, Memset_details="num_bytes:4", **joined),
        ran("cuLaunchHostFunc", 7, 2, pid=9, tid=3),
        ran("H2D Dispatch", 9, 2, pid=9, tid=3, _src="a.cc"),
    ]
    events = [event for event in EVENTS if event["name"] != "cuLaunchKernel"]
    (line,) = timelines_of(read(tmp_path / "trace", [*events, *host]))
    assert line.launches.kernel_launches == 1
    assert {call.name: call.kind for call in line.calls} == {
        "cuLaunchKernel": CallKind.LAUNCH,
        "cuLaunchHostFunc": CallKind.OTHER,
    }
