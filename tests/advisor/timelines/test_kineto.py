"""Traces of PyTorch's profiler: what is read, in which layouts, and what breaks nothing."""

from __future__ import annotations

import gzip
import json
import math
from typing import TYPE_CHECKING, Any

import pytest
import traces
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.timelines.activities import CopyPath, MemoryKind, Recorder
from gpuadvise.advisor.timelines.calls import CallKind
from gpuadvise.advisor.timelines.case import cases_in
from gpuadvise.advisor.timelines.evidence import traced_run
from gpuadvise.advisor.timelines.gaps import KEPT_GAPS, GapCause
from gpuadvise.advisor.timelines.gpus import traced_device
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.run_limit import RunLimiter
from gpuadvise.advisor.timelines.timeline import timelines_of
from gpuadvise.advisor.transfers.links import default_link_model

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.timelines.activities import Recording
    from gpuadvise.advisor.timelines.timeline import Timeline

RUN = [
    traces.call(0, 5),
    traces.kernel(10, 20.5),
    traces.call(12, 4, "cudaMemcpyAsync", correlation=2),
    traces.copy(20.5, 20, 1 << 20),
    traces.copy(50, 10, 1 << 10, "Memcpy DtoH (Device -> Pinned)", correlation=3),
    traces.call(45, 16, "cudaMemcpy", correlation=3),
    traces.kernel(100, 10),
    traces.call(61, 50, "cudaDeviceSynchronize"),
    traces.event("gpu_memset", "Memset (Device)", 60, 1, {"device": 0, "bytes": 64, "stream": 7}),
]


def read(path: Path, text: str | bytes) -> Recording:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    (recording,) = read_recordings(str(path))
    return recording


def timeline(path: Path, text: str | bytes) -> Timeline:
    (line,) = timelines_of(read(path, text))
    return line


def test_where_the_time_went(tmp_path: Path) -> None:
    line = timeline(tmp_path / "trace", traces.kineto(RUN))
    assert line.recorder is Recorder.PYTORCH
    assert line.device is not None
    assert (line.device.name, line.device.sm_count) == ("NVIDIA H200", 132)
    assert (line.span_ns, line.kernel_ns, line.copy_ns) == (100_000, 30_500, 30_000)
    assert (line.overlapped_copy_ns, line.memset_ns) == (10_000, 1_000)
    assert line.busy_ns == 30_500 + 30_000 - 10_000 + 1_000
    assert line.idle_ns == sum(gap.length_ns for gap in line.gaps)


def test_a_kernel_has_our_occupancy(tmp_path: Path) -> None:
    (kernel,) = timeline(tmp_path / "trace", traces.kineto(RUN)).kernels
    assert (kernel.calls, kernel.total_ns, kernel.median_ns) == (2, 30_500, 10_000)
    assert kernel.shape.reported_occupancy == 0.25
    assert kernel.occupancy is not None
    assert kernel.occupancy.occupancy == 1.0
    assert kernel.waves is not None
    assert kernel.waves.waves == 264 / (8 * 132)


def test_much_shared_memory_is_not_occupancy_zero(tmp_path: Path) -> None:
    args = {"registers per thread": 168, "shared memory": 213_188, "block": [384, 1, 1]}
    run = traces.kernel(0, 1, **args, **{"est. achieved occupancy %": 0})
    (kernel,) = timeline(tmp_path / "trace", traces.kineto([run])).kernels
    assert kernel.occupancy is not None
    assert kernel.occupancy.occupancy == 0.1875


def test_copies_by_direction_memory_and_call(tmp_path: Path) -> None:
    copies = {one.kind.path: one for one in timeline(tmp_path / "t", traces.kineto(RUN)).copies}
    into, out = copies[CopyPath.H2D], copies[CopyPath.D2H]
    assert (into.kind.source, into.kind.asynchronous) == (MemoryKind.PAGEABLE, True)
    assert (out.kind.target, out.kind.asynchronous) == (MemoryKind.PINNED, False)
    assert into.pageable
    assert not out.pageable
    assert into.rate == pytest.approx((1 << 20) / 20e-6)


