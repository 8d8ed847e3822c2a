"""Saved answers of doctor and measure as machines of a fleet, whoever wrote them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.fleet.saved_answers import doctor_machine, measured_machine

DOCTOR = {
    "result": {
        "verdict": "findings",
        "driver_version": "580.1",
        "problems": ["GPU 3 does not answer."],
        "gpus": [{"name": "NVIDIA H200", "index": 1, "temperature_celsius": 40, "xids": [79, "x"]}],
        "checks": [{"check": "hot-device", "gpu": 0, "status": "finding"}],
    },
    "findings": [
        {"rule": "hot-device", "priority": "high", "category": "performance", "title": "Hot"},
        {"rule": "odd", "priority": "urgent", "category": "performance"},  # no priority of ours
    ],
}
ROW = {"kind": "pinned h2d", "bytes": 1 << 26, "rate": 50e9, "spread": 0.01}
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def test_doctor() -> None:
    machine = doctor_machine("node1", DOCTOR)
    assert (machine.host, machine.driver_version, machine.judged) == ("node1", "580.1", True)
    assert machine.problems == ("GPU 3 does not answer.",)
    (gpu,) = machine.gpus
    assert (gpu.index, gpu.model, gpu.xids) == (1, "NVIDIA H200", (79,))
    (finding,) = machine.findings
    assert (finding.rule, finding.gpu, finding.priority) == ("hot-device", 0, "high")


def test_measure_keeps_the_largest_copy_of_each_direction() -> None:
    rows = [
        ROW,
        {**ROW, "bytes": 1 << 10, "rate": 1e6},
        {**ROW, "kind": "pinned d2h", "rate": 40e9},
    ]
    machine = measured_machine("n", {"device": {"name": "NVIDIA H200"}, "result": {"rows": rows}})
    assert {copy.direction: copy.rate for copy in machine.copies} == {"h2d": 50e9, "d2h": 40e9}
    assert machine.kind == "1 x NVIDIA H200"


@pytest.mark.parametrize("rate", [math.nan, math.inf, -1.0, True, "5", None, 1e30])
def test_a_rate_that_is_none_is_not_kept(rate: object) -> None:
    with pytest.raises(BadInput, match="without copies"):
        measured_machine("n", {"result": {"rows": [{**ROW, "rate": rate}]}})


@given(st.dictionaries(st.sampled_from(["result", "findings", "device"]), anything))
def test_whatever_a_document_holds_is_a_machine_or_bad_input(document: dict) -> None:
    for read in (doctor_machine, measured_machine):
        try:
            assert read("n", document).host == "n"
        except BadInput:
            continue


@given(st.dictionaries(st.sampled_from(["name", "index", "xids", "power_watts"]), anything))
def test_whatever_a_gpu_says_is_known_or_not(gpu: dict) -> None:
    machine = doctor_machine("n", {"result": {"gpus": [gpu], "checks": [gpu], "problems": [gpu]}})
    (read,) = machine.gpus
    assert read.index >= 0
    assert read.power_watts is None or math.isfinite(read.power_watts)
