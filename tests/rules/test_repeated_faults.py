"""One finding for a fault that a function or a file repeats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.rules.source.lint import lint_cuda
from gpuadvise.rules.source.repeated import joined

if TYPE_CHECKING:
    import pytest

HALVES = """__global__ void f(float *x) {
  x[0] = x[0] * 0.3;
  x[1] = x[1] * 0.7;
  x[2] = x[2] * 0.1;
}
__global__ void g(float *x) { x[0] = x[0] * 0.3; }
"""
CALLS = """void one(float **x) { cudaMalloc(x, 4096); cudaMemset(*x, 0, 4096); use(*x); }
void other(float **x) { cudaMalloc(x, 4096); use(*x); }
"""


def test_a_function_says_once_what_it_repeats() -> None:
    seen = lint_cuda(HALVES.encode(), "a.cu", select={"implicit-double"}).diagnostics
    said = joined(seen)
    assert [(d.kernel, d.where.line) for d in said] == [("f", 2), ("g", 6)]
    assert said[0].message.endswith("Likewise at 2 more places of this function (lines 3 and 4).")
    assert [place.where.line for place in said[0].further] == [3, 4]
    assert {edit.start for d in said for edit in d.edits} == {
        edit.start for d in seen for edit in d.edits
    }
    assert said[1] == seen[3]


def test_a_file_says_once_that_it_checks_no_errors() -> None:
    seen = lint_cuda(CALLS.encode(), "a.cu", select={"unchecked-errors"}).diagnostics
    assert [d.kernel for d in seen] == ["one", "other"]
    (said,) = joined(seen)
    assert said.message.endswith("Likewise at 1 more place of this file (line 2).")
    assert said.further[0].kernel == "other"


def test_a_saved_answer_knows_every_place(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.cu").write_text(HALVES + CALLS)
    line = ("lint", "a.cu", "--select", "implicit-double,unchecked-errors", "--no-cache")
    before = cli(*line, "--format", "json").out
    assert [len(f["evidence"]) for f in json.loads(before)["findings"]] == [3, 1, 2]
    Path("before.json").write_text(before)
    assert "6 known findings left out" in cli(*line, "--baseline", "before.json").out
    Path("a.cu").write_text(
        HALVES.replace("x[2] = x[2] * 0.1;", "x[2] = x[2] * 0.1; x[3] *= 1.7;") + CALLS
    )
    new = cli(*line, "--baseline", "before.json", "--format", "csv").out.splitlines()
    assert len(new) == 2
