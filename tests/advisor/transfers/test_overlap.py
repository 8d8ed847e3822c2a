from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.catalogue import by_capability
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.transfers.links import (
    LinkModel,
    default_link_model,
    link_model_from_json,
)
from gpuadvise.advisor.transfers.overlap import (
    guide_estimate,
    overlap,
    sequential_seconds,
    stage,
)
from gpuadvise.advisor.transfers.pipeline import (
    Engine,
    StagedWork,
    cut,
    issue,
    run_by_events,
    run_in_order,
    shares,
)

IDEAL = LinkModel(h2d_rate=1e9, d2h_rate=1e9, pageable_h2d_rate=1e9, pageable_d2h_rate=1e9)

seconds = st.floats(1e-6, 10)
counts = st.integers(1, 48)


@given(seconds, seconds, counts)
def test_the_guides_formulas_exactly(transfer: float, kernel: float, streams: int) -> None:
    work = StagedWork(kernel_seconds=kernel, h2d_seconds=transfer)
    expected = kernel + transfer / streams if kernel > transfer else transfer + kernel / streams
    assert guide_estimate(transfer, kernel, streams) == pytest.approx(expected, rel=1e-12)
    assert stage(work, IDEAL, streams).seconds == pytest.approx(expected, rel=1e-12)


@given(seconds, seconds, counts)
def test_copying_back_alone_is_the_mirror_image(
    transfer: float, kernel: float, streams: int
) -> None:
    work = StagedWork(kernel_seconds=kernel, d2h_seconds=transfer)
    expected = guide_estimate(transfer, kernel, streams)
    assert stage(work, IDEAL, streams).seconds == pytest.approx(expected, rel=1e-12)


@given(
    st.sampled_from(["in", "out", "both"]),
    seconds,
    seconds,
    counts,
    st.integers(1, 8),
    st.sampled_from([0.0, 4e-6, 1e-3]),
)
def test_the_order_of_issue_and_the_events_tell_the_same_times(
    copies: str, copy: float, kernel: float, pieces: int, streams: int, cost: float
) -> None:
    work = StagedWork(
        kernel_seconds=kernel,
        h2d_seconds=0.0 if copies == "out" else copy,
        d2h_seconds=0.0 if copies == "in" else copy,
    )
    model = replace(
        IDEAL, copy_latency=cost, kernel_latency=2 * cost, copy_cost=cost, launch_cost=cost
    )
    staged = cut(work, model, shares(pieces))
    by_order, by_events = (issue(staged, streams, model) for _ in range(2))
    run_in_order(by_order, model.engines)
    run_by_events(by_events, model)
    for first, second in zip(by_order, by_events, strict=True):
        assert first.start == pytest.approx(second.start, rel=1e-9, abs=1e-12)
        assert first.end == pytest.approx(second.end, rel=1e-9, abs=1e-12)


def test_three_equal_stages() -> None:
    work = StagedWork(kernel_seconds=1.0, h2d_seconds=1.0, d2h_seconds=1.0)
    assert sequential_seconds(work, IDEAL) == 3.0
    assert stage(work, IDEAL, 4).seconds == pytest.approx(1.5)  # (4 + 2) quarters


def test_both_directions_slow_each_other_down() -> None:
    work = StagedWork(kernel_seconds=1e-9, h2d_seconds=1.0, d2h_seconds=1.0)
    model = replace(IDEAL, duplex_slowdown=1.17)
    # the first copy in and the last copy out are alone, the other 15 pairs share the link
    assert stage(work, model, 16).seconds == pytest.approx((2 + 15 * 1.17) / 16, rel=1e-6)


def test_a_h200_copies_both_ways_in_5_7_ms(make_device) -> None:
    model = default_link_model(make_device(pcie_generation=5, async_engines=3))
    size = 256 * 2**20
    work = StagedWork(kernel_seconds=4e-6, h2d_bytes=size, d2h_bytes=size)
    assert stage(work, model, 32).seconds == pytest.approx(5.7e-3, rel=0.06)


def test_one_engine_copies_one_way_at_a_time() -> None:
    work = StagedWork(kernel_seconds=1e-3, h2d_seconds=1.0, d2h_seconds=1.0)
    one = stage(work, replace(IDEAL, engines=1), 8).seconds
    two = stage(work, IDEAL, 8).seconds
    assert one == pytest.approx(2.0, rel=1e-3)
    assert two == pytest.approx(1.125, rel=1e-3)


@given(seconds, seconds, seconds, counts)
def test_nothing_overlaps_without_engines_or_with_pageable_memory(
    h2d: float, kernel: float, d2h: float, streams: int
) -> None:
    work = StagedWork(kernel_seconds=kernel, h2d_seconds=h2d, d2h_seconds=d2h)
    total = h2d + kernel + d2h
    assert stage(work, replace(IDEAL, engines=0), streams).seconds == pytest.approx(total)
    assert stage(replace(work, pageable=True), IDEAL, streams).seconds == pytest.approx(total)


