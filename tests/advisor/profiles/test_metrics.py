"""One launch in the profiler's three forms is one record, as far as each form goes."""

from __future__ import annotations

import io
import math
import os
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_file import ReportFile, rule

from gpuadvise.advisor.facts.kernel_profile import (
    CycleSpread,
    KernelProfile,
    ProfilerRule,
    SharedRequests,
    WarpRequests,
)
from gpuadvise.advisor.memory.number_types import NumberType
from gpuadvise.advisor.profiles.metrics import page_profile, report_profile
from gpuadvise.advisor.profiles.ncu_csv import LaunchRecord, number, read_launches
from gpuadvise.advisor.profiles.ncu_report import ReportedLaunch, read_ncu_report
from gpuadvise.advisor.profiles.rule_texts import rule_numbers

RECORDED = Path(__file__).parent / "recorded"
# Reports on this machine with both pages beside them: x.ncu-rep, x_raw.csv, x_details.csv.
# They hold host names and environments, so none is kept with the tests.
REPORTS = [
    path
    for path in sorted(Path(os.environ.get("GPUADVISE_NCU_REPORTS", "/nowhere")).glob("*.ncu-rep"))
    if path.with_name(f"{path.stem}_raw.csv").exists()
    and path.with_name(f"{path.stem}_details.csv").exists()
]
# The details page prints two decimals; its rules print one of a number.
DIGITS = 0.005
# A raw page prints six decimals of whole units.
SCALES = {
    "ms": 1e6, "us": 1e3, "s": 1e9, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
}  # fmt: skip


def records(name: str, folder: Path = RECORDED) -> list[LaunchRecord]:
    lines = (folder / f"{name}.csv").read_text().splitlines(keepends=True)
    return list(read_launches(lines, name))


def profiles(name: str) -> list[KernelProfile]:
    return [page_profile(record) for record in records(name)]


def by_kernel(name: str) -> dict[str, KernelProfile]:
    return {profile.kernel.partition("(")[0]: profile for profile in profiles(name)}


def compare(details: Any, raw: Any, where: str) -> int:
    """Assert that what *details* knows is what *raw* knows; return how many numbers it knows."""
    if details is None:
        return 0
    if is_dataclass(details):
        parts = ((f.name, getattr(details, f.name), getattr(raw, f.name)) for f in fields(details))
        return sum(compare(one, other, f"{where}.{name}") for name, one, other in parts)
    if isinstance(details, dict):
        return sum(compare(one, raw[name], f"{where}[{name}]") for name, one in details.items())
    if isinstance(details, float):
        rounding = 0.055 if ".used_bytes" in where else DIGITS
        rounding = 0.0055 if where.endswith("fp32_of_peak") else rounding  # a whole per cent
        tolerance = max(DIGITS * abs(raw), rounding if abs(raw) < 100 else 0)
        assert details == pytest.approx(raw, abs=tolerance), where
        return 1
    if isinstance(details, int) and "_shared" in where:
        assert abs(details - raw) <= 5, where  # printed as 213.19 Kbyte
        return 1
    assert details == raw, where
    return 1


@pytest.mark.parametrize("program", ["hand", "torch"])
def test_the_details_page_says_what_the_raw_page_says(program: str) -> None:
    known = 0
    pairs = list(zip(profiles(f"{program}_details"), profiles(f"{program}_raw"), strict=True))
    for details, raw in pairs:
        known += compare(replace(details, rules=()), replace(raw, rules=()), details.kernel[:40])
    assert known >= 45 * len(pairs)


def stored(record: LaunchRecord) -> dict[str, float | str]:
    """The metrics of a raw page as a report file stores them: nanoseconds, bytes, per cent."""
    metrics: dict[str, float | str] = {}
    for name, (text, unit) in record.metrics.items():
        amount = number(text)
        if amount is None:
            if text:
                metrics[name] = text
            continue
        first = unit.partition("/")[0]
        prefix = first if first in SCALES else first[:1] if first[1:] in ("byte", "hz") else ""
        per = 1e9 if unit.endswith("/ns") else 1e6 if unit.endswith("/us") else 1.0
        metrics[name] = amount * SCALES.get(prefix, 1.0) * per
    return metrics


