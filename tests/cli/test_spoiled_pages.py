"""Pages of Nsight Compute with rows that no profiler writes: no gate passes over one."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[1] / "fuzz" / "corpus" / "profile"
GATES = ("kernels {} --max-regs 128", "kernels {} --fail-under 1%", "advise {} --fail-on low")
NAME = '"elementwise(const float4 *, const float4 *, float4 *, int)"'


def page(path: Path, *changes: tuple[int, str, str], quoting: int = csv.QUOTE_ALL) -> Path:
    """Write the raw page of two launches with *changes* (row, column, text)."""
    with (PAGES / "raw.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    for row, column, text in changes:
        rows[row][rows[0].index(column)] = text
    with path.open("w", newline="") as file:
        csv.writer(file, quoting=quoting, lineterminator="\n").writerows(rows)
    return path


@pytest.mark.parametrize("line", GATES)
@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
def test_a_page_is_read_however_it_is_quoted(line: str, quoting: int, cli, tmp_path: Path) -> None:
    path = page(tmp_path / "page.csv", quoting=quoting)
    ran = cli(*line.format(path).split())
    assert ran.code == 0, ran.err
    assert "strided(const float *" in ran.out


@pytest.mark.parametrize("line", GATES)
@pytest.mark.parametrize("text", ["nan", "-5", "1e9", "many", "inf"])
def test_registers_that_no_kernel_has_are_not_judged(
    line: str, text: str, cli, tmp_path: Path
) -> None:
    path = page(tmp_path / "page.csv", (2, "launch__registers_per_thread", text))
    ran = cli(*line.format(path).split(), "--json")
    assert ran.code == 3
    reason = f'Launch 0, {NAME}: "{text}" is no number of registers.'
    assert f"page.csv: {reason}\n" in ran.err
    assert [left["reason"] for left in json.loads(ran.out)["result"]["not_judged"]] == [reason]


@pytest.mark.parametrize("line", GATES)
@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
@pytest.mark.parametrize("text", ["nan", "-1", "0x0"])
def test_a_row_without_a_number_of_a_launch_is_named(
    line: str, text: str, quoting: int, cli, tmp_path: Path
) -> None:
    path = page(tmp_path / "page.csv", (2, "ID", text), quoting=quoting)
    ran = cli(*line.format(path).split())
    assert ran.code == 3
    assert f'Line 3, {NAME}: "{text}" is no number of a launch; it is left out.\n' in ran.err


def test_what_fails_beside_it_fails(cli, tmp_path: Path) -> None:
    path = page(tmp_path / "page.csv", (2, "launch__registers_per_thread", "nan"))
    assert cli("kernels", str(path), "--max-regs", "8").code == 1


def test_details_with_such_registers_are_not_judged(cli, tmp_path: Path) -> None:
    text = (PAGES / "details.csv").read_text()
    at = text.index('"Registers Per Thread"')
    line = text[at : text.index("\n", at)]
    path = tmp_path / "details.csv"
    path.write_text(text.replace(line, line.replace('"22"', '"nan"')))
    ran = cli("advise", str(path), "--fail-on", "low")
    assert ran.code == 3
    assert '"nan" is no number of registers.' in ran.err
