"""What changes save of a recorded run: one arithmetic for `timeline` and for the rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.pass_savings import saved_by_fused_passes
from gpuadvise.advisor.facts.product_savings import (
    saved_by_one_layout,
    saved_by_single_precision,
    saved_by_tensor_cores,
)
from gpuadvise.advisor.facts.timeline import TracedRun

H100 = find("h100-sxm")


def test_communication_stays_where_autocast_leaves_gradients_in_fp32() -> None:
    alone = TracedRun(span_seconds=0.1, busy_seconds=0.1, single_precision_seconds=0.05)
    beside = TracedRun(
        span_seconds=0.1,
        busy_seconds=0.1,
        single_precision_seconds=0.05,
        communication_seconds=0.04,
        exposed_communication_seconds=0.04,
    )
    most, less = saved_by_tensor_cores(alone, H100), saved_by_tensor_cores(beside, H100)
    assert most is not None
    assert less is not None
    assert most - less == pytest.approx(0.02)


def test_what_products_hide_of_communication_is_not_won() -> None:
    run = TracedRun(
        span_seconds=0.1,
        busy_seconds=0.1,
        single_precision_seconds=0.09,
        communication_seconds=0.06,
        exposed_communication_seconds=0.01,
    )
    assert saved_by_tensor_cores(run, H100) == pytest.approx(0.04)


def test_numbers_of_half_the_bytes_are_sent_in_half_the_time() -> None:
    run = TracedRun(
        span_seconds=0.1,
        busy_seconds=0.1,
        double_precision_seconds=0.05,
        communication_seconds=0.05,
        exposed_communication_seconds=0.05,
    )
    saved = saved_by_single_precision(run, H100)
    assert saved is not None
    assert saved > 0.05 + 0.01


def test_passes_under_copies_that_fill_the_run_win_nothing_fused_and_half_with_half_the_bytes() -> (
    None
):
    run = TracedRun(
        span_seconds=0.1,
        busy_seconds=0.1,
        elementwise_seconds=0.05,
        layout_seconds=0.05,
        link_copy_seconds=0.099,
    )
    assert saved_by_fused_passes(run) == pytest.approx(0.001)
    assert saved_by_one_layout(run, None) == pytest.approx(0.0505)


@given(
    part=st.floats(0, 1),
    communication=st.floats(0, 1),
    exposed=st.floats(0, 1),
)
def test_no_change_of_kernels_goes_below_the_communication(
    part: float, communication: float, exposed: float
) -> None:
    run = TracedRun(
        span_seconds=1.0,
        busy_seconds=1.0,
        single_precision_seconds=part,
        layout_seconds=part,
        elementwise_seconds=part,
        communication_seconds=communication,
        exposed_communication_seconds=min(exposed, communication),
    )
    for saved in (
        saved_by_tensor_cores(run, H100),
        saved_by_one_layout(run, None),
        saved_by_fused_passes(run),
    ):
        assert saved is None or 0 <= saved <= 1 - communication + 1e-9
