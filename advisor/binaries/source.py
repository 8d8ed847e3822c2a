"""Files opened to be read, and what else a path can be, said in a sentence."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from gpuadvise.advisor.backends.remote_files import is_address
from gpuadvise.advisor.backends.user_files import open_file, unreadable
from gpuadvise.advisor.binaries.span import FileSpan
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

_IN_MEMORY = 1 << 24
_PIECE = 1 << 20
# Standard input is kept, because containers are not read front to back.
_MAX_PIPED = 8 << 30


@contextmanager
def opened(path: str) -> Iterator[tuple[BinaryIO, FileSpan]]:
    """Give the file at *path*, with a span over it.

    Raises BadInput when it cannot be one, Unavailable when it cannot be read.
    """
    try:
        with _open(path) as file:
            yield file, _span(file, path)
    except OSError as error:
        raise Unavailable(
            f"{quoted_path(path)} cannot be read: {error.strerror or error}."
        ) from None


def _open(path: str) -> BinaryIO:
    if is_address(path):
        return open_file(path, name=quoted_path(path))
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            raise BadInput(f"{quoted_path(path)} is {_kind(mode)}, not a file.", hint=_hint(mode))
        return cast("BinaryIO", open(path, "rb", buffering=0))
    except (FileNotFoundError, PermissionError, ValueError) as error:
        raise unreadable(error, quoted_path(path)) from None


@contextmanager
def kept(stream: BinaryIO, name: str) -> Iterator[tuple[BinaryIO, FileSpan]]:
    """Give all of *stream* as a file; raises BadInput when it is empty or endless."""
    from tempfile import SpooledTemporaryFile  # files are read where they are

    with SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
        while piece := stream.read(_PIECE):
            file.write(piece)
            if file.tell() > _MAX_PIPED:
                raise BadInput(f"{name} is larger than 8 GiB.", hint="Give the file itself.")
        yield cast("BinaryIO", file), _span(cast("BinaryIO", file), name)


def _span(file: BinaryIO, name: str) -> FileSpan:
    size = file.seek(0, os.SEEK_END)
    if not size:
        raise BadInput(f"{quoted_path(name)} is empty.")
    return FileSpan(file, size)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a pipe" if stat.S_ISFIFO(mode) else "a device or socket"


def _hint(mode: int) -> str | None:
    if stat.S_ISDIR(mode):
        return "Name the files in it."
    return "To read a pipe, write - and let the shell redirect it."
