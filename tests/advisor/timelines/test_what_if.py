"""Bounds on what a change can win, and the gaps they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import traces
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.timelines.activities import Recorder, Recording
from gpuadvise.advisor.timelines.evidence import facts_of_timeline, traced_run
from gpuadvise.advisor.timelines.gaps import PROMPT_NS, GapCause, idleness
from gpuadvise.advisor.timelines.intervals import Cover, IntervalLog
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.timeline import timelines_of
from gpuadvise.advisor.timelines.what_if import Change, what_if
from gpuadvise.advisor.transfers.links import PAGEABLE_D2H_SPREAD, default_link_model

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.timelines.what_if import WhatIf

MODEL = default_link_model(find("h200-sxm"))


def changes(path: Path, events: list[dict[str, Any]]) -> dict[Change, WhatIf]:
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    run = traced_run(line, MODEL)
    return {one.change: one for one in reversed(what_if(line, MODEL, run))}


def on_no_known_gpu(path: Path, events: list[dict[str, Any]]) -> dict[Change, WhatIf]:
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    recording.devices = {}
    (line,) = timelines_of(recording)
    return {one.change: one for one in what_if(line, MODEL, traced_run(line, MODEL))}


def test_pinning_saves_what_the_link_does_not_need(tmp_path: Path) -> None:
    events = [traces.copy(0, 2400, 16 << 20), traces.kernel(2400, 600)]
    change = changes(tmp_path / "trace", events)[Change.PIN_MEMORY]
    needed = MODEL.copy_latency + (16 << 20) / MODEL.h2d_rate
    assert change.saved_ns == pytest.approx(2.4e6 - needed * 1e9, rel=1e-6)
    assert change.speedup == pytest.approx(3e6 / (3e6 - change.saved_ns))


def test_pageable_copies_that_take_little_of_the_span_are_no_change(tmp_path: Path) -> None:
    events = [traces.copy(0, 2400, 16 << 20), traces.kernel(2400, 60_000)]
    assert Change.PIN_MEMORY not in changes(tmp_path / "trace", events)


def test_a_gpu_that_reads_the_hosts_memory_needs_no_pinning(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text(traces.kineto([traces.copy(0, 2400, 16 << 20), traces.kernel(2400, 600)]))
    (recording,) = read_recordings(str(path))
    recording.devices = {}
    for name, listed in (("h200-sxm", True), ("gh200", False)):
        device = find(name)
        (line,) = timelines_of(recording, device=device)
        found = what_if(line, MODEL, traced_run(line, MODEL))
        assert (Change.PIN_MEMORY in {one.change for one in found}) == listed, name


def test_frees_alone_are_no_repeated_allocation(tmp_path: Path) -> None:
    events = [traces.kernel(100 * i, 10) for i in range(10)]
    frees = [traces.call(100 * i + 10, 90, "cudaFree") for i in range(9)]
    assert Change.REUSE_MEMORY not in changes(tmp_path / "trace", events + frees)
    allocations = [traces.call(100 * i + 11, 5, "cudaMalloc") for i in range(9)]
    assert Change.REUSE_MEMORY in changes(tmp_path / "more", events + frees + allocations)


def test_pinned_copies_save_nothing_by_pinning(tmp_path: Path) -> None:
    events = [traces.copy(0, 2400, 16 << 20, "Memcpy HtoD (Pinned -> Device)")]
    assert Change.PIN_MEMORY not in changes(tmp_path / "trace", events)


def test_overlap_ends_at_the_longest_part(tmp_path: Path) -> None:
    events = [
        traces.copy(0, 100, 1 << 22, "Memcpy HtoD (Pinned -> Device)"),
        traces.kernel(100, 300),
        traces.copy(400, 200, 1 << 22, "Memcpy DtoH (Device -> Pinned)"),
    ]
    change = changes(tmp_path / "trace", events)[Change.OVERLAP_COPIES]
    assert change.saved_ns == pytest.approx(300_000, rel=0.01)  # a copy's latency is left
    assert change.speedup == pytest.approx(2.0, rel=0.01)


def test_what_overlaps_already_saves_nothing(tmp_path: Path) -> None:
    events = [
        traces.copy(0, 100, 1 << 22, "Memcpy HtoD (Pinned -> Device)"),
        traces.kernel(0, 300),
    ]
    assert Change.OVERLAP_COPIES not in changes(tmp_path / "trace", events)


def test_short_gaps_are_launches_and_long_ones_the_hosts(tmp_path: Path) -> None:
    events = [traces.kernel(40 * i, 10) for i in range(20)] + [traces.kernel(1770, 10)]
    launches = [traces.call(i, 1) for i in range(21)]
    found = changes(tmp_path / "trace", events + launches)
    assert found[Change.LAUNCH_GRAPHS].saved_ns == 19 * 30_000
    assert found[Change.SHORTEN_HOST_WORK].saved_ns == 1_000_000
    graph = changes(
        tmp_path / "graph", [*events, traces.call(0, 1, "cudaGraphLaunch", correlation=9)]
    )
    assert Change.LAUNCH_GRAPHS not in graph
    assert Change.FUSE_KERNELS in graph


STEPS = st.lists(
    st.tuples(st.integers(1, 2 * PROMPT_NS), st.integers(1, 5000)), min_size=1, max_size=30
)
CALLS = st.dictionaries(
    st.sampled_from(
        ["cudaMalloc", "cudaFree", "cudaMemcpy", "cudaDeviceSynchronize", "cudaLaunchKernel"]
    ),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**5)), max_size=20),
)


@given(STEPS, CALLS)
def test_causes_share_out_all_idle_time(
    steps: list[tuple[int, int]], calls: dict[str, list[tuple[int, int]]]
) -> None:
    log, at, gaps = IntervalLog(), 0, []
    for pause, work in steps:
        gaps.append(pause)
        log.add(at + pause, at + pause + work)
        at += pause + work
    recording = Recording(recorder=Recorder.PYTORCH)
    for name, times in calls.items():
        for start, length in times:
            recording.call(name).add(start, start + length)
    idle = idleness(Cover([log]), recording)
    assert (idle.start_ns, idle.end_ns) == (gaps[0], at)
    assert idle.total_ns(*GapCause) == idle.total_ns() == sum(gaps[1:])
    assert min((total.total_ns for total in idle.totals), default=0) >= 0
    assert sum(total.gaps for total in idle.totals) == len(gaps) - 1 == len(idle.longest)
    for cause in GapCause:
        counts = [total.gaps for total in idle.totals if total.cause is cause]
        assert sum(gap.cause is cause for gap in idle.longest) == sum(counts)
    assert 0 <= idle.saved_without_waits_ns <= idle.total_ns()


def test_copies_to_pageable_memory_may_be_slower_in_another_run(tmp_path: Path) -> None:
    name = "Memcpy DtoH (Device -> Pageable)"
    for kernel, bound in ((600, 5.0), (100, None)):  # no more than all of their time
        events = [traces.copy(0, 2400, 16 << 20, name), traces.kernel(2400, kernel)]
        change = changes(tmp_path / "trace", events)[Change.PIN_MEMORY]
        span = 2.4e6 + kernel * 1000
        slower = (PAGEABLE_D2H_SPREAD - 1) * 2.4e6
        assert change.speedup == pytest.approx(
            bound or (span + slower) / (span - change.saved_ns), rel=1e-5
        )
        assert "1.72x" in change.how


@pytest.mark.parametrize(("first", "saved"), [(90, 190_000), (300, 100_000)])
def test_one_long_allocation_is_the_start_of_cuda(first: int, saved: int, tmp_path: Path) -> None:
    events = [traces.kernel(0, 10)]
    at = 10
    for length in (first, 50, 50):
        events += [traces.call(at, length, "cudaMalloc"), traces.kernel(at + length, 10)]
        at += length + 10
    events += [traces.call(at, 1, "cudaMalloc")]
    change = changes(tmp_path / "trace", events)[Change.REUSE_MEMORY]
    assert change.saved_ns == saved


def test_kernels_that_communicate_are_not_judged_by_their_shape(tmp_path: Path) -> None:
    for name, judged in (("add", True), ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", False)):
        path = tmp_path / name
        path.write_text(traces.kineto([traces.kernel(0, 5000, name, grid=[4, 1, 1])]))
        (recording,) = read_recordings(str(path))
        (line,) = timelines_of(recording)
        assert [facts.kernel for facts in facts_of_timeline(line)] == [None, name][: 1 + judged]


def facts_of(path: Path, events: list[dict[str, Any]]) -> list[Facts]:
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    return list(facts_of_timeline(line))


@pytest.mark.parametrize(
    ("name", "freed", "allocating"),
    [
        ("cudaFree", 90, 300_000),  # all of the gap, as the queue was empty
        ("cudaFree", 101, 20_000),  # the call alone
        ("cudaFreeAsync", 90, 10_000),
        ("cudaMalloc", 90, 10_000),
    ],
)
def test_what_follows_a_free_that_emptied_the_queue_is_its_doing(
    name: str, freed: float, allocating: int, tmp_path: Path
) -> None:
    calls = [traces.call(freed, 20, name), traces.call(399, 1)]
    path = tmp_path / "trace"
    kernels = [traces.kernel(0, 100), traces.kernel(400, 100)]
    path.write_text(traces.kineto([*kernels, *calls]))
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    assert {idle.cause: idle.total_ns for idle in line.idle}.get(
        GapCause.ALLOCATION, 0
    ) == allocating


def test_launches_after_frees_count_in_the_bound_of_reuse(tmp_path: Path) -> None:
    events = [traces.kernel(at, 10) for at in (0, 110, 210, 250)]
    events += [traces.call(at, 80, "cudaMalloc") for at in (20, 125)]
    frees = [traces.call(255, 1, "cudaFree"), traces.call(257, 1, "cudaFree")]
    once, twice = (
        facts_of(tmp_path / "trace", [*events, *frees[:count]])[0].timeline for count in (1, 2)
    )
    assert once is not None
    assert twice is not None
    assert once.lost_to_allocations == pytest.approx(160e-6)  # the calls
    assert twice.lost_to_allocations == pytest.approx(220e-6)  # and the launches


def test_host_work_after_a_wait_counts_as_lost_to_it(tmp_path: Path) -> None:
    events = [traces.kernel(0, 100), traces.kernel(400, 100)]
    for start, lost in ((50, 300e-6), (150, 0.0)):
        wait = traces.call(start, 60, "cudaStreamSynchronize")
        run = facts_of(tmp_path / "trace", [*events, wait])[0].timeline
        assert run is not None
        assert run.wait_idle_seconds == pytest.approx(lost)


def test_waits_of_pageable_copies_are_the_copies(tmp_path: Path) -> None:
    copied = [traces.copy(100 * at, 5, 32 << 10) for at in range(25)]
    waited = [traces.call(100 * at, 6, "cudaStreamSynchronize") for at in range(25)]
    facts = facts_of(tmp_path / "trace", [*copied, *waited, traces.kernel(2500, 10)])
    assert facts[0].timeline is not None
    assert facts[0].timeline.waits == 0
    waited += [traces.call(2510 + at, 1, "cudaStreamSynchronize") for at in range(20)]
    facts = facts_of(tmp_path / "trace", [*copied, *waited, traces.kernel(2500, 10)])
    assert facts[0].timeline is not None
    assert facts[0].timeline.waits == 20


def test_pinned_copies_that_share_the_link_have_no_time_of_their_own(tmp_path: Path) -> None:
    name = "Memcpy HtoD (Pinned -> Device)"
    for start, timed in ((500, True), (300, False)):
        events = [traces.copy(0, 500, 8 << 20, name, stream=1), traces.kernel(2000, 500)]
        events += [traces.copy(start, 500, 8 << 20, name, stream=2)]
        (copies,) = facts_of(tmp_path / "trace", events)[0].transfers or ()
        assert (copies.seconds is not None) == timed


@pytest.mark.parametrize(("threads", "judged"), [(32, True), (64, False)])
def test_a_single_warp_has_no_tiles_of_matrices(threads: int, judged: bool, tmp_path: Path) -> None:
    shape: dict[str, Any] = {"registers per thread": 255, "block": [threads, 1, 1]}
    facts = facts_of(tmp_path / "trace", [traces.kernel(0, 5000, "norm", **shape)])
    assert len(facts) == 1 + judged


@pytest.mark.parametrize(
    ("name", "blocks", "judged"),
    [
        ("void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1>(P)", 132, False),
        ("void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1>(P)", 131, True),
        ("mine", 132, True),
    ],
)
def test_products_of_libraries_are_judged_by_their_blocks_alone(
    name: str, blocks: int, judged: bool, tmp_path: Path
) -> None:
    shape: dict[str, Any] = {"grid": [blocks, 1, 1], "block": [128, 1, 1], "shared memory": 50_000}
    facts = facts_of(tmp_path / "trace", [traces.kernel(0, 5000, name, **shape)])
    assert len(facts) == 1 + judged


def test_streams_whose_kernels_never_meet_are_not_concurrent(tmp_path: Path) -> None:
    for start, concurrent in ((1000, False), (500, True)):
        events = [traces.kernel(0, 1000, stream=1), traces.kernel(start, 1000, stream=2)]
        assert facts_of(tmp_path / "trace", events)[1].concurrent is concurrent


def test_passes_over_memory_count_where_they_are_a_chain(tmp_path: Path) -> None:
    name = "void at::native::vectorized_elementwise_kernel<4, at::native::{}<float>>(int)"
    for kinds, counted in ((3, 0.0), (4, 4e-3)):
        events = [
            traces.kernel(1000 * at, 1000, name.format(f"Functor{at % kinds}")) for at in range(4)
        ]
        short = traces.kernel(4000, 9, name.format("Short"))
        run = facts_of(tmp_path / "trace", [*events, short])[0].timeline
        assert run is not None
        assert run.elementwise_seconds == pytest.approx(counted)


@pytest.mark.parametrize(("kinds", "products", "counted"), [(3, 0, 0.0), (3, 1, 3e-3), (2, 1, 0.0)])
def test_passes_between_products_are_a_chain_sooner(
    tmp_path: Path, kinds: int, products: int, counted: float
) -> None:
    names = (
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE",
        "void at::native::vectorized_elementwise_kernel<4, at::native::launch_clamp_scalar>(int)",
        "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float, float)",
    )
    events = [traces.kernel(1000 * at, 1000, name) for at, name in enumerate(names[:kinds])]
    events += [traces.kernel(3000, 1000, "ampere_sgemm_128x64_tn")] * products
    run = facts_of(tmp_path / "trace", events)[0].timeline
    assert run is not None
    assert run.elementwise_seconds == pytest.approx(counted)


def test_conversions_of_layout_are_known_by_name(tmp_path: Path) -> None:
    names = ("void cudnn::ops::nchwToNhwcKernel<float>(int)", "nhwcToNchwKernel", "nchw_norm")
    events = [traces.kernel(1000 * at, 1000, name) for at, name in enumerate(names)]
    run = facts_of(tmp_path / "trace", events)[0].timeline
    assert run is not None
    assert run.layout_seconds == pytest.approx(2e-3)


def test_operators_that_another_call_makes_cheaper_are_known_by_name(tmp_path: Path) -> None:
    names = (
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 64, 64>(float*)",
        "void at::native::radixSortKVInPlace<2, -1, 32, 4, float, long, unsigned int>(float*)",
        "void at::native::(anonymous namespace)::compute_grad_weight<float, long>(long*)",
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<int>(int)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<double>>(int)",
    )
    events = [traces.kernel(10_000 * at, 1000 * (at + 1), name) for at, name in enumerate(names)]
    run = facts_of(tmp_path / "trace", events)[0].timeline
    assert run is not None
    assert (
        run.concatenation_seconds,
        run.sort_seconds,
        run.embedding_gradient_seconds,
        run.many_tensors_seconds,
        run.fill_seconds,
        run.double_passes_seconds,
    ) == pytest.approx((1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3))
    assert (run.lone_updates, run.lone_updates_seconds) == (0, 0.0)


def round_trips(count: int, back_bytes: int = 4 << 20) -> list[dict[str, Any]]:
    events = []
    for at in range(count):
        start = 1000 * at
        events.append(traces.copy(start, 300, 4 << 20, "Memcpy HtoD (Pinned -> Device)"))
        events.append(traces.kernel(start + 300, 400))
        events.append(traces.copy(start + 700, 290, back_bytes, "Memcpy DtoH (Device -> Pinned)"))
    return events


def test_data_that_travel_both_ways_again_and_again_could_stay(tmp_path: Path) -> None:
    change = on_no_known_gpu(tmp_path / "trace", round_trips(6))[Change.KEEP_ON_GPU]
    assert change.saved_ns == 6 * 590_000
    few = on_no_known_gpu(tmp_path / "few", round_trips(3))
    results = on_no_known_gpu(tmp_path / "results", round_trips(6, 64 << 10))
    for found in (few, results):  # inputs that are needed
        assert Change.KEEP_ON_GPU not in found
        assert Change.AVOID_COPIES in found


def test_of_copies_one_row_says_what_to_do(tmp_path: Path) -> None:
    found = changes(tmp_path / "trace", round_trips(6))
    assert Change.OVERLAP_COPIES in found
    assert not found.keys() & {Change.KEEP_ON_GPU, Change.AVOID_COPIES}


def test_of_copies_alone_nobody_can_tell_whether_they_are_needed(tmp_path: Path) -> None:
    copies = [event for event in round_trips(6) if event.get("cat") != "kernel"]
    assert not on_no_known_gpu(tmp_path / "trace", copies)


@pytest.mark.parametrize("between", [200, 2000])
def test_a_frameworks_own_work_between_launches_is_for_a_compiler(
    tmp_path: Path, between: int
) -> None:
    found = changes(
        tmp_path / "trace", [traces.kernel((400 + between) * at, 400) for at in range(10)]
    )
    long = between > 500
    assert (Change.SHORTEN_HOST_WORK in found, Change.FUSE_KERNELS in found) == (long, not long)


@pytest.mark.parametrize(("faults", "saved_ms"), [(4, 0.4), (4000, 100)])
def test_page_faults_explain_no_more_than_they_can_cost(
    tmp_path: Path, faults: int, saved_ms: float
) -> None:
    path = tmp_path / "trace"
    name = "Memcpy HtoD (Managed -> Device)"
    each = 4000 / faults
    moves = [traces.copy(20 * each * at, each, 4096, name) for at in range(faults)]
    path.write_text(traces.kineto([traces.kernel(0, 100_000), *moves]))
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    assert sum(copies.calls for copies in line.copies if copies.managed) == faults
    saved = traced_run(line, MODEL).migration_seconds
    beyond = 0.1 - 4096 * faults / MODEL.h2d_rate
    assert saved == pytest.approx(min(beyond, faults * 100e-6), rel=1e-6)
    assert saved == pytest.approx(saved_ms * 1e-3, rel=0.2)


def test_work_that_was_queued_and_does_not_begin_is_no_wait(tmp_path: Path) -> None:
    events = [traces.kernel(1000 * i, 500) for i in range(30)]
    # Each wait begins in a gap and goes on behind it.
    waits = [traces.call(1000 * i + 510, 900, "cudaStreamSynchronize") for i in range(29)]
    launches = [traces.call(1000 * i - 5, 1) for i in range(30)]
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto(events + waits + launches))
    (line,) = timelines_of(next(iter(read_recordings(str(path)))))
    largest = line.idle[0]
    assert (largest.cause, largest.total_ns) == (GapCause.QUEUED, 29 * 490_000)
    assert Change.WAIT_LESS not in changes(path, events + waits + launches)


def test_copies_beside_no_kernel_are_a_change(tmp_path: Path) -> None:
    inside = [
        traces.copy(1000 * i + 600, 300, 1 << 20, name="Memcpy DtoD (Device -> Device)")
        for i in range(30)
    ]
    found = changes(tmp_path / "trace", inside + [traces.kernel(1000 * i, 600) for i in range(30)])
    assert found[Change.AVOID_COPIES].saved_ns == 30 * 300_000


@pytest.mark.parametrize(("second", "counted_ms"), [("save", 3.5), ("load", 0.0)])
def test_copies_between_gaps_of_one_work_of_the_host_go_with_it(
    second: str, counted_ms: float, tmp_path: Path
) -> None:
    events = []
    for step in range(4):
        begin = 10_000 * step
        events += [
            traces.call(begin - 5 if step else 0, 4),
            traces.kernel(begin, 1000),
            *(
                traces.copy(begin + at, 500, 1 << 20, "Memcpy DtoH (Device -> Pinned)")
                for at in (3000, 6000)
            ),
            # Of other works in turn the copies are not known to be part.
            traces.event("user_annotation", "save", begin + 1000, 2200, {}),
            traces.event("user_annotation", second, begin + 3300, 2800, {}),
            traces.event("user_annotation", "save", begin + 6300, 3600, {}),
        ]
    run = facts_of(tmp_path / "trace", events)[0].timeline
    assert run is not None
    assert run.host_copy_seconds == pytest.approx(counted_ms / 1e3)
    assert run.host_bound
    (row,) = (
        one
        for one in changes(tmp_path / "again", events).values()
        if one.change is Change.SHORTEN_HOST_WORK
    )
    assert row.saved_ns == pytest.approx(run.lost_to_host_work * 1e9)
    assert run.lost_to_host_work >= run.host_idle_seconds + run.host_copy_seconds
