from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.transfers.links import (
    LinkModel,
    default_link_model,
    link_model_from_json,
    pcie,
)

RATES = {"h2d_rate": 1e9, "d2h_rate": 2e9, "pageable_h2d_rate": 3e8, "pageable_d2h_rate": 4e8}


def test_a_device_gives_its_link_and_engines(make_device) -> None:
    model = default_link_model(make_device(pcie_generation=5, pcie_lanes=16, async_engines=3))
    assert model.h2d_rate == model.d2h_rate == pcie(5).attainable
    assert model.engines == 3
    assert model.source == "derived: PCIe 5 x16, share that pinned copies reach"


def test_a_slow_link_is_slow_for_pageable_copies_too(make_device) -> None:
    model = default_link_model(make_device(pcie_generation=1, pcie_lanes=4))
    assert model.pageable_h2d_rate == model.h2d_rate == 0.75e9


def test_nothing_known_is_said_to_be_assumed(make_device) -> None:
    assert default_link_model(None).source == "assumed: PCIe 4 x16"
    assert default_link_model(make_device(async_engines=0)).engines == 0
    assert default_link_model(make_device()).engines == 2


@pytest.mark.parametrize(
    ("capability", "link"),
    [((6, 1), 3), ((7, 0), 3), ((7, 5), 3), ((2, 0), 2), ((8, 6), 4), ((9, 0), 4), ((12, 0), 4)],
)
def test_an_unknown_part_has_the_link_of_its_generation(
    make_device, capability: tuple[int, int], link: int
) -> None:
    model = default_link_model(make_device(capability))
    assert model.source == f"assumed: PCIe {link} x16"
    assert model.h2d_rate == pcie(link).attainable


def test_an_integrated_part_copies_within_its_memory(make_device) -> None:
    model = default_link_model(make_device(integrated=True, memory_bandwidth=200e9))
    assert model.h2d_rate == pytest.approx(80e9)
    assert "within" in model.source


numbers = st.floats(1, 1e12)


times = st.one_of(st.just(0.0), st.floats(1e-12, 1))


@given(numbers, numbers, times, st.floats(1, 3), st.integers(0, 4))
def test_json_reads_back(
    rate: float, pageable: float, lag: float, slowdown: float, engines: int
) -> None:
    model = LinkModel(
        h2d_rate=rate,
        d2h_rate=rate,
        pageable_h2d_rate=pageable,
        pageable_d2h_rate=pageable,
        copy_latency=lag,
        duplex_slowdown=slowdown,
        engines=engines,
        source="measured",
    )
    assert link_model_from_json(json.loads(json.dumps(model.to_json()))) == model


def test_only_rates_are_needed() -> None:
    model = link_model_from_json(RATES)
    assert model == LinkModel(**RATES, source="calibration", engines_source="assumed")
    assert replace(model, source="you", engines_source="you") == LinkModel(**RATES)
    assert link_model_from_json({**RATES, "engines": 1}).engines_source == "calibration"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"speed": 1}, 'no field "speed"'),
        ({"h2d_rate": 0}, r"h2d_rate of a calibration is a number from 1 to 1e\+18, not"),
        ({"h2d_rate": 1e300}, "h2d_rate"),
        ({"h2d_rate": 10**400}, "h2d_rate"),
        ({"copy_latency": 1e308}, "copy_latency"),
        ({"copy_latency": float("nan")}, "copy_latency"),
        ({"engines": 99999}, "engines"),
        ({"h2d_rate": "fast"}, "h2d_rate"),
        ({"h2d_rate": True}, "h2d_rate"),
        ({"h2d_rate": float("inf")}, "h2d_rate"),
        ({"copy_latency": -1e-6}, "copy_latency"),
        ({"duplex_slowdown": 0.5}, "duplex_slowdown"),
        ({"engines": 1.5}, "whole number"),
    ],
)
def test_a_bad_calibration(change: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        link_model_from_json({**RATES, **change})


def test_the_rounding_of_no_time_is_no_time() -> None:
    assert link_model_from_json({**RATES, "duplex_latency": 3e-16}).duplex_latency == 0


def test_a_calibration_that_lacks_a_rate() -> None:
    with pytest.raises(BadInput, match="lacks d2h_rate, pageable_h2d_rate and pageable_d2h_rate"):
        link_model_from_json({"h2d_rate": 1e9})