def test_gaps_say_what_the_host_did(tmp_path: Path) -> None:
    gaps = timeline(tmp_path / "trace", traces.kineto(RUN)).gaps
    assert [gap.length_ns for gap in gaps] == [9_500, 39_000]
    assert [gap.cause for gap in gaps] == [GapCause.COPY, GapCause.SYNCHRONIZATION]


def test_all_long_gaps_count_however_many_there_are(tmp_path: Path) -> None:
    # A millisecond of the host's work after each of 600 kernels: three times as many as are kept.
    run = [traces.kernel(ts=1_020.0 * number, dur=20.0) for number in range(600)]
    line = timeline(tmp_path / "trace", traces.kineto(run))
    assert len(line.gaps) == KEPT_GAPS
    assert (line.long_host_gaps.gaps, line.long_host_gaps.total_ns) == (599, 599_000_000)


def test_calls_by_kind(tmp_path: Path) -> None:
    line = timeline(tmp_path / "trace", traces.kineto(RUN))
    (wait,) = line.synchronizations
    assert (wait.name, wait.calls, wait.total_ns) == ("cudaDeviceSynchronize", 1, 50_000)
    assert {call.name for call in line.calls_for(CallKind.COPY)} == {
        "cudaMemcpy",
        "cudaMemcpyAsync",
    }
    assert (line.launches.kernels, line.launches.kernel_launches) == (2, 1)


@pytest.mark.parametrize(
    "layout",
    [
        lambda text: json.dumps(json.loads(text)),
        lambda text: json.dumps(json.loads(text), indent=2),
        lambda text: json.dumps(json.loads(text), indent=None, separators=(",", ":")),
        lambda text: json.dumps(json.loads(text), indent="\t"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: gzip.compress(text.encode()),
        lambda text: "\ufeff" + text,
    ],
    ids=["one-line", "indented", "compact", "tabs", "crlf", "gzip", "mark"],
)
def test_the_layout_does_not_matter(tmp_path: Path, layout: Any) -> None:
    text = traces.kineto(RUN)
    assert timeline(tmp_path / "a", layout(text)) == timeline(tmp_path / "b", text)


def test_a_bare_list_and_old_categories(tmp_path: Path) -> None:
    old = {
        "kernel": "Kernel",
        "gpu_memcpy": "Memcpy",
        "gpu_memset": "Memset",
        "cuda_runtime": "Runtime",
    }
    events = [one | {"cat": old[one["cat"]]} for one in RUN]
    line = timeline(tmp_path / "trace", json.dumps(events))
    assert line.device is None
    assert line.span_ns == 100_000
    assert line.kernels[0].occupancy is None


def test_matrix_products(tmp_path: Path) -> None:
    dims = {"Input Dims": [[8], [4, 8], [8, 16]], "Input type": ["float"] * 3}
    op = traces.event("cpu_op", "aten::addmm", 0, 1, dims)
    ((product, calls),) = timeline(tmp_path / "t", traces.kineto([*RUN, op])).products
    assert (product.rows, product.inner, product.columns, product.dtype, calls) == (
        4,
        8,
        16,
        "float",
        1,
    )


def test_products_share_time_by_what_each_needs(tmp_path: Path) -> None:
    # As many operations in scores of attention as in a product with weights, and many more bytes.
    shapes = {"bmm": [[48, 2048, 64], [48, 64, 2048]], "mm": [[2048, 1024], [1024, 6144]]}
    ops = [
        traces.event(
            "cpu_op",
            f"aten::{name}",
            at,
            1,
            {"Input Dims": dims, "Input type": ["c10::BFloat16"] * 2},
        )
        for at, (name, dims) in enumerate(shapes.items())
    ]
    gemm = traces.kernel(200, 40, "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT")
    line = timeline(tmp_path / "t", traces.kineto([*RUN, gemm, *ops]))
    scores, weights = sorted(
        traced_run(line, default_link_model(line.device)).products, key=lambda one: -one.batch
    )
    assert scores.flops == weights.flops
    assert scores.seconds is not None
    assert weights.seconds is not None
    assert scores.seconds > 2 * weights.seconds
    assert scores.seconds + weights.seconds == pytest.approx(40e-6)


BROKEN: list[dict[str, Any]] = [
    traces.kernel(math.nan, 1),
    traces.kernel(math.inf, 1),
    traces.kernel(1, -1),
    traces.kernel(1, 1e300),
    traces.event("kernel", "k", "soon", 1, {}),
    traces.event("kernel", "k", 1, 1, [1]),
    traces.event("kernel", "k", True, 1, {}),
    traces.kernel(1, 1, device="zero"),
    traces.kernel(1, 1, grid=7),
    traces.kernel(1, 1, block=[{}, 1, 1]),
    traces.copy(1, 1, -1),
]


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("compact", [False, True])
def test_a_broken_event_is_skipped_with_its_number(
    tmp_path: Path, broken: dict[str, Any], compact: bool
) -> None:
    text = traces.kineto([RUN[0], broken, *RUN[1:]])
    if compact:
        text = json.dumps(json.loads(text))
    line = timeline(tmp_path / "trace", text)
    assert line.span_ns == 100_000
    assert [one.event for one in line.skipped] == [2]
    assert "1 event could not be read" in line.notes[-1]


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('"name": "add"', '"name": "a"d"d"', 1),
        lambda text: text.replace('"args": {', '"args": ' + "[" * 100_000 + "{", 1),
        lambda text: text.replace("20.5", "20.5.5", 1),
    ],
)
def test_text_that_is_no_json_costs_one_event(tmp_path: Path, damage: Any, compact: bool) -> None:
    text = traces.kineto([RUN[1], *RUN])
    if compact:
        text = json.dumps(json.loads(text))
    line = timeline(tmp_path / "trace", damage(text))
    assert line.skipped_count >= 1
    assert line.launches.kernels == 2


