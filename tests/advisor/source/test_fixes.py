"""Edits: what they write, and that nothing is broken by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuadvise.advisor.source.diagnostic import Diagnostic, SourceRange, TextEdit
from gpuadvise.advisor.source.fixes import mended
from gpuadvise.rules.source.lint import lint_cuda, lint_python

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


@pytest.mark.parametrize(
    "statement",
    [
        "out[0] = powf(/* base */ x, 2.0f);",
        "out[0] = powf(x, // base\n 2.0f);",
        "out[0] = 1.0f / /* the root */ sqrtf(x);",
        "out[0] = 1.0f / sqrtf(x\n#ifdef EPSILON\n + 1.0f\n#endif\n);",
        "out[0] = powf(x, \\\n 2.0f);",
        "float exp2f = 1.0f; out[0] = powf(2.0f, x) * exp2f;",
        "volatile float v = out[1]; out[0] = powf(v, 2.0f);",
    ],
    ids=[
        "comment",
        "line comment",
        "comment before",
        "directive",
        "joined line",
        "shadow",
        "volatile",
    ],
)
def test_a_fix_takes_nothing_away_but_code(statement: str) -> None:
    assert fixed(kernel(statement)) == kernel(statement)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\ufeff/* 가 */ o[0] = x * 0.3;\r\n\to[1] = x * .7;\r\n", "\ufeff/* 가 */ o[0] = x * 0.3f;\r\n\to[1] = x * .7f;\r\n"),
        ("o[0] = SQUARE(powf(x, 2.0f));", "o[0] = SQUARE((x * x));"),
        ("o[0] = x > 0.1 ? powf (x, 2.0f) : - x;", "o[0] = x > 0.1f ? (x * x) : - x;"),
        ("o[0] = y / (1.0f / ::sqrtf(x)) / y;", "o[0] = y / (rsqrtf(x)) / y;"),
        ("o[0] = x * x * 1'000.1;", "o[0] = x * x * 1'000.1f;"),
        ("#ifdef A\n o[0] = x * 0.3;\n#else\n o[0] = x * 0.7;\n#endif\n", "#ifdef A\n o[0] = x * 0.3f;\n#else\n o[0] = x * 0.7f;\n#endif\n"),
        ("o[0] = __shfl /* lane */ (/* v */ __shfl_down(x, 1), 0);", "o[0] = __shfl_sync /* lane */ (/* v */ 0xffffffff, __shfl_sync(0xffffffff, x, 1), 0);".replace("__shfl_sync(0xffffffff, x", "__shfl_down_sync(0xffffffff, x")),
    ],
    ids=["mark, tabs, line breaks", "macro", "choice", "quotient", "separator", "both branches", "nested"],
)  # fmt: skip
def test_a_fix_in_an_awkward_place(before: str, after: str) -> None:
    head = "__global__ void k(float *o, float x, float y) {\n"
    mark, text = before[:1] if before[0] == "\ufeff" else "", before.removeprefix("\ufeff")
    assert fixed(mark + head + text + "}\n") == mark + head + after.removeprefix("\ufeff") + "}\n"


LOOP = "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(d, pin_memory=True)\nfor x in loader:\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('    x = x.to("cuda")\n', '    x = x.to("cuda", non_blocking=True)\n'),
        ('    x = x.to(("cuda"))\n', '    x = x.to(("cuda"), non_blocking=True)\n'),
        ('    x = x.to("cuda",)\n', '    x = x.to("cuda", non_blocking=True,)\n'),
        ('    x = x.to(\n        "cuda"  # the first\n    )\n', '    x = x.to(\n        "cuda", non_blocking=True  # the first\n    )\n'),
        ("    x = x.cuda(  # here\n    )\n", "    x = x.cuda(  # here\n    non_blocking=True)\n"),
        ('    s = "가"; x = x \\\n    .to("cuda")\n', '    s = "가"; x = x \\\n    .to("cuda", non_blocking=True)\n'),
    ],
    ids=["plain", "brackets", "comma", "comment", "no argument", "joined line"],
)  # fmt: skip
@pytest.mark.parametrize("form", ["plain", "mark", "line breaks"])
def test_a_keyword_in_an_awkward_place(before: str, after: str, form: str) -> None:
    def bytes_of(text: str) -> bytes:
        text = text.replace("\n", "\r\n") if form == "line breaks" else text
        return text.encode("utf-8-sig" if form == "mark" else "utf-8")

    data = bytes_of(LOOP + before)
    result = mended(data, lint_python(data, "t.py").diagnostics, python=True)
    assert result.data == bytes_of(LOOP + after)


def test_python_that_would_mean_something_else_stays() -> None:
    data = b"x = f(a)\n"
    where = SourceRange(start=4, end=5, line=1, column=5, end_line=1, end_column=6)
    renamed = Diagnostic(
        rule="r", file="f", where=where, seen="f", message="m", action="a",
        edits=(TextEdit(start=4, end=5, text="g"),),
    )  # fmt: skip
    assert mended(data, [renamed], python=True).data == data


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
