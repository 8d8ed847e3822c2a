"""Every rule over shapes of real code: what it must see, and what it must leave alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpuadvise.advisor.source.lint import CUDA_RULES, lint_cuda
from gpuadvise.advisor.source.python.lint import PYTHON_RULES, lint_python

CASES = Path(__file__).parent / "cases"
FILES = sorted(p for p in CASES.iterdir() if p.suffix in (".cu", ".py"))
EXPECTED = re.compile(r"(?://|#) expect: ([\w-]+)")
# Functions, classes and top-level blocks that a case file shows.
FEWEST_SHAPES = 12


def expected(text: str) -> list[tuple[int, str]]:
    return [
        (number, match[1])
        for number, line in enumerate(text.splitlines(), 1)
        for match in EXPECTED.finditer(line)
    ]


def seen(path: Path) -> list[tuple[int, str]]:
    lint = lint_python if path.suffix == ".py" else lint_cuda
    return [
        (d.where.line, d.rule)
        for part in parts(path.read_text())
        for d in lint(part.encode(), path.name, select={path.stem}).diagnostics
    ]


def parts(text: str) -> list[str]:
    """The files that dashed lines cut *text* into, each with its lines where they were."""
    cut = re.split(r"^(?://|#) ?---$", text, flags=re.MULTILINE)
    before = ""
    files = []
    for part in cut:
        files.append("\n" * before.count("\n") + part)
        before += part
    return files


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_rule_sees_exactly_what_is_marked(path: Path) -> None:
    assert seen(path) == expected(path.read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_case_file_shows_enough_of_both_kinds(path: Path) -> None:
    text = path.read_text()
    marks = len(expected(text))
    if path.suffix == ".py":
        shapes = len(re.findall(r"^# case:", text, re.MULTILINE))
    else:
        shapes = len(re.findall(r"^[^\s/#}].*\) (?:const )?\{", text, re.MULTILINE))
    assert shapes >= FEWEST_SHAPES
    assert 3 <= marks < shapes


def test_every_rule_has_its_cases() -> None:
    cuda = {i for rule in CUDA_RULES for i in rule.rules}
    assert {p.stem for p in CASES.glob("*.cu")} == cuda
    assert {p.stem for p in CASES.glob("*.py")} == set(PYTHON_RULES)
