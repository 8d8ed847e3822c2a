"""``gpuadvise learn``: the pages of the documentation, whole, one step, or step by step at a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from select import select

import pytest

from gpuadvise.cli.learn.command import TUTORIALS, read_tutorial

PAGES = Path(__file__).parents[2] / "docs" / "tutorials"
LEARN = Path(__file__).parents[2] / "cli" / "learn"


def test_every_tutorial_is_there_in_the_words_of_its_page() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == set(TUTORIALS)
    for name in TUTORIALS:
        page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        assert (LEARN / f"{name}.md").read_text(
            encoding="utf-8"
        ) == page  # docs/generate.py writes it
        assert "\n".join(read_tutorial(name).steps) == page


def test_the_list(cli) -> None:
    said = cli("learn").out
    assert [line.split()[0] for line in said.splitlines()] == list(TUTORIALS)
    assert "A transpose, made fast; --step 1 to" in said


@pytest.mark.parametrize("name", TUTORIALS)
def test_all_of_one_and_each_step_of_it(cli, name: str) -> None:
    steps = read_tutorial(name).steps
    assert len(steps) > 3
    said = cli("learn", name).out
    assert said == "".join(cli("learn", name, "--step", str(n)).out for n in range(len(steps)))
    assert cli("learn", name, "--step", "1").out.startswith("## ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("elsewhere",), "is no tutorial"),
        (("transpose", "--step", "40"), "has steps 0 to"),
        (("transpose", "--step", "-1"), "--step"),
        (("--step", "1"), "--step is of one tutorial"),
    ],
)
def test_what_is_refused(cli, words: tuple[str, ...], said: str) -> None:
    done = cli("learn", *words)
    assert (done.code, said in done.err) == (2, True)


def at_a_terminal(*keys: str) -> tuple[int, str]:
    """Return exit code and screen of `learn transpose`, typed *keys* at one prompt after the other."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gpuadvise", "learn", "transpose"],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(theirs)
    screen, prompts = "", 0
    while select([ours], [], [], 60)[0]:
        try:
            text = os.read(ours, 4096).decode("utf-8", "replace")
        except OSError:  # it ended
            break
        if not text:
            break
        screen += text
        while screen.count("q: end. ") > prompts:
            os.write(ours, keys[prompts].encode())
            prompts += 1
    os.close(ours)
    return process.wait(60), screen


def test_a_walk_shows_a_step_after_each_enter() -> None:
    count = len(read_tutorial("transpose").steps)
    code, screen = at_a_terminal(*["\n"] * (count - 1))
    assert code == 0
    assert screen.index("Step 1") < screen.index("[1 of ") < screen.index("Step 2")
    assert f"[{count - 2} of {count - 1}]" in screen
    assert "```" not in screen


@pytest.mark.parametrize("key", ["q\n", "\x04"])
def test_a_walk_ends_where_somebody_ends_it(key: str) -> None:
    code, screen = at_a_terminal("\n", key)
    assert code == 0
    assert "Step 1" in screen
    assert "Step 2: " not in screen