def again(name: str) -> list[KernelProfile]:
    """The launches of a raw page, by way of a report file."""
    report = ReportFile()
    for record, page in zip(records(name), profiles(name), strict=True):
        assert page.grid
        assert page.block
        kernel = ("_Z1k", "k", page.kernel)
        report.launch(stored(record), kernel=kernel, grid=page.grid, block=page.block)
    entries = read_ncu_report(io.BytesIO(report.bytes), "x")
    launches = [entry for entry in entries if isinstance(entry, ReportedLaunch)]
    numbers = [page.number for page in profiles(name)]
    return [report_profile(*each) for each in zip(launches, numbers, strict=True)]


def same(one: Any, other: Any, where: str) -> None:
    if is_dataclass(one):
        for part in fields(one):
            same(getattr(one, part.name), getattr(other, part.name), f"{where}.{part.name}")
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for name in one:
            same(one[name], other[name], f"{where}[{name}]")
    elif isinstance(one, float):
        assert math.isclose(one, other, rel_tol=1e-9), where
    else:
        assert one == other, where


@pytest.mark.parametrize("name", ["hand_raw", "torch_raw"])
def test_a_report_file_says_what_the_raw_page_says(name: str) -> None:
    for page, file in zip(profiles(name), again(name), strict=True):
        same(page, replace(file, mangled=None), page.kernel[:40])


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_three_forms_of_one_run_agree(path: Path) -> None:
    with path.open("rb") as file:
        entries = [e for e in read_ncu_report(file, path.name) if isinstance(e, ReportedLaunch)]
    raw = [page_profile(record) for record in records(f"{path.stem}_raw", path.parent)]
    details = [page_profile(record) for record in records(f"{path.stem}_details", path.parent)]
    for entry, page, short in zip(entries, raw, details, strict=True):
        exact = replace(report_profile(entry, page.number), rules=())
        assert page.kernel == short.kernel == exact.kernel
        assert [told.name for told in entry.rules] == [told.name for told in short.rules]
        compare(replace(page, rules=()), exact, page.kernel[:40])
        compare(replace(short, rules=()), exact, page.kernel[:40])


def test_what_each_kernel_was_written_to_show() -> None:
    raw = by_kernel("hand_raw")
    assert raw["elementwise"].dram_busy == pytest.approx(0.9028, abs=1e-4)
    assert raw["elementwise"].l2_busy == pytest.approx(0.9257, abs=1e-4)
    assert raw["strided"].global_loads == WarpRequests(
        requests=262_144, sectors=8_388_608, used_bytes=4.0
    )
    assert raw["strided"].global_loads.sectors_per_request == 32
    assert raw["spilling"].spill_requests == 63_176_704
    assert raw["spilling"].local_loads.requests == 32_899_072
    transpose = raw["transpose_conflict"]
    assert transpose.shared_loads == SharedRequests(
        requests=131_072, wavefronts=4_215_343, conflicts=4_084_271
    )
    assert transpose.top_stall == ("mio_throttle", pytest.approx(0.447, abs=1e-3))
    assert transpose.lsu_wavefronts_busy == pytest.approx(0.7867, abs=1e-4)
    assert raw["divergent"].active_threads == 4.23
    assert raw["reduction"].global_reductions.requests == 264
    assert raw["sgemm_tiled"].float_operations["fp32"] == pytest.approx(2 * 2048**3, rel=0.01)


def test_the_details_page_gives_up_what_its_rules_say() -> None:
    details = by_kernel("hand_details")
    strided = details["strided"]
    assert (strided.global_sectors, strided.global_sectors_ideal) == (16_777_216, 2_097_152)
    assert strided.global_loads.used_bytes == strided.global_stores.used_bytes == 4.0
    assert strided.top_stall == ("long_scoreboard", pytest.approx(0.738, abs=1e-3))
    transpose = details["transpose_conflict"]
    assert (transpose.shared_wavefronts, transpose.shared_wavefronts_ideal) == (4_325_376, 262_144)
    assert transpose.shared_loads.conflicts == 4_084_271
    assert transpose.top_stall == ("mio_throttle", pytest.approx(0.447, abs=1e-3))
    assert details["divergent"].busiest_pipe == ("alu", pytest.approx(0.564))


