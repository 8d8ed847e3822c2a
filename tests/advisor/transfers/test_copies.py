from __future__ import annotations

import pytest

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.transfers.copies import (
    Direction,
    copy_rate,
    copy_seconds,
    half_rate_bytes,
    latency_share,
)
from gpuadvise.advisor.transfers.links import LinkModel, default_link_model

MODEL = LinkModel(
    h2d_rate=10e9, d2h_rate=5e9, pageable_h2d_rate=2e9, pageable_d2h_rate=1e9, copy_latency=4e-6
)


def test_rates_by_direction_and_memory() -> None:
    assert [copy_rate(MODEL, way, pageable=p) for way in Direction for p in (False, True)] == [
        10e9, 2e9, 5e9, 1e9,
    ]  # fmt: skip


def test_a_copy_is_latency_and_bytes() -> None:
    assert copy_seconds(0, MODEL) == 4e-6
    assert copy_seconds(10_000_000, MODEL) == pytest.approx(1.004e-3)
    with pytest.raises(BadInput):
        copy_seconds(-1, MODEL)


def test_half_rate_is_where_latency_is_half() -> None:
    size = round(half_rate_bytes(MODEL))
    assert size == 40_000
    assert latency_share(size, MODEL) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("size", "low", "high"),
    [
        (2**30, 55.0, 56.0),
        (64 * 2**20, 54.7, 56.0),
        (16 * 2**20, 54.2, 55.4),
        (2**20, 44.5, 47.0),
        (256 * 2**10, 29.0, 33.0),
        (64 * 2**10, 12.0, 15.0),
    ],
)
def test_defaults_are_what_a_h200_does(make_device, size: int, low: float, high: float) -> None:
    model = default_link_model(make_device(pcie_generation=5, pcie_lanes=16))
    assert low <= size / copy_seconds(size, model) / 1e9 <= high
