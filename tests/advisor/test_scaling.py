from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.scaling import (
    amdahl,
    amdahl_limit,
    gustafson,
    needed_parallel,
    needed_processors,
)


def test_the_guides_three_quarters() -> None:
    assert amdahl_limit(0.75) == 4
    assert amdahl(0.75, 1e9) == pytest.approx(4)
    assert amdahl(0.75, 1e9) < 4


def test_gustafson_of_the_guide() -> None:
    assert gustafson(0.75, 100) == pytest.approx(100 + 0.25 * -99)
    assert gustafson(1, 100) == 100
    assert gustafson(0, 100) == 1


def test_all_or_nothing() -> None:
    assert amdahl_limit(1) == inf
    assert amdahl(1, 8) == 8
    assert amdahl(0, 8) == 1


def test_what_a_target_needs() -> None:
    assert needed_parallel(4, 1000) == pytest.approx(0.75, abs=1e-3)
    assert needed_parallel(10, 8) is None
    assert needed_parallel(1, 8) == 0
    assert needed_processors(2, 0.75) == 3
    assert needed_processors(4, 0.75) is None
    assert needed_processors(5, 0.75) is None
    assert needed_processors(1, 0.5) == 1
    assert needed_processors(8, 1) == 8


@pytest.mark.parametrize(
    ("parallel", "processors"),
    [(-0.1, 2), (1.1, 2), (float("nan"), 2), (0.5, 0), (0.5, inf), (0.5, float("nan"))],
)
def test_out_of_range(parallel: float, processors: float) -> None:
    with pytest.raises(BadInput):
        amdahl(parallel, processors)


@given(st.floats(0, 1), st.floats(1, 1e6))
def test_bounds(parallel: float, processors: float) -> None:
    bound = amdahl(parallel, processors)
    assert bound * (1 + 1e-12) >= 1
    assert bound <= min(processors, amdahl_limit(parallel)) * (1 + 1e-9)
    assert bound <= gustafson(parallel, processors) * (1 + 1e-9)


@given(st.floats(1.01, 1e3), st.integers(2, 10**6))
def test_the_needed_fraction_reaches_the_target(target: float, processors: int) -> None:
    parallel = needed_parallel(target, processors)
    if parallel is not None:
        assert amdahl(parallel, processors) == pytest.approx(target, rel=1e-6)


@given(st.floats(1.01, 100), st.floats(0.01, 0.999))
def test_the_needed_processors_reach_the_target(target: float, parallel: float) -> None:
    processors = needed_processors(target, parallel)
    if processors is None:
        assert target >= amdahl_limit(parallel) * (1 - 1e-9)
    elif processors < 10**6:
        assert amdahl(parallel, processors) >= target * (1 - 1e-6)
        assert processors == 1 or amdahl(parallel, processors - 1) < target * (1 + 1e-6)
