from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.bandwidth import (
    Band,
    attainable_with_ecc,
    band,
    derived_bandwidth,
    effective_bandwidth,
    is_gddr,
    theoretical_bandwidth,
)


def test_the_guides_m2090() -> None:
    rate = theoretical_bandwidth(1.85e9, 384, 2)
    assert rate == pytest.approx(177.6e9)
    assert rate / 2**30 == pytest.approx(165.4, abs=0.01)


def test_the_newer_guides_v100() -> None:
    assert theoretical_bandwidth(877e6, 4096, 2) == pytest.approx(898e9, rel=1e-3)


def test_the_h200_as_its_driver_reports_it(make_device) -> None:
    device = make_device(memory_clock_hz=3.201e9, memory_bus_bits=6016, memory_data_rate=2)
    assert derived_bandwidth(device) == pytest.approx(4814e9, rel=1e-3)


@pytest.mark.parametrize("lost", ["memory_clock_hz", "memory_bus_bits", "memory_data_rate"])
def test_no_bandwidth_from_an_unknown_factor(make_device, lost: str) -> None:
    known = {"memory_clock_hz": 1e9, "memory_bus_bits": 256, "memory_data_rate": 2}
    assert derived_bandwidth(make_device(**{**known, lost: None})) is None


def test_the_guides_matrix_copy() -> None:
    matrix = 2048 * 2048 * 4
    assert effective_bandwidth(matrix, matrix, 0.001) == pytest.approx(33.554432e9)


@pytest.mark.parametrize(
    ("read", "write", "time"), [(0, 0, 1.0), (-1, 2, 1.0), (1, 0, 0.0), (1, 0, float("nan"))]
)
def test_no_effective_bandwidth_without_bytes_and_time(read: int, write: int, time: float) -> None:
    with pytest.raises(BadInput):
        effective_bandwidth(read, write, time)


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (0.39, Band.BAD),
        (0.4, Band.POOR),
        (0.6, Band.FAIR),
        (0.8, Band.GOOD),
        (1.0, Band.GOOD),
        (1.01, Band.IMPOSSIBLE),
    ],
)
def test_bands(ratio: float, expected: Band) -> None:
    assert band(ratio, 1.0) is expected


@given(st.floats(1, 1e13), st.floats(1, 1e13))
def test_a_higher_rate_is_never_a_worse_band(low: float, high: float) -> None:
    order = [Band.BAD, Band.POOR, Band.FAIR, Band.GOOD, Band.IMPOSSIBLE]
    low, high = sorted((low, high))
    assert order.index(band(low, 1e12)) <= order.index(band(high, 1e12))


def test_ecc_costs_gddr_only(make_device) -> None:
    assert attainable_with_ecc(make_device(memory_type="GDDR5", ecc=True), 100.0) == 80.0
    assert attainable_with_ecc(make_device(memory_type="GDDR5", ecc=False), 100.0) == 100.0
    assert attainable_with_ecc(make_device(memory_type="HBM3e", ecc=True), 100.0) == 100.0
    assert is_gddr(make_device(memory_type=None)) is None
