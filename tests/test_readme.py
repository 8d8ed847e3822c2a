"""What the README shows is what the program says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
SCREEN = re.compile(r"```console\n\$ gpuadvise ([^\n]*)\n(.*?)```", re.DOTALL)
PIPES = re.compile(r"```sh\n(# one value.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)\)")


def test_the_screen_is_real(cli, request: pytest.FixtureRequest) -> None:
    text = README.read_text(encoding="utf-8")
    (shown,) = SCREEN.finditer(text)
    said = cli(*shown[1].split()).out
    if request.config.getoption("--update-golden"):
        whole = f"```console\n$ gpuadvise {shown[1]}\n{said}```"
        README.write_text(text.replace(shown[0], whole), encoding="utf-8")
    else:
        assert shown[2] == said
    assert len(said.splitlines()) <= 30


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell runs the examples")
@pytest.mark.parametrize("example", PIPES.search(README.read_text("utf-8"))[1].split("\n\n"))
def test_the_pipes_work(example: str, tmp_path: Path) -> None:
    program = tmp_path / "gpuadvise"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpuadvise "$@"\n')
    program.chmod(0o755)
    script = example.replace("| jq '.result.limits'", "| grep -q '\"registers\": 4'")
    done = subprocess.run(
        ["sh", "-euc", script],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_two_commands_are_those_that_ci_runs() -> None:
    text = README.read_text(encoding="utf-8")
    assert "\nsh tests/run\n" in text
    assert "\nsh tests/run\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page",
    [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))],
    ids=lambda p: p.name,
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target
