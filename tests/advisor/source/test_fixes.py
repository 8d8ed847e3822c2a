"""Edits: what they write, and that nothing is broken by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuadvise.advisor.source.diagnostic import Diagnostic, SourceRange, TextEdit
from gpuadvise.advisor.source.fixes import mended
from gpuadvise.advisor.source.lint import lint_cuda
from gpuadvise.advisor.source.python.lint import lint_python

CASES = Path(__file__).parent / "cases"


def fixed(text: str) -> str:
    data = text.encode()
    return mended(data, lint_cuda(data, "k.cu").diagnostics).data.decode()


def kernel(statement: str) -> str:
    return f"__global__ void k(float *out, float x, double y) {{ {statement} }}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("out[0] = x * 0.3;", "out[0] = x * 0.3f;"),
        ("out[0] = 1.e-3 + x;", "out[0] = 1.e-3f + x;"),
        ("out[0] = powf(x, 2.0f);", "out[0] = (x * x);"),
        ("out[0] = powf(x, 3);", "out[0] = (x * x * x);"),
        ("out[0] = powf(2.0f, x);", "out[0] = exp2f(x);"),
        ("out[0] = pow(10.0, y);", "out[0] = exp10(y);"),
        ("out[0] = 1.0f / sqrtf(x + 1.0f);", "out[0] = rsqrtf(x + 1.0f);"),
        ("out[0] = __shfl_down(x, 16);", "out[0] = __shfl_down_sync(0xffffffff, x, 16);"),
    ],
)
def test_a_mechanical_fix_writes(before: str, after: str) -> None:
    assert fixed(kernel(before)) == kernel(after)


@pytest.mark.parametrize(
    "statement",
    [
        "out[0] = powf(x, 1.0f / 3.0f);",  # cbrtf differs for x < 0
        "out[0] = powf(x, 0.5f);",  # sqrtf(-0.0f) is -0.0f
        "out[0] = powf(out[1]++, 2.0f);",  # would be evaluated twice
        "out[0] = pow(x, 2);",  # float or double, by the version of the headers
        "if (threadIdx.x < 7) out[0] = __shfl(x, 0);",  # which lanes take part?
    ],
)
def test_a_fix_that_may_change_a_result_is_left_to_a_person(statement: str) -> None:
    assert fixed(kernel(statement)) == kernel(statement)


def test_fixed_files_have_nothing_left_to_fix() -> None:
    for path in CASES.glob("*.cu"):
        data = path.read_bytes()
        once = mended(data, lint_cuda(data, path.name).diagnostics)
        twice = mended(once.data, lint_cuda(once.data, path.name).diagnostics)
        assert [d.rule for d in twice.fixed] == [d.rule for d in once.left]


def test_python_keywords_are_added_where_they_belong() -> None:
    data = (CASES / "blocking-moves.py").read_bytes()
    after = mended(data, lint_python(data, "t.py").diagnostics, python=True)
    assert b'x.to("cuda", non_blocking=True)' in after.data
    assert b"x.cuda(non_blocking=True)" in after.data
    assert not [d for d in lint_python(after.data, "t.py").diagnostics if d.edits]


def test_an_edit_that_breaks_the_file_changes_nothing() -> None:
    data = b"__global__ void k(float *a) { a[0] = 1; }"
    where = SourceRange(start=30, end=31, line=1, column=31, end_line=1, end_column=32)
    broken = Diagnostic(
        rule="r", file="f", where=where, seen="a", message="m", action="a",
        edits=(TextEdit(start=30, end=34, text="((("),),
    )  # fmt: skip
    result = mended(data, [broken])
    assert result.data == data
    assert result.left == (broken,)


def test_a_file_in_utf_16_is_linted_and_left_as_it_is() -> None:
    data = b"\xff\xfe" + kernel("out[0] = x * 0.3;").encode("utf-16-le")
    found = lint_cuda(data, "k.cu").diagnostics
    assert [d.rule for d in found] == ["implicit-double"]
    assert mended(data, found).data == data