def test_pageable_copies_go_at_their_own_rate() -> None:
    model = replace(IDEAL, pageable_h2d_rate=1e8, pageable_d2h_rate=1e7)
    work = StagedWork(kernel_seconds=1.0, h2d_bytes=10**8, d2h_bytes=10**7, pageable=True)
    assert sequential_seconds(work, model) == pytest.approx(3.0)
    found = overlap(work, model)
    assert (found.best.streams, found.speedup, found.worthwhile) == (1, pytest.approx(1.0), False)


def test_a_cost_per_operation_makes_the_best_count_finite() -> None:
    work = StagedWork(kernel_seconds=1e-4, h2d_seconds=1e-4)
    free = overlap(work, IDEAL, most_streams=32)
    costly = overlap(work, replace(IDEAL, copy_cost=5e-6, launch_cost=5e-6), most_streams=32)
    assert free.best.pieces >= 24
    assert costly.best.pieces in (9, 10)  # then a piece lasts as long as issuing it
    assert costly.best.seconds > free.best.seconds


def test_small_data_want_few_streams(make_device) -> None:
    """4 MiB was best at 2 to 4 streams on a H200."""
    model = default_link_model(make_device(pcie_generation=5, async_engines=3))
    found = overlap(StagedWork(kernel_seconds=75e-6, h2d_bytes=4 * 2**20), model)
    assert 2 <= found.best.pieces <= 6


def test_the_last_piece_may_be_smaller() -> None:
    assert shares(3, 10) == [0.4, 0.4, 0.2]
    assert shares(4, 10, granularity=4) == [0.4, 0.4, 0.2]
    assert shares(3) == [1 / 3] * 3
    staging = stage(StagedWork(kernel_seconds=1.0, h2d_bytes=10), IDEAL, 4, granularity=4)
    assert (staging.pieces, staging.chunk_bytes) == (3, 4)


@given(st.integers(1, 200), st.integers(1, 10**9), st.sampled_from([1, 4, 256, 4096]))
def test_pieces_add_up(pieces: int, total: int, granularity: int) -> None:
    parts = shares(pieces, total, granularity)
    assert sum(parts) == pytest.approx(1)
    assert len(parts) <= pieces
    assert all(part == parts[0] for part in parts[:-1])
    assert 0 < parts[-1] <= parts[0]


def test_more_pieces_than_streams_wait_for_their_stream() -> None:
    work = StagedWork(kernel_seconds=1.0, h2d_seconds=1.0)
    assert stage(work, IDEAL, 1, pieces=8).seconds == pytest.approx(2.0)
    assert stage(work, IDEAL, 2, pieces=8).seconds == pytest.approx(1.125)


latencies = st.floats(0, 1e-3)


@given(seconds, seconds, seconds, counts, st.integers(0, 3), latencies, st.floats(1, 2))
def test_no_rule_of_the_machine_is_broken(
    h2d: float, kernel: float, d2h: float, streams: int, engines: int, cost: float, slow: float
) -> None:
    model = replace(
        IDEAL,
        engines=engines,
        copy_cost=cost,
        launch_cost=cost,
        copy_latency=cost / 2,
        kernel_latency=cost / 4,
        duplex_slowdown=slow,
    )
    work = StagedWork(kernel_seconds=kernel, h2d_seconds=h2d, d2h_seconds=d2h)
    spans = stage(work, model, streams).spans
    assert len(spans) == 3 * streams
    for engine in Engine:
        own = [span for span in spans if span.engine is engine]
        # The last blocks of a kernel finish while the next one runs.
        drain = model.kernel_latency * (1 + 1e-9) if engine is Engine.KERNEL and engines else 0.0
        assert all(first.end <= second.start + drain for first, second in pairwise(own))
    for piece in range(streams):
        own = [span for span in spans if span.piece == piece]
        assert [span.engine for span in own] == list(Engine)
        assert all(first.end <= second.start for first, second in pairwise(own))
    issues = sorted((span.piece, list(Engine).index(span.engine), span.start) for span in spans)
    assert all(start >= cost * (n + 1) * (1 - 1e-9) for n, (_, _, start) in enumerate(issues))


@given(seconds, seconds, seconds, counts)
def test_staging_is_between_its_bounds(h2d: float, kernel: float, d2h: float, streams: int) -> None:
    work = StagedWork(kernel_seconds=kernel, h2d_seconds=h2d, d2h_seconds=d2h)
    time = stage(work, IDEAL, streams).seconds
    assert max(h2d, kernel, d2h) * (1 - 1e-9) <= time <= (h2d + kernel + d2h) * (1 + 1e-9)