def test_a_truncated_file_is_read_to_its_end(tmp_path: Path) -> None:
    text = traces.kineto(RUN * 50)
    line = timeline(tmp_path / "trace", text[: len(text) // 2])
    assert 10 < line.launches.kernels < 100
    packed = gzip.compress(text.encode())
    assert timeline(tmp_path / "trace.gz", packed[:-20]).notes


@pytest.mark.parametrize("share", [0.2, 0.4, 0.41, 0.42, 0.9, 0.99])
def test_an_end_between_or_within_events_is_said(share: float, tmp_path: Path) -> None:
    work = [traces.kernel(10 * i, 5) for i in range(50)]
    others = [traces.event("cpu_op", "aten::add", 1, 2, {"Input Dims": [[4], [4]]})] * 200
    text = traces.kineto([*work, *others])
    line = timeline(tmp_path / "trace", text[: int(len(text) * share)])
    assert any("ends early" in note for note in line.notes)
    assert not timeline(tmp_path / "whole", text).notes
    with pytest.raises(BadInput, match="ends early, and up to there"):
        timeline(tmp_path / "other", traces.kineto(others)[: int(len(text) * share * 0.5)])


def test_a_list_of_events_alone_need_not_be_closed(tmp_path: Path) -> None:
    events = ",\n".join(traces.lined(traces.kernel(10 * i, 5)) for i in range(5))
    assert not timeline(tmp_path / "trace", "[\n" + events + "\n").notes


def behind(events: list[dict[str, Any]], layout: str) -> str:
    """Return a trace whose properties stand behind its events."""
    properties = {
        "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
        "deviceProperties": [traces.H200],
    }
    if layout == "one line":
        return json.dumps({"schemaVersion": 1, "traceEvents": events, **properties})
    if layout == "pretty":
        return json.dumps({"schemaVersion": 1, "traceEvents": events, **properties}, indent=1)
    body = ",\n".join(traces.lined(event) for event in events)
    rest = json.dumps(properties, indent=2)[2:]
    return '{\n  "schemaVersion": 1,\n  "traceEvents": [\n' + body + "\n  ],\n" + rest


@pytest.mark.parametrize("layout", ["one line", "pretty", "profiler"])
def test_what_stands_behind_the_events_is_read(tmp_path: Path, layout: str) -> None:
    line = timeline(tmp_path / "trace", behind(RUN * 5, layout))
    assert line.device is not None
    assert line.device.name == "NVIDIA H200"
    assert line.rank == 3
    assert not line.notes


def test_a_trace_cut_behind_its_events_keeps_them(tmp_path: Path) -> None:
    line = timeline(tmp_path / "trace", behind(RUN, "profiler")[:-40])
    assert line.device is None
    assert not line.notes


def test_multiprocessors_are_counted_by_the_blocks_of_each(tmp_path: Path) -> None:
    events = [
        traces.kernel(10 * at, 5, f"sm90_xmma_{at}", grid=[blocks, 1, 1], **{"blocks per SM": per})
        for at, (blocks, per) in enumerate([(8, 0.060606), (264, 2), (66, 0.5), (7, 0.1)])
    ]
    line = timeline(tmp_path / "trace", traces.kineto(events[:3], deviceProperties=[]))
    assert line.device is None
    assert line.multiprocessors == 132
    line = timeline(tmp_path / "trace", traces.kineto(events[1:], deviceProperties=[]))
    assert line.multiprocessors is None


@pytest.mark.parametrize(
    ("event", "maker"),
    [
        (traces.event("xpu_runtime", "urEnqueueKernelLaunch", 0, 1, {}), "Intel"),
        (traces.kernel(0, 1, **{"sycl queue": 1}), "Intel"),
        (traces.event("mtia_runtime", "launch", 0, 1, {}), "MTIA"),
        (traces.event("hpu_op", "launch", 0, 1, {}), "Habana"),
        (traces.event("npu_runtime", "launch", 0, 1, {}), "Ascend"),
    ],
)
def test_devices_of_other_makers_are_named(
    tmp_path: Path, event: dict[str, Any], maker: str
) -> None:
    with pytest.raises(BadInput, match=maker):
        read(tmp_path / "file", traces.kineto([event], deviceProperties=[]))


@pytest.mark.parametrize(
    ("category", "maker"),
    [
        ("xpu_runtime", "Intel"),
        ("mtia_runtime", "MTIA"),
        ("hpu_op", "Habana"),
        ("npu_runtime", "Ascend"),
        ("musa_runtime", "Moore Threads"),
        ("privateuse1_runtime", "none of NVIDIA's"),
    ],
)
def test_other_runtimes_tell_that_kernels_are_not_nvidias(
    tmp_path: Path, category: str, maker: str
) -> None:
    """Other makers' kernels have the same category; a program may drive other devices beside CUDA's."""
    events = [traces.kernel(0, 1), traces.event(category, "launch", 0, 1, {})]
    for header in ({"deviceProperties": []}, {}):
        with pytest.raises(BadInput, match=maker):
            read(tmp_path / "file", traces.kineto(events, **header))
    assert timeline(tmp_path / "file", traces.kineto([*events, traces.call(0, 1)])).gpu == 0


def test_another_runtime_far_into_a_trace_tells(tmp_path: Path) -> None:
    operators = [
        traces.event("cpu_op", "aten::add", at, 1, {"x": "y" * 1000}) for at in range(8000)
    ]
    events = [*operators, traces.event("tpu_runtime", "launch", 0, 1, {}), *operators]
    with pytest.raises(BadInput, match="none of NVIDIA's"):
        read(tmp_path / "file", traces.kineto([traces.kernel(0, 1), *events]))


@pytest.mark.parametrize(
    ("name", "maker"),
    [
        ("Gaudi2", "Habana"),
        ("Ascend 910B", "Ascend"),
        ("MTT S4000", "Moore"),
        ("MetaX C500", "none"),
    ],
)
def test_names_of_other_makers_devices_tell(tmp_path: Path, name: str, maker: str) -> None:
    events = [traces.kernel(0, 1), traces.call(0, 1)]
    with pytest.raises(BadInput, match=maker):
        read(tmp_path / "file", traces.kineto(events, deviceProperties=[{"id": 0, "name": name}]))


def test_the_backend_names_the_maker_where_no_event_does(tmp_path: Path) -> None:
    text = traces.kineto([], distributedInfo={"backend": "cpu:gloo,mtia:hccl"})
    with pytest.raises(BadInput, match="MTIA"):
        read(tmp_path / "file", text)


def test_the_old_profiler_is_named(tmp_path: Path) -> None:
    """It writes a bare list of operators, those on the GPU too, and no kernels."""
    times = {"name": "aten::conv2d", "ph": "X", "ts": 1282.8, "dur": 95.0, "tid": 1, "args": {}}
    to_gpu = {"name": "aten::conv2d", "ph": "s", "ts": 1282.8, "cat": "cpu_to_cuda", "id": 0}
    events = [
        dict(event, pid=f"{where} functions")
        for where in ("CPU", "CUDA")
        for event in (times, to_gpu)
    ]
    with pytest.raises(BadInput, match=r"torch\.autograd\.profiler"):
        read(tmp_path / "file", json.dumps(events))


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    import zlib

    packer = zlib.compressobj(9, wbits=31)
    start = traces.kineto(RUN).encode()[:-30]
    bomb = packer.compress(start) + packer.compress(b" " * (300 << 20)) + packer.flush()
    with pytest.raises(BadInput, match="times its size"):
        timeline(tmp_path / "bomb", bomb)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("hello", "not a timeline"),
        ("[]", "neither"),
        ('{"traceEvents": []}', "neither"),
        (traces.kineto([]), "no work of a GPU"),
        (traces.kineto([], deviceProperties=[traces.H200 | {"warpSize": 64}]), "AMD"),
        (
            traces.kineto(RUN, deviceProperties=[traces.H200 | {"name": "AMD Instinct MI300X"}]),
            "ROCm",
        ),
    ],
)
def test_what_is_no_timeline_gets_a_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read(tmp_path / "file", text)


