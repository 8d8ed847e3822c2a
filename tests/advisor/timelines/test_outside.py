"""What the host did before the GPU's first work and after its last, and what limits a run."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.timelines.evidence import traced_run
from gpuadvise.advisor.timelines.gaps import GapCause
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.run_limit import RunLimiter, limit_of
from gpuadvise.advisor.timelines.timeline import timelines_of
from gpuadvise.advisor.transfers.links import default_link_model
from tests.advisor.timelines.test_account import line_of
from tests.support import exports, traces

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.timelines.timeline import Timeline


def judged(path: Path, events: list[dict[str, Any]]) -> tuple[Timeline, TracedRun]:
    line = line_of(path, events)
    return line, traced_run(line, default_link_model(line.device))


def test_calls_before_the_first_work_are_start_up_and_the_rest_code(tmp_path: Path) -> None:
    """40 ms in cudaMalloc, 60 ms of code, a kernel of 10 ms, 20 ms of code, 5 ms in cudaFree."""
    events = [
        traces.call(0, 40_000, "cudaMalloc"),
        traces.kernel(100_000, 10_000),
        traces.call(130_000, 5_000, "cudaFree"),
    ]
    line, run = judged(tmp_path / "trace", events)
    assert line.span_ns == 10_000_000
    assert run.before_seconds == pytest.approx(60e-3)
    assert run.after_seconds == pytest.approx(20e-3)
    assert run.outside_calls_seconds == run.one_time_seconds == pytest.approx(45e-3)
    assert run.outside_call == "cudaMalloc"
    assert run.recorded_seconds == pytest.approx(135e-3)
    limit = limit_of(line, run)
    assert limit is not None
    assert (limit.limiter, limit.share) == (RunLimiter.HOST_CODE, pytest.approx(80 / 135))


def test_waits_alone_are_no_work_outside(tmp_path: Path) -> None:
    events = [
        traces.kernel(0, 10_000),
        traces.call(-5_000, 4_000, "cudaDeviceSynchronize"),
        traces.call(10_000, 9_000, "cudaDeviceSynchronize"),
    ]
    line, run = judged(tmp_path / "trace", events)
    assert line.outside.before_ns == line.outside.after_ns == 0
    limit = limit_of(line, run)
    assert limit is not None
    assert limit.limiter is RunLimiter.ONE_KERNEL
    assert limit.subject == line.kernels[0].shape.name


def test_compiling_is_start_up(tmp_path: Path) -> None:
    region = traces.event("cpu_op", "Torch-Compiled Region: 0/0", 10_000, 200_000, {})
    events = [traces.kernel(0, 10_000), region, traces.kernel(210_000, 10_000)]
    account = line_of(tmp_path / "trace", events).account
    assert account.idle_of(GapCause.START_UP) > 190_000_000
    events[1] = traces.event("cpu_op", "aten::sort", 10_000, 200_000, {})
    assert line_of(tmp_path / "other", events).account.start_up_ns == 0


def limit_names(path: Path, events: list[dict[str, Any]]) -> RunLimiter:
    limit = limit_of(*judged(path, events))
    assert limit is not None
    return limit.limiter


def steady(gap: int, *, first: int = 0, names: int = 8) -> list[dict[str, Any]]:
    """Return ten rounds of kernels of 10 ms, of *names* kinds, *gap* us behind each."""
    return [
        traces.kernel(first + at * (10_000 + gap), 10_000, f"kernel{at % names}")
        for at in range(40)
    ]


def test_many_kernels_are_the_limit_where_no_idle_time_is_as_much(tmp_path: Path) -> None:
    assert limit_names(tmp_path / "busy", steady(1_000)) is RunLimiter.MANY_KERNELS
    assert limit_names(tmp_path / "host", steady(6_000)) is RunLimiter.HOST_CODE


def test_a_loader_is_the_limit_but_for_a_longer_start(tmp_path: Path) -> None:
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    asked = [
        traces.event("user_annotation", loader, at * 13_000 + 10_000, 2_990, {}) for at in range(40)
    ]
    assert limit_names(tmp_path / "loader", [*steady(3_000), *asked]) is RunLimiter.DATA_LOADING
    start = traces.call(-900_000, 900_000, "cudaMalloc")
    assert limit_names(tmp_path / "start", [*steady(3_000), *asked, start]) is RunLimiter.START_UP


def test_a_short_first_call_begins_a_recording(tmp_path: Path) -> None:
    calls = [
        (1_000_000, 1_001_000, 1, 1, 2, 0),
        (401_000_000, 402_000_000, 1, 2, 3, 0),
        (402_000_000, 402_010_000, 1, 3, 4, 0),
    ]
    kernel = exports.ROWS["CUPTI_ACTIVITY_KIND_KERNEL"][0]
    rows: dict[str, list[tuple[object, ...]]] = {
        "CUPTI_ACTIVITY_KIND_RUNTIME": calls,
        "CUPTI_ACTIVITY_KIND_KERNEL": [(403_000_000, 503_000_000, *kernel[2:])],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [],
        "CUPTI_ACTIVITY_KIND_MEMSET": [],
        "StringIds": [
            (1, "add"),
            (2, "cuModuleGetLoadingMode"),
            (3, "cudaMalloc_v3020"),
            (4, "cudaLaunchKernel_v7000"),
        ],
    }
    path = exports.export(tmp_path / "report.sqlite", rows=rows)
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    assert line.outside.before_ns == 402_000_000
    assert line.outside.calls_before_ns == 1_000_000


def test_what_was_launched_and_does_not_begin_is_no_work_of_the_host(tmp_path: Path) -> None:
    """A kernel launched at 1 ms that begins at 31 ms, while the host waits; then one that begins at once."""
    events = [
        traces.call(0, 1_000, correlation=5),
        traces.call(2_000, 29_000, "cudaDeviceSynchronize"),
        traces.kernel(31_000, 60_000, correlation=5),
    ]
    line, run = judged(tmp_path / "late", events)
    assert line.outside.queued_ns == 30_000_000
    assert run.before_seconds == 0
    assert run.recorded_seconds == pytest.approx(91e-3)
    assert limit_names(tmp_path / "limit", events) is RunLimiter.ONE_KERNEL
    events[0] = traces.call(30_900, 90, correlation=5)
    events.append(traces.call(0, 10, "cudaEventCreate"))
    events.append(traces.call(100, 25, "cudaEventCreate"))
    line, run = judged(tmp_path / "prompt", events)
    assert line.outside.queued_ns == 0
    assert run.before_seconds > 30e-3


@pytest.mark.parametrize(("again", "starts"), [(2_000, True), (3_000, False)])
def test_an_operator_that_is_long_once_and_gives_the_first_work_is_a_start(
    tmp_path: Path, again: int, *, starts: bool
) -> None:
    events = [
        traces.event("cpu_op", "aten::conv2d", 0, 6_000, {}),
        traces.call(5_900, 10),
        traces.kernel(5_990, 500, "first"),
        traces.event("cpu_op", "aten::conv2d", 7_000, again, {}),
        traces.kernel(12_000, 20_000, "later"),
    ]
    line, _ = judged(tmp_path / "trace", events)
    assert line.outside.once_ns == (5_990_000 if starts else 0)


@pytest.mark.parametrize(("length", "starts"), [(1_100, True), (900, False)])
def test_a_first_convolution_makes_a_handle(tmp_path: Path, length: int, *, starts: bool) -> None:
    events = [
        traces.event("cpu_op", "aten::cudnn_convolution", 0, length, {}),
        traces.kernel(length - 10, 500, "first"),
        traces.kernel(12_000, 20_000, "later"),
    ]
    line, _ = judged(tmp_path / "trace", events)
    assert (line.outside.once_ns > 0) is starts


def test_a_part_of_the_time_before_is_named_with_its_own_length(tmp_path: Path) -> None:
    """A first batch takes 400 of 1,000 ms before a kernel of 300 ms."""
    loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    events = [
        traces.event("cpu_op", "aten::randperm", 0, 500, {}),
        traces.event("user_annotation", loader, 10_000, 400_000, {}),
        traces.call(999_900, 5),
        traces.kernel(1_000_000, 300_000),
    ]
    line, run = judged(tmp_path / "trace", events)
    assert run.before_cause is not None
    assert run.before_cause.loader == "workers"
    assert run.before_cause.culprit_seconds == pytest.approx(0.4)
    limit = limit_of(line, run)
    assert limit is not None
    assert (limit.limiter, limit.seconds) == (RunLimiter.DATA_LOADING, pytest.approx(0.4))


@pytest.mark.parametrize(
    ("calls", "most"),
    [([("cudaMalloc", 20_000)], "cudaFree"), ([("cudaMalloc", 60_000)], "cudaMalloc")],
)
def test_the_call_that_took_most_of_the_start_may_stand_in_the_span(
    tmp_path: Path, calls: list[tuple[str, int]], most: str
) -> None:
    events = [
        *(traces.call(-length, length, name) for name, length in calls),
        traces.kernel(0, 1_000),
        traces.call(1_000, 50_000, "cudaFree"),
        traces.kernel(51_000, 1_000),
    ]
    assert judged(tmp_path / "trace", events)[1].outside_call == most


@pytest.mark.parametrize(
    ("began_ms", "limiter"), [(0, RunLimiter.HOST_CODE), (9_800, RunLimiter.ONE_KERNEL)]
)
def test_a_program_is_seen_before_its_first_call(
    tmp_path: Path, began_ms: int, limiter: RunLimiter
) -> None:
    """Calls of the system since *began_ms*, one of CUDA at 10 s, a kernel of 1 s; another process since 0."""
    ms = 1_000_000
    kernel = exports.ROWS["CUPTI_ACTIVITY_KIND_KERNEL"][0]
    thread, other = 5 << 24 | 1, 6 << 24 | 1
    calls = [(10_000 * ms, 10_001 * ms, thread, 1, 2, 0)]
    rows: dict[str, list[tuple[object, ...]]] = {
        "CUPTI_ACTIVITY_KIND_RUNTIME": calls,
        "CUPTI_ACTIVITY_KIND_KERNEL": [(10_002 * ms, 11_002 * ms, *kernel[2:])],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [],
        "CUPTI_ACTIVITY_KIND_MEMSET": [],
        "StringIds": [(1, "add"), (2, "cudaLaunchKernel_v7000"), (3, "read")],
    }
    path = exports.export(tmp_path / "report.sqlite", rows=rows)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE OSRT_API (start, end, globalTid, nameId)")
        for start, end, caller in (
            (began_ms, began_ms + 1, thread),
            (11_002, 11_502, thread),
            (0, 12_000, other),
        ):
            database.execute(
                "INSERT INTO OSRT_API VALUES (?, ?, ?, 3)", (start * ms, end * ms, caller)
            )
    database.close()
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    run = traced_run(line, default_link_model(line.device))
    assert run.silent_before_seconds == pytest.approx(10 - began_ms / 1e3)
    assert run.silent_after_seconds == pytest.approx(0.5)
    limit = limit_of(line, run)
    assert limit is not None
    assert limit.limiter is limiter


def test_what_the_profiler_takes_and_threads_that_wait_are_not_the_program(tmp_path: Path) -> None:
    """The profiler starts for 6 of the 10 s before the first call; another thread waits long after the last."""
    ms = 1_000_000
    kernel = exports.ROWS["CUPTI_ACTIVITY_KIND_KERNEL"][0]
    main, idle = 5 << 24 | 5, 5 << 24 | 7
    rows: dict[str, list[tuple[object, ...]]] = {
        "CUPTI_ACTIVITY_KIND_RUNTIME": [(10_000 * ms, 10_001 * ms, main, 1, 2, 0)],
        "CUPTI_ACTIVITY_KIND_KERNEL": [(10_002 * ms, 11_002 * ms, *kernel[2:])],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [],
        "CUPTI_ACTIVITY_KIND_MEMSET": [],
        "StringIds": [
            (1, "add"), (2, "cudaLaunchKernel_v7000"), (3, "read"),
            (4, "CUDA profiling initialization"), (5, "dlopen(libmine.so)"),
        ],
    }  # fmt: skip
    path = exports.export(tmp_path / "report.sqlite", rows=rows)
    calls = [(0, 1, main, 3), (11_010, 11_012, main, 3), (1, 20_000, idle, 3)]
    taken = [(2_000, 8_000, main, 4), (8_000, 9_000, main, 5), (0, 10_000, idle, 4)]
    with sqlite3.connect(path) as database:
        for table, events in (("OSRT_API", calls), ("PROFILER_OVERHEAD", taken)):
            database.execute(f"CREATE TABLE {table} (start, end, globalTid, nameId)")
            for start, end, thread, name in events:
                event = (start * ms, end * ms, thread, name)
                database.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", event)
    database.close()
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    assert line.outside.silent_before_ns == 4_000 * ms
    assert line.outside.silent_after_ns == 10 * ms


@pytest.mark.parametrize(
    ("name", "kernel", "once"),
    [
        ("aten::addmm", "gemm", True),  # its first call, which the loop repeats
        ("mine::product", "other", False),  # what it launched never comes again
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "gemm", False),
    ],
)
def test_a_first_operator_before_all_work_is_start_up(
    tmp_path: Path, name: str, kernel: str, *, once: bool
) -> None:
    """100 ms in an operator, then kernels of 10 ms, one behind the other."""
    events = [traces.kernel(100_000, 10_000, "gemm")]
    events += [traces.kernel(110_000 + 10_000 * at, 10_000, kernel) for at in range(3)]
    events.append(traces.event("cpu_op", name, 0, 100_000, {}))
    line, run = judged(tmp_path / "trace", events)
    assert line.outside.before_ns == 100_000_000
    assert run.before_seconds == pytest.approx(0 if once else 0.1)
    assert run.one_time_seconds == pytest.approx(0.1 if once else 0)
    assert (run.start_cause is not None and run.start_cause.culprit) == (name if once else False)
    limit = limit_of(line, run)
    assert limit is not None
    assert (limit.limiter is RunLimiter.START_UP) == once


def test_a_compiler_before_all_work_is_start_up(tmp_path: Path) -> None:
    compiler = traces.event(
        "cpu_op", "OutputGraph.call_user_compiler (dynamo_timed)", 0, 300_000, {}
    )
    _, run = judged(tmp_path / "trace", [compiler, traces.kernel(300_000, 10_000)])
    assert run.one_time_seconds == pytest.approx(0.3)
    assert run.before_seconds == 0


def of_ranks(idle_ms: int, exposed_ms: int) -> list[dict[str, Any]]:
    """Return five rounds of a kernel of 10 ms, the host's own work, and an exposed all-reduce."""
    events, time = [], 0
    for _ in range(5):
        events.append(traces.kernel(time, 10_000, "gemm"))
        time += 10_000 + 1000 * idle_ms
        events.append(
            traces.kernel(time, 1000 * exposed_ms, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
        )
        time += 1000 * exposed_ms
    return events


@pytest.mark.parametrize(
    ("idle_ms", "exposed_ms", "limiter"),
    [
        (20, 50, RunLimiter.COMMUNICATION),  # far more than what holds the rank up itself
        (20, 30, RunLimiter.HOST_CODE),  # which others may wait for
        (30, 20, RunLimiter.HOST_CODE),
        (5, 20, RunLimiter.COMMUNICATION),
    ],
)
def test_exposed_communication_limits_where_it_is_most(
    tmp_path: Path, idle_ms: int, exposed_ms: int, limiter: RunLimiter
) -> None:
    limit = limit_of(*judged(tmp_path / "trace", of_ranks(idle_ms, exposed_ms)))
    assert limit is not None
    assert limit.limiter is limiter


@pytest.mark.parametrize(
    ("silent_seconds", "limiter"),
    [
        (0.0, RunLimiter.ONE_KERNEL),
        (0.15, RunLimiter.START_UP),
        (1.1, RunLimiter.HOST_CODE),
    ],
)
def test_a_process_that_loads_its_libraries_starts_before_its_first_call(
    tmp_path: Path, silent_seconds: float, limiter: RunLimiter
) -> None:
    """A context of 86 ms and a kernel of 110 ms."""
    events = [
        traces.call(0, 86_000, "cudaMalloc"),
        traces.kernel(90_000, 110_000, "simulate"),
        traces.kernel(200_000, 2_000, "add"),
    ]
    line, run = judged(tmp_path / "trace", events)
    limit = limit_of(line, replace(run, silent_before_seconds=silent_seconds))
    assert limit is not None
    assert limit.limiter is limiter
    if limiter is RunLimiter.START_UP:
        assert limit.share == pytest.approx(0.236 / 0.352, rel=0.01)


@pytest.mark.parametrize(
    ("name", "limiter"),
    [
        ("sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128", RunLimiter.COMMUNICATION),
        ("nbody_forces", RunLimiter.ONE_KERNEL),
    ],
)
def test_products_of_one_name_are_the_work_of_many_layers(
    tmp_path: Path, name: str, limiter: RunLimiter
) -> None:
    """Ten of 6 ms, each before an all-reduce of 4 ms: only a kernel of one's own is the thing to change."""
    events = []
    for at in range(10):
        events.append(traces.kernel(10_000 * at, 6_000, name))
        events.append(
            traces.kernel(10_000 * at + 6_000, 4_000, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
        )
    limit = limit_of(*judged(tmp_path / "trace", events))
    assert limit is not None
    assert limit.limiter is limiter


@pytest.mark.parametrize(
    ("start_ms", "limiter"), [(150, RunLimiter.DATA_LOADING), (300, RunLimiter.START_UP)]
)
def test_a_loader_comes_before_a_start_that_took_somewhat_longer(
    tmp_path: Path, start_ms: int, limiter: RunLimiter
) -> None:
    """Five batches of 20 ms; the start is a call of cudaMalloc before the GPU's first work."""
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    events = [traces.call(-1000 * start_ms, 1000 * start_ms, "cudaMalloc")]
    for at in range(6):
        events.append(traces.kernel(30_000 * at, 10_000))
        events.append(
            traces.event("user_annotation", loader, 30_000 * at + 10_000, 20_000 * (at < 5), {})
        )
    limit = limit_of(*judged(tmp_path / "trace", events))
    assert limit is not None
    assert limit.limiter is limiter


def held_up(names: tuple[str, ...], copied: str | None = None) -> list[dict[str, Any]]:
    """Return 30 kernels of 1 ms, a call of 4 ms before each, by turns of *names*, which may end in a copy of 10 us."""
    events = [traces.kernel(0, 1_000, "kernel0")]
    for at in range(1, 30):
        begin = 5_000 * at - 4_000
        events.append(traces.call(begin, 3_990, names[at % len(names)], correlation=1_000 + at))
        if copied is not None:
            events.append(traces.copy(begin + 3_900, 10, 4_096, copied, correlation=1_000 + at))
        events.append(traces.call(5_000 * at - 10, 5, correlation=at))
        events.append(traces.kernel(5_000 * at, 1_000, f"kernel{at % 3}", correlation=at))
    return events


@pytest.mark.parametrize(
    ("names", "copied", "limiter"),
    [
        (("cudaMalloc", "cudaFree"), None, RunLimiter.ALLOCATION),
        # The copy takes microseconds: its call waits for something that is not recorded.
        (("cudaMemcpyAsync",), "Memcpy DtoH (Device -> Pinned)", RunLimiter.WAITS),
        (("cudaMemcpyAsync",), "Memcpy HtoD (Pageable -> Device)", RunLimiter.PAGEABLE_COPIES),
    ],
)
def test_what_holds_the_host_up_in_calls_is_no_rate_of_launches(
    tmp_path: Path, names: tuple[str, ...], copied: str | None, limiter: RunLimiter
) -> None:
    assert limit_names(tmp_path / "trace", held_up(names, copied)) is limiter


def test_what_does_not_begin_though_it_is_waited_for_is_the_waits(tmp_path: Path) -> None:
    """Thirty kernels of 0.1 ms, each begun 4 ms after its launch, which the host waits for."""
    events = []
    for at in range(30):
        begin = at * 5_000
        events += [
            traces.call(begin, 10, correlation=at),
            traces.call(begin + 10, 4_500, "cudaStreamSynchronize"),
            traces.kernel(begin + 4_000, 100, f"kernel{at % 3}", correlation=at),
        ]
    assert limit_names(tmp_path / "trace", events) is RunLimiter.WAITS


@pytest.mark.parametrize(
    ("name", "limiter"),
    [("gloo:all_reduce", RunLimiter.COMMUNICATION), ("aten::sort", RunLimiter.HOST_CODE)],
)
def test_collectives_on_the_host_are_communication(
    tmp_path: Path, name: str, limiter: RunLimiter
) -> None:
    sent = [traces.event("cpu_op", name, at * 19_000 + 10_100, 8_800, {}) for at in range(40)]
    assert limit_names(tmp_path / "trace", [*steady(9_000), *sent]) is limiter