def test_the_answer_says_what_limits() -> None:
    found = overlap(StagedWork(kernel_seconds=2.0, h2d_seconds=1.0), IDEAL, streams=4)
    assert (found.limiter, found.floor) == (Engine.KERNEL, 2.0)
    assert found.guide == pytest.approx(2.25)
    assert found.requested is not None
    assert found.requested.seconds == pytest.approx(2.25)
    assert found.sequential == 3.0
    assert found.worthwhile
    assert found.speedup == pytest.approx(3.0 / found.best.seconds)


def test_a_kernel_ends_while_the_next_one_runs() -> None:
    model = replace(IDEAL, kernel_latency=0.1)
    work = StagedWork(kernel_seconds=4.1, h2d_seconds=0.4)
    # The first chunk comes in 0.1, four quarters of 4.0 follow, and the last one drains.
    assert stage(work, model, 4).seconds == pytest.approx(0.1 + 4.0 + 0.1)
    # Without a copy engine a device does one thing after the other.
    assert stage(work, replace(model, engines=0), 4).seconds == pytest.approx(0.4 + 4.0 + 4 * 0.1)


@given(
    seconds,
    st.floats(0, 10),
    st.floats(0, 10),
    st.integers(0, 3),
    latencies,
    st.floats(1, 2),
    st.booleans(),
)
def test_the_best_never_loses_to_doing_one_thing_after_the_other(
    kernel: float, h2d: float, d2h: float, engines: int, cost: float, slow: float, pageable: bool
) -> None:
    model = replace(
        IDEAL, engines=engines, copy_cost=cost, launch_cost=cost, copy_latency=cost,
        kernel_latency=cost, duplex_slowdown=slow,
    )  # fmt: skip
    assume(h2d or d2h)
    work = StagedWork(kernel_seconds=kernel, h2d_seconds=h2d, d2h_seconds=d2h, pageable=pageable)
    found = overlap(work, model, most_streams=8)
    assert found.best.seconds <= found.sequential
    assert found.tried[0].seconds == found.sequential
    # Fewer streams for the same pieces take longer.
    fewer = [stage(work, model, n, pieces=found.best.pieces) for n in range(1, found.best.streams)]
    assert all(staging.seconds > found.best.seconds for staging in fewer)
    assert found.best.seconds <= stage(work, model, found.best.pieces).seconds * 1.005
    assert found.knee.pieces <= found.best.pieces


def test_two_streams_take_all_pieces_in_turn(make_device) -> None:
    model = default_link_model(make_device(pcie_generation=5, async_engines=3))
    one_way = overlap(StagedWork(kernel_seconds=5e-3, h2d_seconds=3e-3), model)
    assert (one_way.best.pieces, one_way.best.streams) == (21, 2)
    assert (one_way.knee.pieces, one_way.knee.streams) == (4, 2)
    both = overlap(StagedWork(kernel_seconds=5e-3, h2d_seconds=3e-3, d2h_seconds=3e-3), model)
    assert (both.best.pieces, both.best.streams) == (26, 3)


def test_tiny_work_is_not_cut() -> None:
    model = replace(IDEAL, copy_cost=4e-6, launch_cost=4e-6)
    found = overlap(StagedWork(kernel_seconds=5e-6, h2d_seconds=3e-6), model)
    assert (found.best.pieces, found.speedup, found.worthwhile) == (1, 1.0, False)


def test_three_stages_have_no_formula_in_the_guide() -> None:
    work = StagedWork(kernel_seconds=2.0, h2d_seconds=1.0, d2h_seconds=1.0)
    assert overlap(work, IDEAL).guide is None


@pytest.mark.parametrize(
    "work",
    [
        StagedWork(kernel_seconds=0.0, h2d_seconds=1.0),
        StagedWork(kernel_seconds=1.0),
    ],
)
def test_nothing_to_overlap(work: StagedWork) -> None:
    with pytest.raises(BadInput):
        overlap(work, IDEAL)


@pytest.mark.parametrize("streams", [0, 5000])
def test_what_is_no_stream_count(streams: int) -> None:
    with pytest.raises(BadInput):
        stage(StagedWork(kernel_seconds=1.0, h2d_seconds=1.0), IDEAL, streams)
    with pytest.raises(BadInput):
        shares(streams)


@pytest.mark.parametrize(
    ("cc", "engines", "source"),
    [("1.0", 0, "derived"), ("1.3", 1, "derived"), ("2.0", 2, "assumed"), ("9.0", 2, "assumed")],
)
def test_engines_of_a_capability_alone(cc: str, engines: int, source: str) -> None:
    model = default_link_model(by_capability(parse_capability(cc)))
    assert (model.engines, model.engines_source.partition(":")[0]) == (engines, source)
    assert link_model_from_json(model.to_json()) == model