def test_ranks_in_a_folder(tmp_path: Path) -> None:
    for rank in (0, 1):
        info = {"rank": rank, "world_size": 2, "backend": "nccl"}
        (tmp_path / f"r{rank}.json").write_text(traces.kineto(RUN, distributedInfo=info))
    (tmp_path / "notes.txt").write_text("not a trace")
    assert [one.rank for one in read_recordings(str(tmp_path))] == [0, 1]


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_any_values_are_read_or_skipped(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    events = json.loads(json.dumps(RUN))
    for _ in range(data.draw(st.integers(1, 4))):
        target = data.draw(st.sampled_from(events))
        if data.draw(st.booleans()) and isinstance(target.get("args"), dict) and target["args"]:
            target = target["args"]
        target[data.draw(st.sampled_from(sorted(target)))] = data.draw(VALUES)
    try:
        # Another number of its GPU makes a second timeline.
        assert timelines_of(read(tmp_path_factory.mktemp("any") / "trace", traces.kineto(events)))
    except BadInput as error:
        assert error.message


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(traces.kineto(RUN).encode())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=8))
    try:
        timeline(tmp_path_factory.mktemp("bytes") / "trace", bytes(content))
    except BadInput as error:
        assert error.message


def test_of_several_gpus_each_has_its_own_launches(tmp_path: Path) -> None:
    events = [
        *(traces.call(10 * at, 2, correlation=at) for at in range(5)),
        *(traces.kernel(10 * at + 5, 4, device=0, correlation=at) for at in range(3)),
        traces.kernel(35, 4, device=1, correlation=3),
        traces.kernel(45, 4, device=1, correlation=4, **{"graph node id": 1}),
    ]
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    launches = [line.launches for line in timelines_of(recording)]
    assert [launch.kernels for launch in launches] == [3, 2]
    assert [launch.kernel_launches for launch in launches] == [3, 1]


