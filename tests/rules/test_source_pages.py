"""The page of a rule on sources is its test: the code before is found, the code after is quiet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.source.fixes import mended
from gpuadvise.rules.source import CUDA_RULES, PYTHON_RULES, cuda_check, python_check
from gpuadvise.rules.source.lint import lint_cuda, lint_python

if TYPE_CHECKING:
    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.rules.source.model import BeforeAfter

RULES = [*(("cuda", rule) for rule in CUDA_RULES), *(("python", rule) for rule in PYTHON_RULES)]
each_rule = pytest.mark.parametrize(("source", "rule"), RULES, ids=lambda name: name)


def code(source: str, rule: str) -> BeforeAfter:
    return python_check(rule).code if source == "python" else cuda_check(rule).code


def faults(source: str, rule: str, text: bytes) -> tuple[Diagnostic, ...]:
    if source == "python":
        return lint_python(text, "page.py", select={rule}).diagnostics
    return lint_cuda(text, "page.cu", select={rule}).diagnostics


@each_rule
def test_the_code_before_is_found_and_the_code_after_is_quiet(source: str, rule: str) -> None:
    page = code(source, rule)
    assert {fault.rule for fault in faults(source, rule, page.before.encode())} == {rule}
    assert not faults(source, rule, page.after.encode())


@each_rule
def test_what_fix_writes_ends_the_fault(source: str, rule: str) -> None:
    text = code(source, rule).before.encode()
    seen = faults(source, rule, text)
    whole = bool(seen) and all(fault.edits for fault in seen)
    fixed = mended(text, seen, python=source == "python").data
    assert bool(faults(source, rule, fixed)) is not whole
