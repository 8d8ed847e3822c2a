"""Bytes to read from: a file, a part of one, or an unpacked image; always within bounds.

Files are read, never mapped: a file that shrinks under a mapping kills the process, and mapped
pages count as memory in use.
"""

from __future__ import annotations

import os
import threading
from functools import partial
from io import FileIO
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import BinaryIO

# One read fetches this much, so that neighbouring headers cost one system call. More takes
# longer to copy than it saves: containers lie thousands of bytes apart.
AHEAD = 1 << 10
# Real images read about their own size once. A forged one may name the same range again and again.
_BUDGET_TIMES = 4
_BUDGET_PLUS = 1 << 20
# Holes of sparse files: what is skipped, and how many.
_LEAST_HOLE = 1 << 20
_MOST_HOLES = 10_000


class Damaged(Exception):
    """A part that cannot be read as what it should be; *offset* within its span."""

    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class Span(Protocol):
    """A run of bytes of known size."""

    size: int

    def read(self, offset: int, size: int) -> bytes:
        """Return exactly *size* bytes from *offset*; raises Damaged when they are not there."""


def check(offset: int, size: int, end: int) -> None:
    """Raise Damaged unless *size* bytes from *offset* lie before *end*."""
    if offset < 0 or size < 0 or offset + size > end:
        raise Damaged(f"{size:,} bytes at byte {offset:,} reach past the end at {end:,}.", offset)


class FileSpan:
    """Part of an open file, read in pieces; each thread needs a ``part`` of its own."""

    def __init__(
        self, file: BinaryIO, size: int, start: int = 0, lock: threading.Lock | None = None
    ) -> None:
        self.size = size
        self._file = file
        self._start = start
        self._lock = lock or threading.Lock()  # two threads read through one file position
        # A raw file is read wherever it is asked, in one call and without its position.
        raw = isinstance(file, FileIO) and hasattr(os, "pread")  # not on Windows
        self._read_at = partial(os.pread, file.fileno()) if raw else self._read_and_seek
        self._block = b""
        self._block_at = 0

    def part(self, offset: int, size: int) -> FileSpan:
        """Return *size* bytes from *offset* as a span of their own."""
        check(offset, size, self.size)
        return FileSpan(self._file, size, self._start + offset, self._lock)

    def read(self, offset: int, size: int) -> bytes:
        """Return exactly *size* bytes from *offset*; raises Damaged when they are not there."""
        at = offset - self._block_at
        if at >= 0 and at + size <= len(self._block):
            return self._block[at : at + size]
        if offset < 0 or size < 0 or offset + size > self.size:
            check(offset, size, self.size)  # a call for each read would take as long as reading
        if size >= AHEAD:
            return self._fetch(offset, size)
        self._block = self._fetch(offset, min(AHEAD, self.size - offset))
        self._block_at = offset
        return self._block[:size]

    def file_id(self) -> tuple[int, int]:
        """Return the device and number of the file, which no other has while it is open."""
        status = os.fstat(self._file.fileno())
        return status.st_dev, status.st_ino

    def holes(self) -> list[tuple[int, int]]:
        """Return start and end of the parts that the file system does not even store: zeros."""
        try:
            status = os.fstat(self._file.fileno())
        except OSError:
            return []
        if not hasattr(os, "SEEK_HOLE") or status.st_blocks * 512 + _LEAST_HOLE > status.st_size:
            return []
        holes: list[tuple[int, int]] = []
        at, end = self._start, self._start + self.size
        with self._lock:
            try:
                while at < end and len(holes) < _MOST_HOLES:
                    hole = os.lseek(self._file.fileno(), at, os.SEEK_HOLE)
                    try:
                        at = os.lseek(self._file.fileno(), hole, os.SEEK_DATA)
                    except OSError:  # no more data
                        at = end
                    if hole < end and at - hole >= _LEAST_HOLE:
                        holes.append((hole - self._start, min(at, end) - self._start))
            except OSError:
                return holes
        return holes

    def view(self) -> memoryview:
        """Return all bytes; raises Damaged when they are not there."""
        return memoryview(self.read(0, self.size))

    def _fetch(self, offset: int, size: int) -> bytes:
        data = self._read_at(size, self._start + offset)
        if len(data) != size:
            raise Damaged(f"The file ends at byte {offset + len(data):,}: it shrank.", offset)
        return data

    def _read_and_seek(self, size: int, at: int) -> bytes:
        with self._lock:
            self._file.seek(at)
            return self._file.read(size)


class MemorySpan:
    """An unpacked image, read a bounded number of times over."""

    def __init__(self, data: bytes | memoryview) -> None:
        self.size = len(data)
        self._data = memoryview(data)

    def read(self, offset: int, size: int) -> bytes:
        """Return exactly *size* bytes from *offset*; raises Damaged when they are not there."""
        check(offset, size, self.size)
        return bytes(self._data[offset : offset + size])

    def view(self) -> memoryview:
        """Return all bytes, not copied."""
        return self._data


# What an entry of a container opens as.
Image = FileSpan | MemorySpan


def budget(size: int) -> int:
    """Return how many bytes of work an image of *size* bytes is worth."""
    return _BUDGET_TIMES * size + _BUDGET_PLUS


class Budgeted:
    """A span that refuses to be read many times over, whatever its headers ask for."""

    def __init__(self, span: Span) -> None:
        self.size = span.size
        self._span = span
        self._left = budget(span.size)

    def read(self, offset: int, size: int) -> bytes:
        """Return exactly *size* bytes from *offset*; raises Damaged when they are not there."""
        data = self._span.read(offset, size)
        self.charge(size)
        return data

    @property
    def spent(self) -> bool:
        """Whether nothing more will be read."""
        return self._left < 0

    def charge(self, size: int) -> None:
        """Count *size* bytes of work; raises Damaged when there was too much of it."""
        self._left -= size
        if self._left < 0:
            raise Damaged("Its sections overlap: reading them all would take far too long.")