def test_while_the_host_waits_for_another_gpu_it_does_not_work(tmp_path: Path) -> None:
    events = [
        traces.kernel(0, 100, device=0),
        traces.kernel(900, 100, device=0),
        traces.kernel(0, 850, device=1),
        traces.call(50, 805, "cudaStreamSynchronize"),
    ]
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    first, _ = timelines_of(recording)
    (gap,) = first.gaps
    assert (gap.length_ns, gap.cause) == (800_000, GapCause.SYNCHRONIZATION)


def test_a_wait_at_the_end_of_a_queue_is_not_what_parts_its_kernels(tmp_path: Path) -> None:
    events = [
        *(traces.kernel(20 * at, 10) for at in range(5)),
        traces.call(0, 100, "cudaDeviceSynchronize"),
    ]
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    assert [(idle.cause, idle.gaps) for idle in line.idle] == [(GapCause.LAUNCH, 4)]


@pytest.mark.parametrize(
    ("apart", "others", "sampled"), [(20, 0, False), (250, 0, True), (250, 600, False)]
)
def test_numbers_of_calls_tell_a_sample(
    tmp_path: Path, apart: int, others: int, *, sampled: bool
) -> None:
    """CUDA numbers the calls of a process: of a complete recording a part of them is there, launches or *others*."""
    events = [traces.call(3_000 * at + 8, 1, "cudaStreamIsCapturing") for at in range(others)]
    for at in range(300):
        number = 5_000 + apart * at
        events.append(traces.call(3_000 * at, 6, correlation=number))
        events.append(traces.kernel(3_000 * at + 10, 900, correlation=number))
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    assert recording.is_sample is sampled
    assert any("It is a sample" in note for note in recording.notes) is sampled
    (case,) = cases_in(recording, str(path), None)
    assert case.run.host_bound is not sampled
    assert case.limit is not None
    assert case.limit.limiter is (RunLimiter.ONE_KERNEL if sampled else RunLimiter.HOST_CODE)


