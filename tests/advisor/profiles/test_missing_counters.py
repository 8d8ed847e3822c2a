"""Metrics that are there and hold no number are known as missing, in every form of a recording."""

from __future__ import annotations

import io
import math

import pytest
from masked_counters import masked, page
from report_file import ReportFile

from gpuadvise.advisor.facts.counters import FIELDS, missing_counters
from gpuadvise.advisor.facts.kernel_profile import KernelProfile
from gpuadvise.advisor.profiles.metrics import page_profile, report_profile
from gpuadvise.advisor.profiles.ncu_csv import read_launches
from gpuadvise.advisor.profiles.ncu_report import ReportedLaunch, read_ncu_report

PEAK = ".avg.pct_of_peak_sustained_elapsed"
# What tells the busy share of each unit, and of the busiest of several.
ALL = {
    "gpu__compute_memory_throughput" + PEAK: 80.0,
    "gpu__dram_throughput" + PEAK: 80.0,
    "lts__throughput" + PEAK: 60.0,
    "l1tex__throughput" + PEAK: 30.0,
    "sm__throughput" + PEAK: 20.0,
    "sm__inst_issued" + PEAK: 20.0,
    "sm__inst_executed_pipe_fma" + PEAK: 10.0,
}


def profile_of(metrics: dict[str, float | str]) -> KernelProfile:
    """Return the only launch of a report file with *metrics*."""
    report = ReportFile()
    report.launch(metrics)
    [entry] = read_ncu_report(io.BytesIO(report.bytes), "x")
    assert isinstance(entry, ReportedLaunch)
    return report_profile(entry)


def profiled(content: str) -> list[KernelProfile]:
    return [page_profile(record) for record in read_launches(content.splitlines(True), "x")]


@pytest.mark.parametrize("form", ["raw", "details"])
@pytest.mark.parametrize("group", ["textbook", "torch-1"])
def test_recordings_of_all_sections_lack_nothing(group: str, form: str) -> None:
    assert {profile.missing for profile in profiled(page(group, form))} == {frozenset()}


@pytest.mark.parametrize("word", [math.nan, math.inf, -math.inf, "n/a"])
def test_a_report_file_may_store_no_number(word: float | str) -> None:
    assert profile_of(dict(ALL)).missing == frozenset()
    profile = profile_of(ALL | {"lts__throughput" + PEAK: word})
    assert profile.l2_busy is None
    assert profile.missing == {"l2_busy"}
    assert missing_counters(profile) == ("l2",)


@pytest.mark.parametrize("form", ["raw", "details"])
@pytest.mark.parametrize(
    ("counters", "raw", "details"),
    [
        ("lts__throughput|L2 Cache Throughput", {"l2_busy"}, {"l2_busy"}),
        ("sm__warps_active|Achieved Occupancy", {"achieved_occupancy"}, {"achieved_occupancy"}),
        ("stalled_barrier", {"stalls"}, set()),
        ("pipe_tensor", {"pipes"}, set()),
        ("pipe_tensor_op_imma_cycles_active.avg", {"pipes"}, set()),  # one of several kinds
        ("pipe_fma.*sustained_active", set(), set()),  # there is the share of the elapsed time
        ("op_ffma", {"float_instructions"}, set()),
        ("t_requests_pipe_lsu_mem_global_op_ld.sum$", {"global_loads"}, set()),
        ("time_duration|Throughput: Duration", {"seconds"}, {"seconds"}),
    ],
)
def test_fields_without_a_number(
    form: str, counters: str, raw: set[str], details: set[str]
) -> None:
    for profile in profiled(masked(page("textbook", form), counters)):
        assert profile.missing == (raw if form == "raw" else details)
        for name in profile.missing - {"pipes", "global_loads"}:
            assert not getattr(profile, name)


def test_of_counts_that_belong_together_one_without_a_number_spoils_all() -> None:
    """The longest wait, or the type that most operations have, may be the one that is missing."""
    [whole] = profiled(page("textbook", "raw", 16))
    assert whole.work is not None
    [without] = profiled(masked(page("textbook", "raw", 16), "op_fadd|stalled_wait"))
    assert whole.stalls
    assert (without.stalls, without.float_instructions, without.work) == ({}, {}, None)
    assert missing_counters(without) == ("stalls", "instructions")


@pytest.mark.parametrize("name", ALL)
def test_what_is_not_recorded_at_all_is_missing_where_nothing_stands_for_it(name: str) -> None:
    profile = profile_of({metric: value for metric, value in ALL.items() if metric != name})
    assert (
        profile.missing == frozenset()
    )  # the busiest of several units stands for it, or it stands for them
    few = profile_of({name: 50.0})
    memory = {"dram_busy", "l2_busy", "l1_busy"}
    assert few.missing <= memory | {"issue_busy", "pipes"}
    assert few.missing.isdisjoint(memory) == (name == "gpu__compute_memory_throughput" + PEAK)


def test_every_field_that_may_be_missing_belongs_to_a_group() -> None:
    known = {name for names in FIELDS.values() for name in names}
    for form in ("raw", "details"):
        for profile in profiled(masked(page("textbook", form), ".")):
            unnamed = profile.missing - known
            assert unnamed <= {"waves", "memory_clock", "sm_clock_limit"}
            assert missing_counters(profile)
    assert all(hasattr(KernelProfile(), name) for name in known)
    assert missing_counters(None) == missing_counters(KernelProfile()) == ()
