"""The process's standard streams, also where the caller closed one or its disk is full."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

# What stands for a stream that the caller closed: no input, an output that refuses, no notes.
_MODES = {"stdin": "r", "stdout": "r", "stderr": "w"}


def prepare() -> None:
    """Open what the caller closed, and let no character of an answer stop it.

    A closed stream is None in Python, ``print`` then writes to another one, and the next file
    that is opened gets its number.
    """
    for name, mode in _MODES.items():
        if getattr(sys, name) is None:
            stands_in = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - for good
            setattr(sys, name, stands_in)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def abandon(stream: TextIO) -> None:
    """Send what *stream* still holds to nowhere; the interpreter would complain of it at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
