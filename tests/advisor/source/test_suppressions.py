"""Comments that accept a fault, and comments that accept none."""

from __future__ import annotations

import pytest

from gpuadvise.rules.source.lint import lint_cuda, lint_python

KERNEL = "__global__ void k(float *out, float x) {{\n{}\n}}\n"


@pytest.mark.parametrize(
    "line",
    [
        "out[0] = x * 0.3;  // gpuadvise: ignore[implicit-double] meant",
        "// gpuadvise: ignore[implicit-double] meant\nout[0] = x * 0.3;",
        "// gpuadvise: ignore\n// more words\n\nout[0] = x * 0.3;",
        "out[0] = x * 0.3;  /* gpuadvise: ignore[slow-math, implicit-double] both */",
    ],
)
def test_a_comment_accepts_a_fault(line: str) -> None:
    result = lint_cuda(KERNEL.format(line).encode(), "k.cu")
    assert not result.diagnostics
    assert [d.rule for d in result.accepted] == ["implicit-double"]
    assert not result.unused


def test_a_comment_accepts_faults_of_the_whole_file() -> None:
    text = (
        f"// gpuadvise: ignore-file[implicit-double] a table\n{KERNEL.format('out[0] = x * 0.3;')}"
    )
    result = lint_cuda(text.encode(), "k.cu")
    assert not result.diagnostics
    assert [d.rule for d in result.accepted] == ["implicit-double"]
    (unused,) = lint_cuda(text.replace("0.3", "0.3f").encode(), "k.cu").unused
    assert (unused.reason, unused.applies_to) == ("a table", None)
    other = lint_cuda(text.replace("implicit-double", "slow-math").encode(), "k.cu")
    assert [d.rule for d in other.diagnostics] == ["implicit-double"]


@pytest.mark.parametrize(
    "line",
    [
        "out[0] = x * 0.3;  // gpuadvise: ignore[slow-math]",
        "// gpuadvise: ignore[implicit-double]\nout[1] = 0;\nout[0] = x * 0.3;",
    ],
)
def test_a_comment_that_accepts_nothing_is_reported(line: str) -> None:
    result = lint_cuda(KERNEL.format(line).encode(), "k.cu")
    assert [d.rule for d in result.diagnostics] == ["implicit-double"]
    assert len(result.unused) == 1


def test_a_rule_that_did_not_run_says_nothing_about_its_comments() -> None:
    line = "out[0] = x * 0.3;  // gpuadvise: ignore[implicit-double]"
    result = lint_cuda(KERNEL.format(line).encode(), "k.cu", ignore={"implicit-double"})
    assert not result.unused


def test_the_reason_is_kept() -> None:
    line = "out[0] = x;  // gpuadvise: ignore[slow-math] until the next release"
    (comment,) = lint_cuda(KERNEL.format(line).encode(), "k.cu").unused
    assert comment.reason == "until the next release"
    assert comment.where.line == 2


def test_python_has_its_own_comments() -> None:
    text = 'import torch\nfor i in range(9):\n    z = torch.zeros(8).to("cuda")  # gpuadvise: ignore[host-built-tensors] tiny\n'
    result = lint_python(text.encode(), "t.py")
    assert not result.diagnostics
    assert len(result.accepted) == 1
