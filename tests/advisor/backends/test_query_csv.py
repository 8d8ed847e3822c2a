"""The CSV of nvidia-smi --query-gpu: each value in its unit, and what stands for none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.backends.query_csv import is_query, machine_from_csv
from gpuadvise.advisor.errors import BadInput


def machine(titles: str, *rows: str):
    content = "\n".join((titles, *rows)).encode()
    assert is_query(content)
    return machine_from_csv(content)


def telemetry(title: str, value: str):
    (gpu,) = machine(f"name, {title}, index", f"NVIDIA H200, {value}, 0").gpus
    return gpu.telemetry


@pytest.mark.parametrize(
    ("title", "value", "field", "wanted"),
    [
        ("temperature.gpu", "61", "temperature_celsius", 61),
        ("power.draw [W]", "90.51 W", "power_watts", 90.51),
        ("enforced.power.limit [W]", "700.00 W", "power_limit_watts", 700.0),
        ("memory.total [MiB]", "143771 MiB", "memory_total_bytes", 143_771 << 20),
        ("clocks.max.sm [MHz]", "1980 MHz", "sm_clock_max_hz", 1_980_000_000),
        ("utilization.gpu [%]", "37 %", "gpu_utilisation", 0.37),
        ("pstate", "P0", "performance_state", 0),
        ("persistence_mode", "Enabled", "persistence_mode", True),
        ("ecc.mode.current", "Disabled", "ecc_enabled", False),
        ("ecc.errors.uncorrected.volatile.total", "3", "ecc_uncorrected", 3),
        ("compute_mode", "Exclusive_Process", "compute_mode", "exclusive process"),
        ("pcie.link.width.current", "[N/A]", "pcie_lanes", None),
        ("temperature.gpu", "[Not Supported]", "temperature_celsius", None),
        ("pstate", "P?", "performance_state", None),
    ],
)
def test_a_value(title: str, value: str, field: str, wanted: object) -> None:
    assert getattr(telemetry(title, value), field) == wanted


def test_what_was_not_asked_says_so() -> None:
    reasons = telemetry("pstate", "P0").reasons
    assert reasons["power_watts"] == "it was not asked of nvidia-smi, or is not offered"


def test_a_gpu_that_is_lost_is_a_problem_and_the_others_answer() -> None:
    whole = machine(
        "index, name, temperature.gpu",
        "0, NVIDIA H200, 40",
        "1, [GPU is lost], [GPU is lost]",
        "2, NVIDIA H200, 41",
    )
    assert [gpu.identity.index for gpu in whole.gpus] == [0, 2]
    assert any("GPU is lost" in problem for problem in whole.problems)


def test_lines_that_do_not_fit_their_titles_are_refused() -> None:
    with pytest.raises(BadInput, match="line 3 has 2 values under 3 titles"):
        machine("index, name, pstate", "0, NVIDIA H200, P0", "1, NVIDIA H200")
    with pytest.raises(BadInput, match="more than any counter holds"):
        telemetry("temperature.gpu", "9" * 40)


@pytest.mark.parametrize(
    "content", [b"", b"name", b"a, b\n1, 2", b"name, other\nx, y", b"\xff\xfe"]
)
def test_other_tables_are_no_query(content: bytes) -> None:
    assert not is_query(content)


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=12), min_size=4, max_size=4))
def test_whatever_stands_in_a_line_is_a_machine_or_bad_input(values: list[str]) -> None:
    titles = "index, name, temperature.gpu, memory.total [MiB]"
    try:
        read = machine_from_csv("\n".join((titles, ", ".join(values))).encode())
    except BadInput:
        return
    assert len(read.gpus) <= 2
