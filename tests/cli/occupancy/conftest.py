"""A terminal for a real process, and the command line without fixtures for properties."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


def called(*args: str) -> Said:
    """Run the command line in this process; unlike a fixture it serves hypothesis too."""
    from gpuadvise.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(args))
    return Said(int(code), out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def call():
    return called


@pytest.fixture
def terminal():
    """Run the program with a terminal of some width as its output; return what it wrote."""

    def run(*args: str, width: int, **env: str) -> str:
        plain = {k: v for k, v in os.environ.items() if k not in ("COLORTERM", "NO_COLOR")}
        plain |= {"TERM": "xterm-256color", "COLUMNS": str(width), "LINES": "50", **env}
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        child = subprocess.Popen(
            [sys.executable, "-m", "gpuadvise", *args], stdout=theirs, stdin=theirs, env=plain
        )
        os.close(theirs)
        written = _everything(ours)
        assert child.wait(timeout=60) == 0
        return written.decode().replace("\r\n", "\n")

    return run


def _everything(fd: int) -> bytes:
    chunks = []
    with contextlib.suppress(OSError):  # Linux: EIO when the other side is closed
        while chunk := os.read(fd, 1 << 16):
            chunks.append(chunk)
    os.close(fd)
    return b"".join(chunks)
