"""Kernel descriptions from files and from stdin, bounded in size."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.backends.user_files import is_kept, opened
from gpuadvise.advisor.description.files import (
    LARGEST_DOCUMENT,
    LARGEST_LINE,
    BadLine,
    from_json,
    from_lines,
    from_toml,
)
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

    from gpuadvise.advisor.description.reader import Described, DeviceFinder

STDIN = "stdin"
# A comment, the header of a table or a key.
_TOML = rb"\s*(#|\[\[?\s*[A-Za-z_][\w.]*\s*\]|[A-Za-z_][\w.]*\s*=)"
_LINES = (".ndjson", ".jsonl")


def kernels_in(path: str, find: DeviceFinder) -> Iterable[Described | BadLine]:
    """Return the kernels that the file *path* (``-``: stdin) describes; NDJSON as it comes.

    A name that ends in ``.toml`` is TOML, one in ``.ndjson`` or ``.jsonl`` NDJSON; anything else
    is JSON, or NDJSON if its first line is an object of its own. A pipe that was kept may hold TOML
    as well. Raises BadInput for what cannot be read.
    """
    if is_kept(path):
        name = STDIN if path == "-" else path
        with opened(path) as file:
            is_toml = re.match(_TOML, file.read(LARGEST_LINE))
        return from_toml(_text(_whole(path), name), name, find) if is_toml else _of_file(path, find)
    if path == "-":
        return _of_json(sys.stdin.buffer, STDIN, find)
    if path.endswith(".toml"):
        return from_toml(_text(_whole(path), path), path, find)
    return _of_file(path, find)


class FileState(NamedTuple):
    """A file at one moment: which one is at *path*, and its bytes."""

    path: str
    device: int
    inode: int
    size: int


def ndjson_file(path: str) -> FileState | None:
    """Return the file *path*, where its first line is a kernel and it can be read more than once.

    Raises BadInput when it cannot be read.
    """
    if path == "-" or path.endswith(".toml") or not os.path.isfile(path):
        return None
    with opened(path) as file:
        if not _stands_alone(file.readline(LARGEST_LINE + 1)):
            return None
        status = os.fstat(file.fileno())
        return FileState(path, status.st_dev, status.st_ino, status.st_size)


# A twentieth of a second's work, and some 200 KB of findings.
BATCH_LINES = 128


def line_batches(state: FileState) -> Iterator[list[tuple[int, str]]]:
    """Yield the numbered lines of an NDJSON file in batches, as far as it went at *state*.

    Raises BadInput after the lines before, and Unavailable where another file took its place.
    """
    lines: list[tuple[int, str]] = []
    try:
        with opened(state.path) as file:
            status = os.fstat(file.fileno())
            if (status.st_dev, status.st_ino) != (state.device, state.inode):
                name = quoted(state.path)
                raise Unavailable(f"{name} was replaced while it was read.", hint="Run it again.")
            first = file.readline(LARGEST_LINE + 1)
            for numbered in enumerate(_lines(first, file, state.path), 1):
                lines.append(numbered)
                if len(lines) == BATCH_LINES:
                    yield lines
                    lines = []
                if file.tell() >= state.size:
                    break
    except BadInput:
        yield lines
        raise
    yield lines


def _of_file(path: str, find: DeviceFinder) -> Iterator[Described | BadLine]:
    with opened(path) as file:
        yield from _of_json(file, STDIN if path == "-" else path, find)


def _of_json(file: IO[bytes], name: str, find: DeviceFinder) -> Iterable[Described | BadLine]:
    first = file.readline(LARGEST_LINE + 1)
    if name.endswith(_LINES) or _stands_alone(first):
        return from_lines(_lines(first, file, name), name, find)
    rest = file.read(LARGEST_DOCUMENT + 1 - len(first))
    return from_json(_text(_bounded(first + rest, name), name), name, find)


def _stands_alone(line: bytes) -> bool:
    """Return whether *line* is one kernel of NDJSON: an object that is no document of kernels."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "kernel" not in value


def _lines(first: bytes, file: IO[bytes], name: str) -> Iterator[str]:
    line = first
    while line:
        yield line.decode("utf-8", errors="surrogateescape")  # reported with the line's number
        if len(line) > LARGEST_LINE and not line.endswith(b"\n"):
            raise BadInput(f"{name}: a line is longer than {LARGEST_LINE:,} bytes.")
        line = file.readline(LARGEST_LINE + 1)


def _whole(path: str) -> bytes:
    with opened(path) as file:
        return _bounded(file.read(LARGEST_DOCUMENT + 1), path)


def _bounded(content: bytes, name: str) -> bytes:
    if len(content) > LARGEST_DOCUMENT:
        raise BadInput(
            f"{quoted(name)} is larger than {LARGEST_DOCUMENT >> 20} MiB.",
            hint="Write one kernel per line (NDJSON): that has no limit.",
        )
    return content


def _text(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{quoted(name)}: line {line} is not UTF-8.") from None
