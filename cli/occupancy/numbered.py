"""Lines of a batch as they arrive, in bounded memory."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

# Longest line that can still be one configuration and what a user keeps beside it.
LONGEST = 1 << 16
_CHUNK = 1 << 16
# (line number, its bytes); None stands for the bytes of a line that is too long.
Numbered = tuple[int, bytes | None]


@contextmanager
def opened(path: str) -> Iterator[BufferedReader]:
    """Open *path* (``-``: stdin) for reading; raises BadInput naming ``--batch``."""
    if path == "-":
        yield cast("BufferedReader", sys.stdin.buffer)
        return
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below, outside this handler
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no usable file name"
        raise BadInput(f"--batch: {quoted(path)} cannot be read: {reason}.") from None
    with file:
        yield file


def _read(file: BufferedReader) -> bytes:
    try:
        return file.read1(_CHUNK)
    except OSError as error:
        raise BadInput(f"--batch cannot be read further: {error.strerror}.") from None


def arrivals(file: BufferedReader) -> Iterator[list[Numbered]]:
    """Yield the lines that one read brought, again and again, so that answers need not wait."""
    count, rest, skipping = 0, b"", False
    while chunk := _read(file):
        *whole, rest = (rest + chunk).split(b"\n")
        numbered: list[Numbered] = []
        for line in whole:
            count += 1
            if not skipping:
                numbered.append((count, None if len(line) > LONGEST else line))
            skipping = False
        if len(rest) > LONGEST:
            if not skipping:  # said at once: its end may never come
                numbered.append((count + 1, None))
            rest, skipping = b"", True
        yield numbered
    if rest and not skipping:
        yield [(count + 1, rest)]
