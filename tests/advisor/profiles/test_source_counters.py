"""Counts of a report's instructions, added up by line."""

from __future__ import annotations

import io
import lzma
from pathlib import Path
from typing import TYPE_CHECKING

from report_file import ReportFile

from gpuadvise.advisor.binaries.cubin.line_table import LineTable, SourceLine, line_tables
from gpuadvise.advisor.facts.counted_lines import CountedLine, LineCount
from gpuadvise.advisor.profiles.ncu_report import ReportedCode, read_ncu_report
from gpuadvise.advisor.profiles.ncu_report_kernels import report_kernels
from gpuadvise.advisor.profiles.source_counters import counted_lines, executed_shares

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

RECORDED = Path(__file__).parents[2] / "truth" / "recorded"
BASE = 0x7F00_0000_0100
LOADS, STORES = SourceLine("scan.cu", 57), SourceLine("scan.cu", 60)
TABLE = LineTable([(0, None), (16, LOADS), (32, STORES)])
RAN = tuple((BASE + offset, 100.0) for offset in (0, 16, 32))
LONG = "smsp__pcsamp_warps_issue_stalled_long_scoreboard"
SHORT = "smsp__pcsamp_warps_issue_stalled_short_scoreboard"
GLOBAL = "memory_l2_theoretical_sectors_global"


def test_the_waits_of_every_reason_are_added_up_by_line() -> None:
    instances = {
        "inst_executed": RAN,
        LONG: ((BASE + 16, 41.0), (BASE + 32, 9.0)),
        SHORT: ((BASE + 32, 30.0), (BASE, 20.0)),
        "smsp__pcsamp_warps_issue_stalled_selected": ((BASE, 900.0),),
    }
    assert counted_lines(instances, TABLE, 64) == {
        LineCount.WAITS: (
            CountedLine(file="scan.cu", line=57, share=0.41),
            CountedLine(file="scan.cu", line=60, share=0.39),
        )
    }


def test_executed_instructions_are_shared_out_among_all_lines() -> None:
    ran = ((BASE, 60.0), (BASE + 16, 1.0), (BASE + 24, 2.0), (BASE + 32, 37.0))
    shares = executed_shares({"inst_executed": ran}, TABLE, 64)
    assert shares == {("scan.cu", 57): 0.03, ("scan.cu", 60): 0.37}
    assert executed_shares({"inst_executed": ran}, TABLE, 32) == {}
    assert executed_shares({}, TABLE, 64) == {}


def test_sectors_count_beyond_those_that_are_needed() -> None:
    instances = {
        "inst_executed": RAN,
        GLOBAL: ((BASE + 16, 400.0), (BASE + 32, 100.0)),
        f"{GLOBAL}_ideal": ((BASE + 16, 100.0), (BASE + 32, 100.0)),
    }
    [line] = counted_lines(instances, TABLE, 64)[LineCount.SECTORS]
    assert (line.line, line.share) == (57, 1.0)


def test_instructions_of_a_kind_count_as_often_as_they_ran() -> None:
    ran = ((BASE, 100.0), (BASE + 16, 300.0), (BASE + 32, 100.0), (BASE + 48, 0.0))
    counted = counted_lines(
        {"inst_executed": ran},
        TABLE,
        64,
        {LineCount.DIVISIONS: [16, 32, 48, 64], LineCount.DOUBLES: []},
    )
    assert counted == {
        LineCount.DIVISIONS: (
            CountedLine(file="scan.cu", line=57, share=0.75),
            CountedLine(file="scan.cu", line=60, share=0.25),
        )
    }


def test_small_shares_have_no_name() -> None:
    instances = {"inst_executed": RAN, LONG: ((BASE, 95.0), (BASE + 16, 5.0))}
    assert counted_lines(instances, TABLE, 64) == {}


def test_addresses_outside_of_the_kernel_tell_no_line() -> None:
    called = (*RAN, (BASE + 4096, 1.0))
    assert counted_lines({"inst_executed": called, LONG: RAN}, TABLE, 64) == {}
    assert counted_lines({LONG: RAN}, TABLE, 64) == {}
    assert counted_lines({"inst_executed": RAN, LONG: RAN}, TABLE, None) == {}


def profile_of(counters: dict[str, tuple[tuple[float, float], ...]]) -> KernelProfile:
    """A launch of a recorded kernel of nvcc in a report with *counters* at offsets of its code."""
    with lzma.open(RECORDED / "pairs-2.ncu-rep.xz") as file:
        entries = read_ncu_report(io.BytesIO(file.read()), "pairs-2")
        cubin = next(each.cubin for each in entries if isinstance(each, ReportedCode))
    assert cubin is not None
    name = next(name for name in line_tables(cubin) if "look_up_shared" in name)
    report = ReportFile()
    report.code(5, cubin)
    report.launch(
        dict.fromkeys(counters, 1.0),
        kernel=(name, "look_up_shared", "look_up_shared(float *)"),
        code=5,
        instances={
            metric: tuple((BASE + offset, value) for offset, value in parts)
            for metric, parts in counters.items()
        },
    )
    [(profile, _)] = report_kernels(io.BytesIO(report.bytes), "x.ncu-rep")
    return profile


def test_a_report_with_line_information_names_lines() -> None:
    counters = {"inst_executed": ((0, 1.0), (4000, 1.0)), LONG: ((4000, 41.0), (16, 1.0))}
    [line] = profile_of(counters).lines[LineCount.WAITS]
    assert line.file == "lookup_tables.cu"
    assert line.share == 41 / 42


def test_a_report_without_counters_names_none() -> None:
    assert profile_of({}).lines == {}
