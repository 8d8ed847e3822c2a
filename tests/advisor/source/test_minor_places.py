"""Findings that are low for what stands around them, and syntax that is said to be unknown."""

from __future__ import annotations

from gpuadvise.rules.source.lint import lint_cuda

TREE = """
  for (int step = 1; step < blockDim.x; step *= 2)
    if (threadIdx.x % (2 * step) == 0) x[threadIdx.x] += x[threadIdx.x + step];
"""
ALONE = f"__global__ void tree(float *x) {{{TREE}}}\n"
AFTER_WORK = (
    f"__global__ void tree(float *x, int n) {{\n  for (int i = 0; i < n; ++i) x[i] += i;{TREE}}}\n"
)
BROKEN = "__global__ void f(float *x) { if (threadIdx.x < 16) __syncthreads(); }\n"


def minor(source: str, rule: str) -> list[bool]:
    return [d.minor for d in lint_cuda(source.encode(), "a.cu", select={rule}).diagnostics]


def test_a_tree_at_the_end_of_work_is_minor() -> None:
    assert minor(ALONE, "divergent-branches") == [False]
    assert minor(AFTER_WORK, "divergent-branches") == [True]


def test_what_stands_in_test_code_is_minor_unless_it_breaks_the_kernel() -> None:
    test = "#include <gtest/gtest.h>\n"
    assert minor(test + ALONE, "divergent-branches") == [True]
    assert minor(ALONE + "TEST_F(Trees, Sum) { run(); }\n", "divergent-branches") == [True]
    assert minor(test + BROKEN, "divergent-barriers") == [False]


def test_functions_that_were_read_are_no_unknown_syntax() -> None:
    source = "namespace {\n" + ALONE + "} }\n"
    linted = lint_cuda(source.encode(), "a.cu", select={"divergent-branches"})
    assert [d.where.line for d in linted.diagnostics] == [4]
    assert all(not (r.line <= 3 <= r.end_line) for r in linted.unparsed)
    assert not linted.not_understood
