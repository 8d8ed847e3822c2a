"""Counters without a number: they are named, and no limit, finding or all-clear rests on them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from masked_counters import masked, page

from gpuadvise.advisor.facts.limit_words import unit_words
from gpuadvise.advisor.prose import and_list

if TYPE_CHECKING:
    from pathlib import Path

# Shares of peaks and occupancy, as Nsight Compute 2026.2 left them without a number on a B200.
SHARES = {
    "raw": "throughput|pct_of_peak|warps_active|hit_rate",
    "details": "Throughput$|Busy$|Occupancy$|Hit Rate$|Bandwidth$",
}
# Beside them a details page names the busiest pipe in the text of a rule.
UNITS = {
    "raw": ["dram", "l2", "l1/shared", "issue", "pipes"],
    "details": ["dram", "l2", "l1/shared", "issue"],
}


def advised(cli, folder: Path, content: str, *more: str, code: int = 0) -> dict[str, Any]:
    path = folder / "page.csv"
    path.write_text(content)
    ran = cli("advise", str(path), *more, "--format", "json")
    assert ran.code == code, ran.err
    return {**json.loads(ran.out), "err": ran.err}


@pytest.mark.parametrize("form", SHARES)
def test_a_busy_kernel_without_shares_has_no_limit_that_rests_on_the_rest(
    form: str, cli, tmp_path: Path
) -> None:
    """Its L2 is 84 % busy, which nobody sees: "no unit is at its roof" was the answer."""
    content = page("textbook-2", form, 2)
    whole = advised(cli, tmp_path, content)
    [kernel] = whole["result"]["kernels"]
    assert (kernel["limit"]["name"], kernel["missing_counters"]) == ("roof:l2", [])
    assert "Counters" not in whole["err"]
    without = advised(cli, tmp_path, masked(content, SHARES[form]))
    [kernel] = without["result"]["kernels"]
    assert kernel["limit"]["name"] == "unknown"
    units = and_list([unit_words(unit) for unit in UNITS[form]])
    assert kernel["limit"]["text"] == (
        f"The limit is not known: the counters of {units} are missing, and what they count may be the limit."
    )
    assert {*UNITS[form]} <= {*kernel["missing_counters"]}
    assert "Counters are missing or hold no number (NaN): device memory, the L2" in without["err"]
    assert "Record it again with another version" in without["err"]
    assert {finding["priority"] for finding in without["findings"]} <= {"low"}
    assert kernel["not_evaluated"] > whole["result"]["kernels"][0]["not_evaluated"]


WORDS = ["nan", "NaN", "-nan", "n/a", "N/A", "", "inf", "-inf"]


@pytest.mark.parametrize("form", SHARES)
@pytest.mark.parametrize("word", WORDS)
def test_however_a_page_writes_it_there_is_no_number(
    form: str, word: str, cli, tmp_path: Path
) -> None:
    content = page("textbook", form, 16)
    answers = [
        advised(cli, tmp_path, masked(content, SHARES[form], written)) for written in ("nan", word)
    ]
    assert answers[0]["result"] == answers[1]["result"]
    assert answers[0]["err"] == answers[1]["err"]


def test_text_says_so_and_does_not_say_that_nothing_is_to_change(cli, tmp_path: Path) -> None:
    content = page("textbook", "raw", 2)
    (tmp_path / "page.csv").write_text(content)
    ran = cli("advise", str(tmp_path / "page.csv"))
    assert "nothing to change" in ran.out
    (tmp_path / "page.csv").write_text(masked(content, SHARES["raw"]))
    ran = cli("advise", str(tmp_path / "page.csv"))
    assert (ran.code, "nothing to change" in ran.out) == (0, False)
    assert "no change found, and the limit is not known" in ran.out
    # Near its roof another unit cannot be much busier; a fault may be where nobody looked all the same.
    content = masked(page("pairs-1", "raw", 0), "dram|hit_rate|issue|stalled")
    (tmp_path / "page.csv").write_text(content)
    ran = cli("advise", str(tmp_path / "page.csv"))
    assert "nothing to change" not in ran.out


def test_a_gate_has_not_passed_where_counters_are_missing(cli, tmp_path: Path) -> None:
    content = page("textbook", "raw", 2)
    advised(cli, tmp_path, content, "--fail-on", "high")
    advised(cli, tmp_path, masked(content, "dram|lts__"), "--fail-on", "high", code=3)
    advised(cli, tmp_path, masked(content, "dram|lts__"))


def test_of_several_kernels_those_are_counted(cli, tmp_path: Path) -> None:
    lines = page("textbook", "raw").splitlines(keepends=True)
    without = masked("".join(lines[:5]), "lts__").splitlines(keepends=True)
    answer = advised(cli, tmp_path, "".join([*without, *lines[5:8]]))
    assert (
        "Counters of 3 of 6 kernels are missing or hold no number (NaN): the L2 cache."
        in answer["err"]
    )
    assert [k["missing_counters"] for k in answer["result"]["kernels"]] == [["l2"]] * 3 + [[]] * 3


def test_the_other_page_of_the_run_may_have_them(cli, tmp_path: Path) -> None:
    raw, details = tmp_path / "raw.csv", tmp_path / "details.csv"
    raw.write_text(masked(page("textbook", "raw", 2), "throughput|pipe"))
    details.write_text(page("textbook", "details", 2))
    ran = cli("advise", str(raw), str(details), "--format", "json")
    [kernel] = json.loads(ran.out)["result"]["kernels"]
    assert kernel["limit"]["name"] == "roof:dram"
    assert not {"dram", "l2", "memory"} & {*kernel["missing_counters"]}


@pytest.mark.parametrize("counters", ["Throughput|Duration|Cycles", "Throughput: Duration"])
def test_a_launch_of_which_something_was_counted_did_run(
    counters: str, cli, tmp_path: Path
) -> None:
    """A details page writes "nan" for the time of one that failed, and then for all that is counted."""
    content = page("textbook", "details", 2)
    answer = advised(cli, tmp_path, masked(content, counters))
    [kernel] = answer["result"]["kernels"]
    assert "took no time" not in kernel["limit"]["text"]
    assert "time" in kernel["missing_counters"]
    failed = advised(cli, tmp_path, masked(content, "."))
    assert "took no time" in failed["result"]["kernels"][0]["limit"]["text"]


def test_a_roofline_of_operations_without_a_number_leaves_the_launch_out(
    cli, tmp_path: Path
) -> None:
    path = tmp_path / "page.csv"
    path.write_text(masked(page("textbook", "raw", 16), "op_fadd"))
    ran = cli("roofline", "--ncu", str(path), "--gpu", "h200")
    assert (ran.code, "no launch" in ran.err) == (2, True)
