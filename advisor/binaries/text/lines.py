"""Lines of a text file of any encoding, however long one of them is."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

# Longest piece of one line. Mangled names reach kilobytes, data tables in PTX megabytes.
LONGEST = 1 << 16
_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # what PowerShell writes when output is redirected


def read_pieces(stream: BinaryIO, longest: int = LONGEST) -> Iterator[tuple[str, int]]:
    """Yield each line of *stream* with its number, one longer than *longest* in pieces.

    Whatever is not UTF-8 (or UTF-16 with its mark) is replaced, never refused. The stream is
    left open.
    """
    own = not isinstance(stream, io.BufferedReader)
    raw = cast("io.RawIOBase", stream)
    buffered = io.BufferedReader(raw) if own else cast("io.BufferedReader", stream)
    encoding = "utf-16" if buffered.peek(2)[:2] in _UTF16 else "utf-8-sig"
    text = io.TextIOWrapper(buffered, encoding=encoding, errors="replace")
    try:
        number = 1
        while piece := text.readline(longest):
            yield piece, number
            number += piece.endswith("\n")
    finally:
        with suppress(ValueError):  # the file is closed already, by a reader that gave up
            text.detach()
            if own:
                buffered.detach()


def read_lines(stream: BinaryIO, longest: int = LONGEST) -> Iterator[tuple[str, int]]:
    """Yield each line of *stream* with its number, cut off after *longest* characters."""
    last = 0
    for piece, number in read_pieces(stream, longest):
        if number != last:
            yield piece, number
        last = number
