"""Real reports of Nsight Compute 2025.3, recorded on a H200, and damaged ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.profiles.metrics import page_profile
from gpuadvise.advisor.profiles.ncu_csv import number, read_launches
from gpuadvise.advisor.profiles.ncu_file import read_profiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

RECORDED = Path(__file__).parent / "recorded"
KERNELS = (
    "elementwise", "strided", "reduction", "spilling", "transpose_conflict", "divergent",
    "sgemm_tiled", "softmax_rows",
)  # fmt: skip


def kernels(name: str) -> dict[str, KernelProfile]:
    found = read_profiles(str(RECORDED / f"{name}.csv"))
    return {profile.kernel.partition("(")[0]: profile for profile, _ in found}


def test_both_pages_hold_every_kernel_in_order() -> None:
    assert tuple(kernels("hand_details")) == KERNELS
    assert tuple(kernels("hand_raw")) == KERNELS


@pytest.mark.parametrize("program", ["hand", "torch"])
def test_both_pages_say_the_same(program: str) -> None:
    details, raw = kernels(f"{program}_details"), kernels(f"{program}_raw")
    assert list(details) == list(raw)
    for name, one in details.items():
        other = raw[name]
        assert one.launch is not None
        assert other.launch is not None
        assert one.launch.threads == other.launch.threads
        assert one.launch.grid_dim == other.launch.grid_dim
        assert one.launch.registers == other.launch.registers
        assert one.launch.static_shared == other.launch.static_shared
        assert one.launch.dynamic_shared == pytest.approx(other.launch.dynamic_shared, abs=2)
        assert one.sm_count == other.sm_count == 132
        for field in ("seconds", "achieved_occupancy", "sm_busy", "memory_busy"):
            wanted = getattr(other, field)
            assert getattr(one, field) == pytest.approx(wanted, rel=0.01, abs=1e-4), field


def test_registers_and_shared_memory_are_those_of_the_compiler() -> None:
    log = (RECORDED / "ptxas.log").read_text()
    used = re.findall(r"Function properties for _Z\d+(\w+?)PK?f.*\n.*\n.*Used (\d+) registers", log)
    measured = kernels("hand_raw")
    compared = 0
    for mangled, registers in used:
        launch = measured[mangled].launch
        assert launch is not None
        # The profiler counts what the hardware hands out at least: 16.
        assert launch.registers == max(16, int(registers))
        compared += 1
    assert compared >= 6


def test_what_each_kernel_was_written_to_show() -> None:
    raw = kernels("hand_raw")
    strided = raw["strided"]
    assert strided.global_sectors_ideal is not None
    assert strided.global_sectors == 8 * strided.global_sectors_ideal
    assert raw["spilling"].spill_requests == 63_176_704
    transpose = raw["transpose_conflict"]
    assert transpose.shared_wavefronts_ideal is not None
    assert transpose.shared_wavefronts == 16.5 * transpose.shared_wavefronts_ideal
    assert raw["divergent"].active_threads == 4.23
    assert raw["elementwise"].dram_busy == pytest.approx(0.9028, abs=1e-4)
    assert raw["sgemm_tiled"].busiest_pipe == ("lsu", pytest.approx(0.768, abs=1e-3))
    waits = raw["elementwise"].top_stall
    assert waits is not None
    assert waits[0] == "long_scoreboard"


def test_a_library_gemm_is_known_to_be_busy() -> None:
    found = {n: k for n, k in kernels("torch_raw").items() if "gemm" in n or "nvjet" in n}
    assert len(found) == 2
    for kernel in found.values():
        assert kernel.achieved_occupancy is not None
        assert kernel.achieved_occupancy < 0.15
        assert kernel.busiest_pipe is not None
        assert kernel.busiest_pipe[1] > 0.75


def test_the_profilers_rules_are_kept_in_its_words() -> None:
    rules = kernels("hand_details")["strided"].rules
    assert len(rules) == 12
    assert any(rule.estimated_speedup for rule in rules)
    assert all(rule.name for rule in rules)


def test_noise_before_and_among_the_lines_is_passed_over() -> None:
    noisy = kernels("noisy_details")
    assert list(noisy) == ["elementwise", "strided"]
    lines = (RECORDED / "hand_details.csv").read_text().splitlines(keepends=True)
    spoiled = []
    for line in lines:
        spoiled += [line, "==PROF== Profiling 1/8\n", "my program says: 1, 2, 3\n", "\n"]
    assert len(list(read_launches(spoiled, "x"))) == len(KERNELS)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("358,630", 358_630.0),
        ("3,330,574,907,358.39", 3_330_574_907_358.39),
        ("0.5", 0.5),
        ("", None),
        ("no data", None),
        ("n/a", None),
        ("inf", None),
        ("nan", None),
    ],
)
def test_numbers_with_separators_and_without_value(text: str, value: float | None) -> None:
    assert number(text) == value


@pytest.mark.parametrize("text", ["", "hello\n", "a,b\n1,2\n", "==ERROR== nothing to profile\n"])
def test_what_is_no_report(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        list(read_launches(text.splitlines(keepends=True), "x.csv"))
    assert caught.value.message == "x.csv: no CSV of Nsight Compute."


def test_a_metric_that_is_missing_is_no_evidence() -> None:
    lines = ['"ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Value"\n']
    lines += ['"0","k","(32, 1, 1)","(1, 1, 1)","Duration",""\n']
    [record] = read_launches(lines, "x")
    kernel = page_profile(record)
    assert kernel.seconds is None
    assert kernel.launch is not None
    assert kernel.launch.registers is None


def test_a_launch_that_cannot_be_is_no_evidence() -> None:
    lines = ['"ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Value"\n']
    for size in ("(0, 1, 1)", "none", "(1, 2)"):
        [record] = read_launches([*lines, f'"0","k","{size}","(1, 1, 1)","x","1"\n'], "x")
        assert page_profile(record).launch is None


DETAILS = (RECORDED / "noisy_details.csv").read_text()
RAW = (RECORDED / "hand_raw.csv").read_text()[:60_000]


@given(st.sampled_from([DETAILS, RAW]), st.data())
def test_a_damaged_report_is_read_or_refused(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 200))
        text = text[:start] + data.draw(st.text(max_size=10)) + text[end:]
    try:
        for record in read_launches(text.splitlines(keepends=True), "x"):
            page_profile(record)
    except BadInput as error:
        assert error.message.startswith("x: ")


def test_an_endless_file_without_a_header_ends() -> None:
    pulled = 0

    def endless() -> Iterator[str]:
        nonlocal pulled
        while True:
            pulled += 1
            yield "\0" * 2**20

    with pytest.raises(BadInput, match="no CSV of Nsight Compute"):
        list(read_launches(endless(), "endless"))
    assert pulled < 300
