"""Rules of the user's own."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.errors import BadInput
from gpuadvise.rules import extra
from gpuadvise.rules.extra import with_own
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.guide.execution.partial_warp import RULE

if TYPE_CHECKING:
    from pathlib import Path

OWN = '''
"""Grids of more than a million blocks."""
from gpuadvise.rules.model import (
    PASSED, Advice, Evidence, Examples, Kind, Priority, Rule, Topic, Verdict,
)
from gpuadvise.rules.sources import guide

def check(grid: tuple[int, int, int]) -> Verdict:
    """Advise above a million blocks."""
    if grid[0] <= 1_000_000:
        return PASSED
    return Advice(
        message=f"{grid[0]:,} blocks.",
        action="Let each thread loop.",
        evidence=(Evidence(label="blocks", value=grid[0], unit="blocks", source="you"),),
    )

RULE = Rule(
    id="huge-grid", title="Loop instead", topic=Topic.EXECUTION, priority=Priority.LOW,
    kinds=(Kind.LAUNCH,), why="House rule.", when="Above a million blocks.",
    citations=guide("11.3"), check=check,
    examples=Examples(fires={"block": 32, "grid": 2_000_000}, quiet={"block": 32, "grid": 1}),
)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "huge_grid.py").write_text(OWN)
    (tmp_path / "_helper.py").write_text("raise RuntimeError('not a rule')")
    return tmp_path


def test_a_folder_of_rules_comes_after_ours(folder: Path) -> None:
    rules = with_own(RULES, [str(folder)])
    assert rules[:-1] == RULES
    assert rules[-1].id == "huge-grid"
    assert rules[-1].needs == ("grid",)


def test_an_own_rule_advises_and_explains_itself(folder: Path, cli, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    ran = cli(
        "advise", "--block", "32", "--grid", "2000000", "--gpu", "h200", "--rules", str(folder),
        "--select", "huge-grid",
    )  # fmt: skip
    assert "1. LOW  Loop instead  [huge-grid]" in ran.out
    assert "2,000,000 blocks. House rule." in ran.out
    explained = cli("rules", "huge-grid", "--rules", str(folder))
    assert explained.code == 0
    assert "Fires when: Above a million blocks." in explained.out


def test_without_the_option_nothing_is_loaded(folder: Path, cli, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    assert cli("rules", "huge-grid").code == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "cannot be loaded: ZeroDivisionError: division by zero."),
        ("import nothing_like_it", "cannot be loaded: ModuleNotFoundError"),
        ("def check(:", "cannot be loaded: SyntaxError"),
        ("RULE = 3", "has no RULE made by gpuadvise.rules.model.Rule."),
        (OWN.replace("(grid:", "(grit:"), 'check() asks for "grit", which is not a fact.'),
        (OWN.replace("huge-grid", "partial-warp"), 'there is already a rule "partial-warp".'),
        ("raise SystemExit(0)", "cannot be loaded: SystemExit: 0."),
        (OWN.replace("huge-grid", "Huge Grid"), "id of its RULE cannot be used."),
        (OWN.replace("huge-grid", "huge-grid\\n"), "id of its RULE cannot be used."),
        (OWN.replace('"Loop instead"', "3"), "title of its RULE cannot be used."),
        (OWN.replace("Topic.EXECUTION", "'house'"), "topic of its RULE cannot be used."),
        (OWN.replace("Priority.LOW", "'urgent'"), "priority of its RULE cannot be used."),
        (OWN.replace("(Kind.LAUNCH,)", "[Kind.LAUNCH]"), "kinds of its RULE cannot be used."),
        (OWN.replace('guide("11.3")', "()"), "citations of its RULE cannot be used."),
        (
            OWN.replace("check=check", 'check=check, folds_into="tiny-block"'),
            "folds_into names tiny-block, and there is no such rule. Did you mean tiny-blocks?",
        ),
        (
            OWN.replace("check=check", 'check=check, silenced_by="tail-effect"'),
            "silenced_by of its RULE cannot be used.",
        ),
        (OWN.replace("examples=Examples", "examples=dict"), "examples of its RULE cannot be used."),
    ],
)
def test_a_rule_that_cannot_be_used_is_named_with_its_file(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(BadInput) as caught:
        with_own(RULES, [str(tmp_path)])
    assert message in caught.value.message
    assert str(tmp_path / "own.py") in caught.value.message


@pytest.mark.parametrize(
    ("asked", "hint"),
    [("grit", "Did you mean grid?"), ("zzzz", "docs/adding-a-rule.md lists the facts.")],
)
def test_a_fact_that_is_none_has_a_near_one(asked: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN.replace("(grid:", f"({asked}:"))
    with pytest.raises(BadInput) as caught:
        with_own(RULES, [str(tmp_path)])
    assert caught.value.hint == hint


def test_a_folder_without_rules(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        with_own(RULES, [str(tmp_path)])
    assert "holds no rule" in caught.value.message


def test_what_is_neither_folder_nor_package() -> None:
    with pytest.raises(BadInput) as caught:
        with_own(RULES, ["nowhere"])
    assert caught.value.message == '--rules: "nowhere" is neither a folder nor an entry point.'
    assert "gpuadvise.rules" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "value", ["gpuadvise.rules.guide.execution.partial_warp:RULE", "gpuadvise.rules.guide:RULES"]
)
def test_an_installed_package_announces_rules(value: str, monkeypatch) -> None:
    point = EntryPoint(name="house", value=value, group=extra.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])
    assert RULE.id in {rule.id for rule in with_own((), ["house"])}


def test_a_package_that_breaks(monkeypatch) -> None:
    point = EntryPoint(name="house", value="nothing.like:it", group=extra.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])
    with pytest.raises(BadInput) as caught:
        with_own((), ["house"])
    assert 'The entry point "house" cannot be loaded' in caught.value.message


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("return 5", "check() answered neither Advice, a tuple of them nor PASSED"),
        ("return (5,)", "check() answered neither Advice, a tuple of them nor PASSED"),
        ("return None", "check() answered neither Advice, a tuple of them nor PASSED"),
    ],
)
def test_an_own_rule_that_breaks_does_not_silence_ours(
    answer: str, message: str, tmp_path: Path, cli, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN.replace("return PASSED", answer))
    ran = cli("advise", "--block", "33", "--grid", "9", "--gpu", "h200", "--rules", ".", "--all")
    assert ran.code == 3
    assert "[partial-warp]" in ran.out
    assert f"The rule huge-grid broke: {message}" in ran.out
