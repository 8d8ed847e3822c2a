"""Saved answers under names: tagged, listed, shown, deleted, and compared with."""

from __future__ import annotations

import json
import os
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

RECORDED = Path(__file__).parent / "recorded"
LOG = str(RECORDED / "spilling.log")
GATE = ("kernels", LOG, "--fail-on-spills", "--baseline", "main")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli) -> Path:
    """Return the folder of the call, with a saved answer of kernels in it."""
    monkeypatch.chdir(tmp_path)
    Path("before.json").write_text(cli("kernels", LOG, "--json").out)
    return tmp_path


def test_a_tag_is_what_a_gate_compares_with(folder: Path, cli) -> None:
    assert cli(*GATE).code == 2  # nothing has that name
    ran = cli("baseline", "tag", "main", "before.json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("Compare with it: gpuadvise kernels ... --baseline main\n")
    (folder / "before.json").unlink()
    assert cli(*GATE).code == 0
    listed = cli("baseline", "list").out
    assert listed == cli("baseline").out
    path = os.path.join(".gpuadvise", "baselines", "main.kernels.json")
    assert listed.startswith(f"main  kernels  {path}, ")
    shown = cli("baseline", "show", "main").out
    assert "\n  1 kernel\n" in shown
    deleted = cli("baseline", "delete", "main")
    assert (deleted.code, deleted.out) == (0, f"main: {path} is deleted.\n")
    assert cli(*GATE).code == 2
    assert cli("baseline").out.startswith("No baseline has a name here.")


def test_without_a_file_the_newest_answer_is_taken(folder: Path, cli) -> None:
    for name, text in (("a.json", "{}"), ("b.json", "["), ("empty.json", "")):
        Path(name).write_text(text)
    Path("newer.json").write_text(cli("kernels", str(RECORDED / "old.log"), "--json").out)
    os.utime("before.json", (1, 1))
    ran = cli("baseline", "tag", "main")
    assert (ran.code, ran.err) == (0, 'note: The newest saved answer here is "newer.json".\n')
    Path("newer.json").unlink()
    Path("before.json").unlink()
    ran = cli("baseline", "tag", "main")
    assert (ran.code, ran.out) == (2, "")
    assert "This folder holds no saved answer of kernels, advise or lint." in ran.err


def test_one_name_holds_an_answer_of_each_command(folder: Path, cli, monkeypatch) -> None:
    cli("baseline", "tag", "main", "before.json")
    toml = str(RECORDED / "kernel.toml")
    answer = cli("advise", toml, "--json").out
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(answer.encode())))
    assert cli("baseline", "tag", "main", "-").code == 0
    assert [line.split()[:2] for line in cli("baseline").out.splitlines()] == [
        ["main", "advise"], ["main", "kernels"]
    ]  # fmt: skip
    assert cli("advise", toml, "--fail-on", "low", "--baseline", "main").code == 0
    assert cli(*GATE).code == 0
    assert "finding" in cli("baseline", "show", "main").out


def test_where_the_settings_place_a_name_it_is_kept(folder: Path, cli) -> None:
    Path("gpuadvise.toml").write_text(
        '[baselines]\nmain = "perf/main.{command}.json"\nold = "perf/old.json"\n'
    )
    assert cli("baseline").out.splitlines() == [
        "main  kernels  perf/main.kernels.json, which is not there",
        "old   kernels  perf/old.json, which is not there",
    ]
    assert cli("baseline", "delete", "main").code == 2
    assert cli("baseline", "tag", "main", "before.json").code == 0
    assert Path("perf/main.kernels.json").read_text() == Path("before.json").read_text()
    assert not Path(".gpuadvise").exists()
    assert cli(*GATE).code == 0
    assert cli("baseline", "tag", "main", "perf/main.kernels.json").code == 2  # it is that already
    assert cli("baseline", "delete", "main").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tag",), "A name is missing."),
        (("show",), "A name is missing."),
        (("tag", "../up", "before.json"), '"../up" is not a name of a baseline.'),
        (("tag", "..", "before.json"), '".." is not a name of a baseline.'),
        (("tag", "a/b", "before.json"), '"a/b" is not a name of a baseline.'),
        (("tag", "\x1b[31m", "before.json"), "is not a name of a baseline."),
        (("tag", "main", "none.json"), "there is no such file"),
        (
            ("tag", "main", "other.json"),
            '"other.json" is no saved answer of kernels, advise or lint.',
        ),
        (("tag", "main", "later.json"), 'is "gpuadvise.kernels/9"; this gpuadvise reads'),
        (("tag", "main", "text.json"), "is no saved answer"),
        (("tag", "main", "."), "cannot be read"),
        (("delete", "main"), 'No baseline here is called "main".'),
        (("show", "main", "before.json"), "show takes a name alone."),
        (("list", "main"), "list takes no name."),
        (("frob",), '"frob" is not an action.'),
    ],
)
def test_what_cannot_be_is_said(words: tuple[str, ...], said: str, folder: Path, cli) -> None:
    Path("other.json").write_text('{"schema": "gpuadvise.compat/1"}')
    Path("later.json").write_text('{"schema": "gpuadvise.kernels/9"}')
    Path("text.json").write_text("[" * 100_000)
    ran = cli("baseline", *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert not Path(".gpuadvise").exists()


def test_a_folder_that_cannot_be_written_is_said(folder: Path, cli) -> None:
    Path(".gpuadvise").write_text("")
    ran = cli("baseline", "tag", "main", "before.json")
    assert (ran.code, ran.out) == (3, "")
    assert "cannot be written: Not a directory." in ran.err


def test_a_tag_that_was_changed_is_shown_as_what_it_is(folder: Path, cli) -> None:
    cli("baseline", "tag", "main", "before.json")
    kept = Path(".gpuadvise/baselines/main.kernels.json")
    document = json.loads(kept.read_text())
    kept.write_text(json.dumps(document | {"input": {"gpu": "\x1b[31m"}}))
    ran = cli("baseline", "show", "main")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    kept.write_text("{")
    assert cli("baseline", "show", "main").code == 2
    assert cli(*GATE).code == 2
