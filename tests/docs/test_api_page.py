"""The page of the library shows what the library answers, and names all of it."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import gpuadvise

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "api.md"


def test_the_examples_are_real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS.parent / "tests" / "cli" / "recorded")
    ran = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert (ran.failed, ran.attempted > 15) == (0, True)


def test_every_function_has_a_row() -> None:
    rows = re.findall(r"^\| (`.*?)\| ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    named = set(re.findall(r"`(\w+)\(", " ".join(rows)))
    functions = {name for name in gpuadvise.__all__ if name[0].islower()}
    assert named - {"to_dict", "to_rows", "str"} == functions


@pytest.mark.parametrize(
    "code", re.findall(r"```python\n((?!>>>).*?)```", PAGE.read_text("utf-8"), re.DOTALL)
)
def test_other_code_is_python(code: str) -> None:
    compile(code, str(PAGE), "exec")
