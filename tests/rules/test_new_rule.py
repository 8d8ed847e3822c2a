"""The command that writes a rule's skeleton: what it writes is a rule that fires and stays quiet."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.rules.deciding import numbers_of
from gpuadvise.rules.engine import judge
from gpuadvise.rules.model import Advice, Passed
from gpuadvise.rules.source.lint import lint_cuda, lint_python

if TYPE_CHECKING:
    from types import ModuleType

REPOSITORY = Path(__file__).parents[2]
ON_SOURCES = ("rules/guide/__init__.py", "rules/source/__init__.py", "CHANGELOG.md")
WRITTEN = (
    "rules/guide/__init__.py",
    "cli/rules/before_after.toml",
    "tests/rules/corpus/fine.toml",
    "tests/rules/corpus/faulty.toml",
    "CHANGELOG.md",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in {*WRITTEN, *ON_SOURCES}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    for folder in (
        "rules/guide/execution",
        "rules/source/cuda",
        "rules/source/python",
        "tests/advisor/source/cases",
    ):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def new_rule(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, REPOSITORY / "tests" / "new_rule.py", *arguments, "--to", checkout],
        capture_output=True,
        text=True,
        check=False,
    )


def loaded(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("fact", ["launch", "profile"])
def test_the_skeleton_is_a_rule(fact: str, checkout: Path) -> None:
    done = new_rule(checkout, "needless-copies", "--fact", fact, "--after", "tiny-blocks")
    assert (done.returncode, done.stderr) == (0, "")
    file = checkout / "rules/guide/execution/needless_copies.py"
    rule = loaded(file).RULE
    assert rule.id == "needless-copies"
    [fired] = judge(rule, described(dict(rule.examples.fires), from_catalogue).facts)
    [quiet] = judge(rule, described(dict(rule.examples.quiet), from_catalogue).facts)
    assert isinstance(fired, Advice)
    assert isinstance(quiet, Passed)
    assert [known.name for known in numbers_of(rule)] == ["needless-copies, at most"]


def test_all_that_goes_with_a_rule_is_written(checkout: Path) -> None:
    done = new_rule(checkout, "needless-copies", "--after", "tiny-blocks")
    assert set(done.stdout.splitlines()[:-1]) == {
        *WRITTEN,
        "rules/guide/execution/needless_copies.py",
    }
    listed = (checkout / WRITTEN[0]).read_text(encoding="utf-8")
    assert '    "execution.tiny_blocks",\n    "execution.needless_copies",\n' in listed
    code = tomllib.loads((checkout / WRITTEN[1]).read_text(encoding="utf-8"))
    assert set(code["needless-copies"]) == {"language", "before", "after"}
    fine = tomllib.loads((checkout / WRITTEN[2]).read_text(encoding="utf-8"))["kernel"]
    faulty = tomllib.loads((checkout / WRITTEN[3]).read_text(encoding="utf-8"))["case"]
    assert fine[-1]["name"].endswith("needless-copies must leave alone")
    assert faulty[-1]["low"] == ["needless-copies"]
    assert "- New rule `needless-copies`" in (checkout / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("source", "lint"), [("cuda", lint_cuda), ("python", lint_python)])
def test_the_skeleton_on_sources_is_a_rule(
    source: str, lint: Any, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = new_rule(checkout, "needless-naps", "--source", source, "--after", "narrow-elements")
    assert (done.returncode, done.stderr) == (0, "")
    file = checkout / f"rules/source/{source}/needless_naps.py"
    module = loaded(file)
    monkeypatch.setitem(sys.modules, f"gpuadvise.rules.source.{source}.needless_naps", module)
    monkeypatch.setattr(f"gpuadvise.rules.source.lint.{source.upper()}_RULES", ["needless-naps"])
    [seen] = lint(module.CHECK.code.before.encode(), "a").diagnostics
    assert (seen.rule, seen.action) == ("needless-naps", "FILL: what to write instead.")
    assert not lint(module.CHECK.code.after.encode(), "a").diagnostics
    [fired] = judge(module.RULE, described(dict(module.RULE.examples.fires), from_catalogue).facts)
    assert isinstance(fired, Advice)
    cases = f"tests/advisor/source/cases/needless-naps.{'py' if source == 'python' else 'cu'}"
    assert set(done.stdout.splitlines()[:-1]) == {
        *ON_SOURCES, str(file.relative_to(checkout)), cases,
    }  # fmt: skip
    guide, checked, changes = ((checkout / name).read_text() for name in ON_SOURCES)
    assert f'    "cuda.narrow_elements",\n    "{source}.needless_naps",\n' in guide
    assert f'{source.upper()}_RULES = (\n    "needless-naps",\n' in checked
    assert "`advise FILE.cu`\n\n- New rule `needless-naps`" in changes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Needless"], "error: 'Needless' is not in kebab case"),
        (["tiny-blocks"], "error: there is already a rule tiny-blocks."),
        (["slow-math", "--source", "cuda"], "error: there is already a rule slow-math."),
        (["a-fault", "--after", "no-rule"], "error: --after: there is no rule no-rule"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(
    arguments: list[str], message: str, checkout: Path
) -> None:
    for known in ("rules/guide/execution/tiny_blocks.py", "rules/source/cuda/slow_math.py"):
        shutil.copy(REPOSITORY / known, checkout / known)
    done = new_rule(checkout, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(message)


def test_nothing_of_a_skeleton_is_left() -> None:
    files = [*(REPOSITORY / "rules").rglob("*.py"), *(REPOSITORY / name for name in WRITTEN)]
    assert [
        str(file) for file in files if re.search(r"\bFILL\b", file.read_text(encoding="utf-8"))
    ] == []
