"""Every rule over shapes of real code: what it must see, and what it must leave alone."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gpuadvise.rules.source import CUDA_RULES, PYTHON_RULES
from gpuadvise.rules.source.lint import lint_cuda, lint_python

CASES = Path(__file__).parent / "cases"
SHAPES = Path(__file__).parent / "shapes"  # as programs write them; each CUDA file compiles
FILES = sorted(p for d in (CASES, SHAPES) for p in d.iterdir() if p.suffix in (".cu", ".py"))
RULES = sorted({p.name for p in FILES})
EXPECTED = re.compile(r"(?://|#) expect: ([\w-]+)")
# Functions, or marked blocks of Python, in which a rule sees something, and in which it does not.
FEWEST_FIRING, FEWEST_QUIET = 6, 12
FUNCTION = re.compile(r"^[^\s/#}].*\) (?:const )?\{", re.MULTILINE)
BLOCK = re.compile(r"^# case:", re.MULTILINE)
PLAIN = re.compile(r"\b(?:kernel|main)\(")
NVCC = shutil.which("nvcc")


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


def shapes(name: str) -> tuple[int, int]:
    """How many shapes the files called *name* show with a mark, and without one."""
    firing = quiet = 0
    for path in (p for p in FILES if p.name == name):
        text = path.read_text()
        start = BLOCK if path.suffix == ".py" else FUNCTION
        starts = [m.start() for m in start.finditer(text)]
        for first, last in zip(starts, [*starts[1:], len(text)], strict=True):
            marked = bool(EXPECTED.search(text, first, last))
            firing += marked
            quiet += not marked and not PLAIN.search(text[first:last].split("\n")[0])
    return firing, quiet


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_shown_enough_of_both_kinds(name: str) -> None:
    firing, quiet = shapes(name)
    assert firing >= FEWEST_FIRING
    assert quiet >= FEWEST_QUIET


@pytest.mark.skipif(NVCC is None, reason="no toolkit on PATH")
@pytest.mark.parametrize("path", sorted(SHAPES.glob("*.cu")), ids=lambda p: p.name)
def test_a_shape_compiles(path: Path, tmp_path: Path) -> None:
    words = [
        str(NVCC),
        "-arch=sm_80",
        "-cubin",
        "-w",
        "-o",
        str(tmp_path / "shape.cubin"),
        str(path),
    ]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    if path.stem == "legacy-warp-intrinsics":
        # Which is what the rule says.
        assert "__shfl_down" in run.stderr
    else:
        assert run.returncode == 0, run.stderr


def test_every_rule_has_its_cases() -> None:
    assert {p.stem for p in CASES.glob("*.cu")} == set(CUDA_RULES)
    assert {p.stem for p in CASES.glob("*.py")} == set(PYTHON_RULES)