def recorded(begin: int, *, gpu: int = 0, count: int = 12) -> list[dict[str, Any]]:
    """Return *count* launches and their kernels from *begin* us on, numbered as CUDA does in a process."""
    events = []
    for at in range(count):
        start, number = begin + 100 * at, 100 + at
        events.append(traces.call(start, 6, correlation=number))
        events.append(traces.kernel(start + 10, 80, correlation=number, device=gpu))
    end = {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": begin}
    return [*events, end | {"args": {}}]


@pytest.mark.parametrize("count", [3, 12])  # told by the windows, and by the numbers too
def test_recordings_put_together_are_refused(tmp_path: Path, count: int) -> None:
    first = recorded(0, count=count)
    assert read(tmp_path / "one", traces.kineto(first)).notes == []
    with pytest.raises(BadInput, match="The same events are in it 3 times"):
        read(tmp_path / "thrice", traces.kineto([*first, *first, *first]))
    two = [*first, *recorded(30_000_000, count=count)]
    with pytest.raises(BadInput, match="Several recordings were put together"):
        read(tmp_path / "two", traces.kineto(two))


def test_recordings_of_several_gpus_put_together_are_noted(tmp_path: Path) -> None:
    merged = read(tmp_path / "two", traces.kineto([*recorded(0), *recorded(0, gpu=1)]))
    assert merged.is_sample
    assert any("Several recordings were put together" in note for note in merged.notes)


def test_numbers_tell_recordings_put_together_without_their_ends(tmp_path: Path) -> None:
    two = [*recorded(0)[:-1], *recorded(30_000_000)[:-1]]
    with pytest.raises(BadInput, match="Several recordings were put together"):
        read(tmp_path / "two", traces.kineto(two))


def test_memory_counted_in_mib_names_the_gpu() -> None:
    """As older exports of Nsight Systems count it."""
    named = [
        traced_device(
            name="Tesla V100-PCIE-32GB", major=7, minor=0, sm_count=80, memory_bytes=memory
        )
        for memory in (32_510, 32_510 << 20)
    ]
    assert named[0] == named[1]
    assert named[0] is not None
    assert named[0].pcie_generation == 3