def test_shares_of_warps_time_add_up() -> None:
    for profile in (*profiles("hand_raw"), *profiles("torch_raw")):
        assert sum(profile.stalls.values()) == pytest.approx(1.0, abs=0.03)  # counted in two passes


def test_tensor_work_and_the_tensor_pipe() -> None:
    [gemm] = [profile for profile in profiles("torch_raw") if profile.kernel.startswith("nvjet")]
    assert gemm.tensor_operations[NumberType.FP16] == 2 * 4096**3
    assert gemm.busiest_pipe == ("tensor", pytest.approx(0.905, abs=1e-3))


def record(
    metrics: dict[str, tuple[str, str]], rules: tuple[ProfilerRule, ...] = ()
) -> LaunchRecord:
    return LaunchRecord(columns={"Kernel Name": "k"}, metrics=metrics, rules=list(rules))


@pytest.mark.parametrize(
    ("text", "unit", "seconds"),
    [
        ("181,344", "ns", 181.344e-6),
        ("181.344", "usecond", 181.344e-6),
        ("0.181344", "ms", 181.344e-6),
        ("2", "second", 2.0),
        ("n/a", "ms", None),
        ("-1", "ms", None),
        ("inf", "ms", None),
    ],
)
def test_units_of_time(text: str, unit: str, seconds: float | None) -> None:
    found = page_profile(record({"gpu__time_duration.sum": (text, unit)})).seconds
    assert found == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("text", "unit", "hertz"),
    [("1.98", "Ghz", 1.98e9), ("1980", "Mhz", 1.98e9), ("1.98", "cycle/nsecond", 1.98e9),
     ("1980000000", "hz", 1.98e9), ("1980", "cycle/us", 1.98e9)],
)  # fmt: skip
def test_units_of_clocks(text: str, unit: str, hertz: float) -> None:
    metrics = {"gpc__cycles_elapsed.avg.per_second": (text, unit)}
    assert page_profile(record(metrics)).sm_clock == pytest.approx(hertz)


def test_stalls_in_their_other_forms() -> None:
    average = "smsp__average_warps_issue_stalled_{}_per_issue_active"
    latency = {"smsp__average_warp_latency_per_inst_issued.ratio": ("20", "cycle")}
    per_cent = {**latency, average.format("barrier") + ".pct": ("1000", "%")}
    assert page_profile(record(per_cent)).stalls == {"barrier": 0.5}
    ratio = {**latency, average.format("wait") + ".ratio": ("5", "inst")}
    assert page_profile(record(ratio)).stalls == {"wait": 0.25}
    share = {"smsp__warp_issue_stalled_lg_throttle_per_warp_active.pct": ("40", "%")}
    assert page_profile(record(share)).stalls == {"lg_throttle": 0.4}
    samples = {
        "smsp__pcsamp_warps_issue_stalled_no_instructions": ("30", "inst"),
        "smsp__pcsamp_warps_issue_stalled_selected": ("10", "warp"),
        "smsp__pcsamp_warps_issue_stalled_no_instructions_not_issued": ("9", "inst"),
    }
    sampled = page_profile(record(samples))
    assert sampled.stalls == {"no_instruction": 0.75, "selected": 0.25}
    assert sampled.top_stall == ("no_instruction", 0.75)


@pytest.mark.parametrize(
    "name",
    ["sm__pipe_tensor_cycles_active", "sm__pipe_tensor_op_hmma_cycles_active",
     "sm__inst_executed_pipe_tensor_op_gmma", "sm__pipe_tc_cycles_active",
     "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active"],
)  # fmt: skip
def test_every_spelling_of_the_tensor_pipe(name: str) -> None:
    metrics = {f"{name}.avg.pct_of_peak_sustained_elapsed": ("64", "%")}
    assert page_profile(record(metrics)).pipes == {"tensor": pytest.approx(0.64)}


def test_a_pipe_known_while_sms_are_active_counts_over_the_elapsed_time() -> None:
    metrics = {
        "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active": ("80", "%"),
        "sm__cycles_active.avg": ("500", "cycle"),
        "gpc__cycles_elapsed.max": ("1,000", "cycle"),
    }
    assert page_profile(record(metrics)).pipes == {"alu": pytest.approx(0.4)}


