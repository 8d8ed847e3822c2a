"""The progress of measuring: a bar while a terminal watches, nothing in a pipe."""

from __future__ import annotations

import io

import pytest

from gpuadvise.cli.progress import progress


class Stream(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_for_a_terminal_alone(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    stream = Stream(terminal)
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with progress(2) as step:
        step("h2d [red]1 KiB\x1b[2J")
        step("h2d 4 KiB")
    shown = stream.getvalue()
    assert ("100%" in shown) is terminal
    assert ("h2d 4 KiB" in shown) is terminal
    assert "\x1b[2J" not in shown
