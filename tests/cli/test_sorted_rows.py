"""Sorting rows in bounded memory: the same texts in the same order, whatever does not fit."""

from __future__ import annotations

import json
import tempfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import Unavailable
from gpuadvise.cli.render import sorted_rows as module
from gpuadvise.cli.render.sorted_rows import sorted_rows

if TYPE_CHECKING:
    from pathlib import Path

LOG = """\
ptxas info    : Compiling entry function '{name}' for 'sm_90'
ptxas info    : Function properties for {name}
    {spills} bytes stack frame, {spills} bytes spill stores, {spills} bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers, 0 bytes smem
"""
KEYS = st.tuples(st.booleans(), st.integers(), st.floats(allow_nan=False), st.text())


@given(rows=st.lists(st.tuples(KEYS, st.text()), max_size=60))
def test_the_order_is_that_of_sorted(rows: list[tuple[object, str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_RUN", 8)
        patch.setattr(module, "_BLOCK", 3)
        found = list(sorted_rows(rows))
    assert found == [text for _, text in sorted(rows, key=lambda row: row[0])]


def test_equal_rows_stay_as_they_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RUN", 4)
    texts = [f"{number}" for number in range(50)]
    assert list(sorted_rows((0, text) for text in texts)) == texts


def test_where_nothing_can_be_put_aside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "_RUN", 4)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(Unavailable, match="The rows cannot be sorted: No such file"):
        sorted_rows((0, "x") for _ in range(9))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "many.log"
    kernels = [
        LOG.format(name=f"k{n % 97}_{n}", registers=16 + n * 7 % 239, spills=n % 3 * 8)
        for n in range(300)
    ]
    path.write_text("".join(kernels))
    return path


@pytest.mark.parametrize(
    "line",
    [
        "--format json",
        "--format json --sort name --limit 7",
        "--format json --filter zzz",
        "--format csv --sort registers",
        "--format ndjson --sort code --limit 3",
    ],
)
def test_kernels_are_the_same_put_aside_or_not(
    cli, log: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    at_once = cli("kernels", str(log), *line.split())
    monkeypatch.setattr(module, "_RUN", 16)
    monkeypatch.setattr(module, "_BLOCK", 5)
    assert cli("kernels", str(log), *line.split()) == at_once
    assert at_once.code == 0


def test_the_json_is_what_one_dump_of_all_writes(cli, log: Path) -> None:
    """A listing of rows never kept is byte by byte what ``json.dumps`` makes of the document."""
    text = cli("kernels", str(log), "--format", "json").out
    assert text == json.dumps(json.loads(text), indent=2) + "\n"
    found = json.loads(text)["result"]["kernels"]
    spilled = [row["spill_stores"] + row["spill_loads"] for row in found]
    assert spilled == sorted(spilled, reverse=True)
    names = sorted(json.loads(line)["name"] for line in _lines(cli, log))
    assert sorted(row["name"] for row in found) == names


def _lines(cli, log: Path) -> list[str]:
    return cli("kernels", str(log), "--format", "ndjson").out.splitlines()


def test_a_limit_of_a_stream_hides_nothing_from_a_gate(cli, log: Path) -> None:
    line = ["--format", "ndjson", "--limit", "1", "--fail-on-spills"]
    ran = cli("kernels", str(log), *line)
    assert (ran.code, ran.out.count("\n")) == (1, 1)
    assert "200 kernels spilling" in ran.err
