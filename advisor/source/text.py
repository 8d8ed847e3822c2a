"""The text of a source file, whatever its encoding, and the lines and columns in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from gpuadvise.advisor.errors import BadInput, TooCostly
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.advisor.source.diagnostic import SourceRange

COMMENT = re.compile(rb"//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/")  # of C++
# Larger files are no source code; docs/lint.md says what time and memory this takes.
LARGEST = 64 << 20
# What a file may take of a processor, its parsing and all questions together: forty times what the slowest of 700
# headers of the CUDA toolkit takes, 0.75 us for a byte.
MOST_FILE_SECONDS = 1.8
MOST_FILE_SECONDS_PER_BYTE = 18e-6
_PROBED = 8192
_HIGH = bytes(range(128)) + b"?" * 128
_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


@dataclass(frozen=True, slots=True)
class SourceText:
    """One file: *content* is UTF-8, or ASCII where the bytes were neither.

    Offsets into *content* are those of the file, unless *transcoded*.
    """

    file: str
    content: bytes
    transcoded: bool = False
    _starts: list[int] = field(init=False, repr=False, default_factory=list)
    # The last place whose column was asked for: its line's start, itself, the characters between.
    _last: list[int] = field(init=False, repr=False, default_factory=lambda: [0, 0, 0])

    @property
    def starts(self) -> list[int]:
        """The offsets at which lines begin; they are looked for when somebody asks."""
        if not self._starts:
            self._starts.append(0)
            find, at = self.content.find, 0
            while (at := find(b"\n", at) + 1) > 0:
                self._starts.append(at)
        return self._starts

    def line(self, offset: int) -> int:
        """Return the line of the byte at *offset*, from 1."""
        return bisect_right(self.starts, offset)

    def line_text(self, line: int) -> bytes:
        """Return line *line* (from 1) with its line break."""
        starts = self.starts
        end = starts[line] if line < len(starts) else len(self.content)
        return self.content[starts[line - 1] : end]

    def start_of(self, line: int) -> int:
        """Return the offset of the first byte of line *line* (from 1)."""
        return self.starts[min(line, len(self.starts)) - 1]

    def column(self, offset: int) -> int:
        """Return the column of the byte at *offset*, in characters from 1."""
        start = self.starts[self.line(offset) - 1]
        line, at, characters = self._last
        if line != start or at > offset:  # else it is counted on: a line may be a whole file
            at, characters = start, 0
        characters += len(self.content[at:offset].decode("utf-8", "replace"))
        self._last[:] = start, offset, characters
        return characters + 1

    def where(self, start: int, end: int) -> SourceRange:
        """Return the range of bytes *start* to *end*."""
        return SourceRange(
            start=start,
            end=end,
            line=self.line(start),
            column=self.column(start),
            end_line=self.line(end),
            end_column=self.column(end),
        )

    def __getitem__(self, where: slice) -> str:
        """Return the characters of a stretch of bytes."""
        return self.content[where].decode("utf-8", "replace")


def source_text(data: bytes, file: str) -> SourceText:
    """Return *data* as text.

    Raises BadInput when it is larger than LARGEST, or no text.
    """
    if len(data) > LARGEST:
        raise BadInput(
            f"{quoted_path(file)} has {len(data):,} bytes of source; lint reads up to {LARGEST:,}.",
            hint="Leave generated files out.",
        )
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = data.decode(encoding, "replace").removeprefix("\ufeff")
            if "\0" in text[:_PROBED]:  # UTF-32 begins as UTF-16 does
                raise BadInput(f"{quoted_path(file)} is not source text: it holds zero bytes.")
            return SourceText(file, text.encode("utf-8", "replace"), transcoded=True)
    if b"\0" in data[:_PROBED]:
        raise BadInput(f"{quoted_path(file)} is not source text: it holds zero bytes.")
    return SourceText(file, _readable(data))


def most_seconds(size: int) -> float:
    """Return how long a file of *size* bytes may keep a processor busy."""
    return max(MOST_FILE_SECONDS, size * MOST_FILE_SECONDS_PER_BYTE)


def too_costly(file: str) -> TooCostly:
    """Return the error of a source *file* that would take more than code of its size does."""
    return TooCostly(
        f"{quoted_path(file)} was not judged: reading it takes far more than code of its size does.",
        hint="docs/security.md names the limits.",
    )


def _readable(data: bytes) -> bytes:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data.translate(_HIGH)
    return data