def said(name: str, text: str) -> ProfilerRule:
    return ProfilerRule(name=name, kind="OPT", message=text)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("waiting for a scoreboard dependency on a L1TEX (local, global) op", "long_scoreboard"),
        ("waiting for a scoreboard dependency on an MIO op (not to L1TEX)", "short_scoreboard"),
        ("waiting for the MIO (memory input/output) instruction queue to be not full",
         "mio_throttle"),
        ("waiting for the L1 instruction queue for local and global (LG) ops to be not full",
         "lg_throttle"),
        ("waiting for the local/global instruction queue to be not full", "lg_throttle"),
        ("waiting for the L1TEX instruction queue to be not full", "tex_throttle"),
        ("waiting for sibling warps at a CTA barrier", "barrier"),
        ("waiting on a memory barrier", "membar"),
        ("on a fixed latency execution dependency", "wait"),
        ("waiting for a math execution pipeline", "math_pipe_throttle"),
        ("waiting for an immediate constant cache (IMC) miss", "imc_miss"),
        ("due to not having the next instruction fetched yet", "no_instruction"),
    ],
)  # fmt: skip
def test_the_stall_that_a_text_names(words: str, reason: str) -> None:
    text = (
        f"On average, each warp spends 30.0 cycles being stalled {words}. Some advice. "
        "This is 75.0% of the total average of 40.0 cycles between issuing two instructions."
    )
    profile = page_profile(record({}, (said("CPIStall", text),)))
    assert (profile.top_stall, profile.warp_latency) == ((reason, 0.75), 40.0)


def test_imbalance_in_words() -> None:
    text = (
        "One or more SMs have a much higher number of active cycles than the average number. "
        "Maximum instance value is 20.00% above the average, while the minimum instance value "
        "is 50.00% below the average."
    )
    metrics = {"GPU and Memory Workload Distribution: Average SM Active Cycles": ("1,000", "cycle")}
    profile = page_profile(record(metrics, (said("WorkloadImbalance", text),)))
    assert profile.sm_cycles == CycleSpread(least=500.0, mean=1000.0, most=1250.0)


@given(st.text(max_size=300), st.sampled_from(["CPIStall", "UncoalescedGlobalAccess",
       "SharedMemoryConflicts", "HighPipeUtilization", "WorkloadImbalance"]))  # fmt: skip
def test_any_rule_text_is_read_or_passed_over(text: str, name: str) -> None:
    rule_numbers([said(name, text)])


def test_a_long_hostile_rule_text_takes_no_time() -> None:
    text = "pattern for shared loads across all 1 shared in 1 bank conflicts " * 10_000
    assert rule_numbers([said("SharedMemoryConflicts", text)]).shared == {}
    assert rule_numbers([said("SharedMemoryConflicts", text[:4000])]).shared == {}


def test_rules_of_a_report_file_are_read_too() -> None:
    report = ReportFile()
    text = "This kernel has 30 excessive sectors (75% of the total 40 sectors)."
    report.launch({}, rules=(rule("UncoalescedGlobalAccess", text),))
    [launch] = read_ncu_report(io.BytesIO(report.bytes), "x")
    assert isinstance(launch, ReportedLaunch)
    profile = report_profile(launch)
    assert (profile.global_sectors, profile.global_sectors_ideal) == (40, 10)
    assert profile.rules == launch.rules


def test_nothing_measured_is_nothing_known() -> None:
    empty = page_profile(record({}))
    unknown = frozenset({"dram_busy", "l2_busy", "l1_busy", "issue_busy", "pipes"})
    assert empty == KernelProfile(kernel="k", missing=unknown)
    assert empty.top_stall is empty.busiest_pipe is empty.launch is None


def test_a_cluster_is_part_of_the_launch() -> None:
    [gemm] = [profile for profile in profiles("torch_raw") if profile.kernel.startswith("nvjet")]
    assert gemm.cluster == (2, 1, 1)
    assert gemm.launch
    assert gemm.launch.cluster_dim == (2, 1, 1)
