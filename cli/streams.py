"""The standard streams: open whatever the caller did, and written whole or not at all."""

from __future__ import annotations

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# What stands for a stream that the caller closed: no input, an output that refuses, no notes.
_MODES = {"stdin": "r", "stdout": "r", "stderr": "w"}


class CompleteFile(FileIO):
    """A file whose ``write`` writes everything, or raises.

    One system call may write a part: to a full disk, to a pipe while the process is stopped, to a
    pipe that another process made non-blocking. With ``PYTHONUNBUFFERED`` Python drops the rest.
    """

    def write(self, data: ReadableBuffer, /) -> int:
        """Write all of *data* and return its bytes; raises OSError."""
        with memoryview(data).cast("B") as view:
            at = 0
            while at < len(view):
                try:
                    at += os.write(self.fileno(), view[at:])
                except BlockingIOError:
                    import select

                    select.select([], [self.fileno()], [])
            return len(view)


def prepare() -> None:
    """Open what the caller closed, and let no character and no short write stop an answer.

    A closed stream is None in Python, ``print`` then writes to another one, and the next file
    that is opened gets its number.
    """
    for name, mode in _MODES.items():
        if getattr(sys, name) is None:
            stands_in = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - for good
            setattr(sys, name, stands_in)
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.writable():
        sys.stdout = _complete(sys.stdout)
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


def _complete(stream: TextIOWrapper) -> TextIOWrapper:
    """Return *stream*'s file as one that is written whole; lines go out as they did."""
    if sys.platform == "win32" and stream.isatty():
        stream.reconfigure(errors="backslashreplace")  # its console takes text, not bytes
        return stream
    return TextIOWrapper(
        BufferedWriter(CompleteFile(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
    )


def abandon(stream: TextIO) -> None:
    """Send what *stream* still holds to nowhere; the interpreter would complain of it at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
