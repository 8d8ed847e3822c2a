"""Calls that lack what they are usually given: every Python case is linted again with one call after the other emptied."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gpuadvise.rules.source.lint import lint_python

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))


def calls_in(tree: ast.Module) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_call_without_its_arguments_ends_in_an_answer(case: Path) -> None:
    text = case.read_text(encoding="utf-8").replace("async=True", "non_blocking=True")
    for at in range(0, len(calls_in(ast.parse(text))), 2):
        tree = ast.parse(text)
        call = calls_in(tree)[at]
        call.args, call.keywords = [], []
        lint_python(ast.unparse(tree).encode(), case.name)
