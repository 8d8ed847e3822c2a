"""The ledger: a row for each kernel, answered or dismissed with evidence, and null with a note."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import traces
from masked_counters import masked, page

import gpuadvise
from gpuadvise.rules.engine import run
from gpuadvise.rules.ledger import BoundClass, LedgerFigures, bound_class

DEMO = Path(__file__).parents[2] / "cli" / "demo"
REPORT, SOURCE = DEMO / "report.csv", DEMO / "kernels.cu"


@pytest.mark.parametrize(
    ("sm", "memory", "bound"),
    [
        (0.70, 0.30, BoundClass.COMPUTE),
        (0.30, 0.70, BoundClass.MEMORY),
        (0.75, 0.66, BoundClass.BALANCED),
        (0.75, 0.64, BoundClass.COMPUTE),
        (0.59, 0.59, BoundClass.LATENCY),
        (None, 0.90, None),
    ],
)
def test_the_bound_class_is_told_by_both_units(
    sm: float | None, memory: float | None, bound: BoundClass | None
) -> None:
    from gpuadvise.advisor.facts.bag import Facts

    report = run((), Facts(kernel="k"))
    assert bound_class(report, LedgerFigures(sm=sm, memory=memory)) is bound


def test_a_report_with_its_source_names_kernel_gain_and_line(cli) -> None:
    ran = cli("advise", str(REPORT), str(SOURCE), "--format", "ledger")
    assert ran.code == 0
    rows = [line for line in ran.out.splitlines() if line.startswith("| ")]
    assert len(rows) == 4  # title, rule, two kernels
    assert "| memory | yes: uncoalesced-access |" in rows[2]
    assert "1. uncoalesced-access (strided(…): about 5.65x" in ran.out
    assert "kernels.cu:17: Declare" in ran.out
    assert all(len(re.findall(r"\w+|[^\w\s]", row)) <= 60 for row in rows)


def test_the_library_gives_the_same_as_records() -> None:
    result = gpuadvise.ledger(REPORT, SOURCE).result
    first = result.kernels[0]
    assert (first.bound, first.faster.answer, first.fusion.answer) == ("memory", "yes", None)
    assert (first.sm, first.memory) == (pytest.approx(0.056), pytest.approx(0.9105))
    assert [action.rule for action in result.actions] == ["uncoalesced-access", "bank-conflicts"]
    assert result.actions[1].line == 17
    assert result.covered == 1
    assert gpuadvise.ledger(REPORT, limit=1).result.more == 1


def test_a_recorded_run_lists_its_kernels_with_the_time_they_took(tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    events = [
        traces.kernel(0, 400),
        traces.kernel(400, 500, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"),
    ]
    trace.write_text(traces.kineto(events))
    result = gpuadvise.ledger(trace).result
    slow, quick = result.kernels
    assert (slow.bound, quick.bound) == ("comm", None)
    assert quick.seconds == pytest.approx(400e-6)
    assert quick.share == pytest.approx(4 / 9)
    assert any("no profile" in note for note in quick.notes)
    assert result.covered == pytest.approx(5 / 9)


def test_counters_without_a_number_are_null_and_noted(tmp_path: Path, cli) -> None:
    path = tmp_path / "page.csv"
    path.write_text(
        masked(page("textbook-2", "raw", 2), "throughput|pct_of_peak|warps_active|hit_rate")
    )
    ran = cli("advise", str(path), "--format", "ledger")
    assert "| null | null |" in ran.out
    assert "its counters are missing or NaN" in ran.out
    assert "are missing or hold no number" in ran.err


def test_more_kernels_than_fit_are_counted(tmp_path: Path, cli) -> None:
    trace = tmp_path / "t.json"
    trace.write_text(traces.kineto([traces.kernel(10 * i, 9, f"k{i}") for i in range(30)]))
    ran = cli("advise", str(trace), "--format", "ledger")
    assert "20 kernels more, shorter ones" in ran.out
    assert (
        "20 kernels more" not in cli("advise", str(trace), "--format", "ledger", "--limit", "0").out
    )


def test_a_description_has_a_row_of_what_is_known(cli) -> None:
    line = ("advise", "--regs", "72", "--block", "100", "--grid", "96", "--gpu", "h200")
    ran = cli(*line, "--format", "ledger")
    assert "| (the kernel) | 1 | null | null | null | null | 44 | latency |" in ran.out
    assert "no time was recorded" in ran.out
    got = cli(*line, "--format", "ledger", "--get", "kernels.bound")
    assert (got.code, got.out) == (0, "latency\n")
    plain = json.loads(cli(*line, "--format", "json").out)
    assert "actions" not in plain["result"]
