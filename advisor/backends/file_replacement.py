"""Files written whole or not at all: beside, then put in the place of the old one."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.prose import quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """Yield a file beside *path* that takes its place when all was written; raises OSError.

    The place keeps its permissions. Where anything fails, *path* is what it was. A device or a pipe
    cannot be replaced: it is written as it comes.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            yield file
        return
    folder, name = os.path.split(path)
    handle, beside = tempfile.mkstemp(dir=folder or ".", prefix=f".{name[:40]}.", suffix=".new")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, _mode(path))
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def _mode(path: str) -> int:
    """Return the permissions of *path*, or those that a new file gets."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        usual = os.umask(0)
        os.umask(usual)
        return 0o666 & ~usual


def replace_unchanged(path: str, data: bytes, was: bytes) -> None:
    """Put *data* in the place of *was*, the content of the file *path* when it was read.

    Raises Unavailable where the file is a link, has changed since, or cannot be written: then it
    is what it was.
    """
    name = quoted_path(path)
    try:
        if os.path.islink(path):
            raise Unavailable(
                f"{name} is a link, and was left alone.", hint="Name the file itself."
            )
        with open(path, "rb") as file:
            if file.read(len(was) + 1) != was:
                raise Unavailable(
                    f"{name} changed since it was read, and was left alone.", hint="Run it again."
                )
        if not os.access(path, os.W_OK):
            raise Unavailable(f"{name}: this user may not write it.")
        with replacing(path) as file:
            file.write(data)
    except OSError as error:
        raise Unavailable(f"{name}: {error.strerror}.") from None
