"""Results that this user's runs keep by what they were made of: a folder of small files, one for each key.

A file holds a checksum and what was kept. One that is cut, forged or gone is no result, and never an error.
Files are put in place whole, so that runs beside each other do not disturb one another. The folder stays
below `_SHARDS` times `_LARGEST_SHARD`: what was not asked for the longest goes first.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "GPUADVISE_CACHE"
_SHARDS = 256
_LARGEST_SHARD = 512 << 10  # bytes, 128 MiB in all
_LARGEST = 64 << 10  # bytes of one result
_LOOKED_THROUGH = "01"  # third digits of keys after which a shard is looked through: one in eight
_CHECKSUM = 32  # bytes


def cache_folder(environ: Mapping[str, str] = os.environ) -> str:
    """Return where results are kept: ``$GPUADVISE_CACHE``, else a folder of the user's caches."""
    if named := environ.get(VARIABLE):
        return named
    if sys.platform == "win32":
        folder = environ.get("LOCALAPPDATA") or os.path.expanduser("~")
    else:
        folder = environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(folder, "gpuadvise")


class ContentCache:
    """The results below *folder*, whose keys are hexadecimal digests."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def get(self, key: str) -> bytes | None:
        """Return what was kept as *key*, None where nothing whole was."""
        path = self._path(key)
        try:
            with open(path, "rb") as file:
                content = file.read(_CHECKSUM + _LARGEST + 1)
        except OSError:
            return None
        checksum, kept = content[:_CHECKSUM], content[_CHECKSUM:]
        if len(kept) > _LARGEST or sha256(kept).digest() != checksum:
            return None
        with suppress(OSError):
            os.utime(path)
        return kept

    def put(self, key: str, result: bytes) -> None:
        """Keep *result* as *key*, if it is small and the folder can be written."""
        if len(result) > _LARGEST:
            return
        import tempfile

        path = self._path(key)
        shard = os.path.dirname(path)
        with suppress(OSError):
            os.makedirs(shard, mode=0o700, exist_ok=True)
            handle, beside = tempfile.mkstemp(dir=shard, prefix=".", suffix=".new")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(sha256(result).digest() + result)
                os.replace(beside, path)
            except BaseException:
                os.unlink(beside)
                raise
            if key[2] in _LOOKED_THROUGH:
                _shorten(shard)

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, key[:2], key[2:])


def _shorten(shard: str) -> None:
    """Remove what was not asked for the longest until a shard that is too large is half full."""
    with os.scandir(shard) as entries:
        files = [(entry.stat().st_mtime_ns, entry.stat().st_size, entry.path) for entry in entries]
    left = sum(size for _, size, _ in files)
    if left <= _LARGEST_SHARD:
        return
    for _, size, path in sorted(files):
        with suppress(OSError):  # another run was faster
            os.unlink(path)
        left -= size
        if left <= _LARGEST_SHARD // 2:
            break
