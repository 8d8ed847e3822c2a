"""Every command that a page shows with its output runs, and says what the page says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
RECORDED = ROOT / "tests" / "cli" / "recorded"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
# What pages call files of their reader, and what we have of the kind.
FILES = {
    "package.whl": "small-1.0-py3-none-any.whl",
    "libapp.so": "libsmall.so",
    "kernel.cubin": "spilling.cubin",
    "trace.json": "pageable.trace.json",
    "pinned.json": "pinned.trace.json",
}
LEFT_OUT = "..."


def shown(page: str) -> Iterator[tuple[str, str]]:
    """Yield each command of *page* with the output below it."""
    for block in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        yield from COMMAND.findall(block)


def said(command: str, folder: Path, cli) -> str:
    """Return what *command* prints in *folder*, with a shell where it needs one."""
    if command.startswith("gpuadvise ") and not re.search(r"[|>;]", command):
        return str(cli(*shlex.split(command)[1:]).out)
    program = folder / "gpuadvise"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpuadvise "$@"\n')
    program.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command], env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    return done.stdout


def matches(page: str, output: str) -> bool:
    """Return whether *page* shows *output*, or parts of it in order with a line ... between."""
    at = 0
    for part in page.split(f"{LEFT_OUT}\n"):
        found = output.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return LEFT_OUT in page or page == output


PAGES = ("worked-examples.md", "start.md")
LINES = [(page, *pair) for page in PAGES for pair in shown(page)]


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell runs the examples")
@pytest.mark.parametrize(
    ("page", "command", "output"), LINES, ids=[f"{row[0]}:{row[1][:60]}" for row in LINES]
)
def test_a_shown_command_says_that(
    page: str,
    command: str,
    output: str,
    cli,
    tmp_path: Path,
    monkeypatch,
    request: pytest.FixtureRequest,
) -> None:
    for name, recorded in FILES.items():
        shutil.copy(RECORDED / recorded, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPUADVISE_GPU", raising=False)
    real = said(command, tmp_path, cli)
    assert real, "it prints nothing"
    if request.config.getoption("--update-golden") and LEFT_OUT not in output:
        text = (DOCS / page).read_text(encoding="utf-8")
        new = text.replace(f"$ {command}\n{output}", f"$ {command}\n{real}")
        (DOCS / page).write_text(new, encoding="utf-8", newline="\n")
        return
    assert matches(output, real), f"docs/{page} shows:\n{output}\nit says:\n{real}"


def test_what_is_left_out_is_told_from_what_is_wrong() -> None:
    assert matches("a\nb\n", "a\nb\n")
    assert not matches("a\n", "a\nb\n")
    assert matches("a\n...\n", "a\nb\n")
    assert matches("a\n...\nc\n", "a\nb\nc\n")
    assert not matches("c\n...\na\n", "a\nb\nc\n")
