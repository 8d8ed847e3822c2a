"""``lint --watch``: an answer at once and after each change, until Ctrl-C, which is no fault."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from select import select
from typing import TYPE_CHECKING

import pytest

from gpuadvise.cli.lint.watch import state_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FAULT = "__global__ void k(float *a, float x) { a[0] = x * 0.3; }\n"
SECONDS = 60  # until something that is expected must have been printed


class Watching:
    """A running ``lint --watch`` and what it printed so far."""

    def __init__(self, folder: Path, *options: str, terminal: bool = False) -> None:
        self.text = ""
        reading, writing = pty.openpty() if terminal else os.pipe()
        self.output = reading
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gpuadvise", "lint", "--watch", "0.1s", *(options or (".",))],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        os.close(writing)

    def until(self, words: str) -> str:
        """Return what was printed since the last call up to *words*."""
        end = time.monotonic() + SECONDS
        while words not in self.text:
            assert select([self.output], [], [], max(0, end - time.monotonic()))[0], self.text
            self.text += os.read(self.output, 4096).decode()
        before, _, self.text = self.text.partition(words)
        return before

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(SECONDS)
        finally:
            os.close(self.output)


@pytest.fixture
def folder(tmp_path: Path, default_signals: None) -> Iterator[Path]:
    (tmp_path / "k.cu").write_text(FAULT)
    return tmp_path


def test_each_change_is_judged(folder: Path) -> None:
    watching = Watching(folder)
    assert "implicit-double" in watching.until("Ctrl-C ends.")
    (folder / "k.cu").write_text(FAULT.replace("0.3", "0.25f"))
    assert "no fault" in watching.until("Ctrl-C ends.")
    (folder / "new.cu").write_text(FAULT)
    said = watching.until("Ctrl-C ends.")
    assert "new.cu:1" in said
    assert "2 files" in said
    (folder / "gpuadvise.toml").write_text('exclude = ["new.cu"]\n')
    assert "1 file:" in watching.until("Ctrl-C ends.")
    (folder / "gpuadvise.toml").write_text("exclude = 3\n")
    watching.until("error: gpuadvise.toml: exclude")
    (folder / "gpuadvise.toml").unlink()
    assert "2 files" in watching.until("Ctrl-C ends.")
    assert "\x1b" not in watching.text
    assert watching.end() == 0


def test_a_named_file_may_be_gone_for_a_while(folder: Path) -> None:
    watching = Watching(folder, "k.cu", "--fail-on", "low")
    assert "implicit-double" in watching.until("Ctrl-C ends.")
    (folder / "k.cu").unlink()
    watching.until("there is no such file")
    (folder / "k.cu").write_text(FAULT)
    assert "implicit-double" in watching.until("Ctrl-C ends.")
    assert watching.end() == 0


def test_a_terminal_is_cleared(folder: Path) -> None:
    watching = Watching(folder, terminal=True)
    assert "\x1b[2J" in watching.until("Ctrl-C ends.")
    assert watching.end() == 0


def test_what_is_watched(folder: Path) -> None:
    (folder / "build").mkdir()
    for name in ("build/b.cu", "notes.txt", "a.py", "h.hpp"):
        (folder / name).write_text("")
    names = {os.path.relpath(path, folder) for path in state_of([str(folder)])}
    assert names == {"k.cu", "a.py", "h.hpp"}
    assert list(state_of([str(folder / "k.cu")])) == [str(folder / "k.cu")]


def test_what_cannot_be_watched(folder: Path, process) -> None:
    source = str(folder / "k.cu")
    for options in (("--fix", source), ("--diff", source), ("-",)):
        done = process("lint", "--watch", "1s", *options)
        assert (done.code, "is not for --watch" in done.err) == (2, True)
    assert process("lint", "--watch", "soon", source).code == 2
    assert process("lint", "--watch", "1s", str(folder / "missing.cu")).code == 2
    assert process("lint", "--watch", "1s", "--runtime", "--", "true").code == 2
