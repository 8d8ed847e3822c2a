from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.roofline import Bound, ridge_point, roofline

PEAK, BANDWIDTH = 80e12, 8e12  # the documents' example of a Blackwell part


def test_the_documents_ridge_and_vector_add() -> None:
    assert ridge_point(PEAK, BANDWIDTH) == 10
    add = roofline(1, 12, PEAK, BANDWIDTH)
    assert add.intensity == pytest.approx(0.083, abs=5e-4)
    assert add.bound is Bound.MEMORY
    assert add.attainable == pytest.approx(8e12 / 12)


def test_at_and_right_of_the_ridge() -> None:
    assert roofline(10, 1, PEAK, BANDWIDTH).bound is Bound.COMPUTE
    right = roofline(100, 1, PEAK, BANDWIDTH)
    assert (right.bound, right.attainable) == (Bound.COMPUTE, PEAK)


def test_with_a_time() -> None:
    half = roofline(1e12, 12e12, PEAK, BANDWIDTH, seconds=3.0)
    assert half.least_seconds == pytest.approx(1.5)
    assert half.share == pytest.approx(0.5)
    assert not half.far
    assert roofline(1e12, 12e12, PEAK, BANDWIDTH, seconds=3.1).far
    assert not roofline(1, 1, 1, 1).far


@pytest.mark.parametrize(
    "values", [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, -1), (1, 1, 1, 1, 0.0)]
)
def test_what_is_no_roofline(values: tuple[float, ...]) -> None:
    with pytest.raises(BadInput):
        roofline(*values)


positive = st.floats(1e-3, 1e15)


@given(positive, positive, positive, positive)
def test_never_above_either_roof(flops: float, moved: float, peak: float, rate: float) -> None:
    found = roofline(flops, moved, peak, rate)
    assert found.attainable <= peak
    assert found.attainable <= found.intensity * rate
    assert found.least_seconds == pytest.approx(max(flops / peak, moved / rate))
