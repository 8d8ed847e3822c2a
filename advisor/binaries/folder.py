"""Folders with device code: the kernel caches of Triton, Inductor and CuPy, and plain folders.

What a file is, is told by its first bytes. Pickles, which such caches hold as well, are only
counted: their first bytes are all that is looked at, and of files named like pickles nothing.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.user_files import unreadable
from gpuadvise.advisor.binaries.file_type import FileType, file_type_of
from gpuadvise.advisor.binaries.model import Damage, Place
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import plural, quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterator

# Triton keeps about ten files for each kernel, and a large model has some thousands of kernels.
MOST_FILES = 200_000
_DEEPEST = 32
_SNIFFED = 1 << 12
# CuPy writes a SHA-1 in hexadecimal before the image.
_CUPY = re.compile(rb"[0-9a-f]{40}\x7fELF")
# A pickle of protocol 2 to 5 starts with its number.
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_PICKLED = (".pkl", ".pickle", ".joblib", ".nbi", ".nbc", ".pt", ".pth", ".ckpt")
_BINARY = (FileType.CUBIN, FileType.HOST, FileType.FATBIN, FileType.ARCHIVE)
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(slots=True, kw_only=True)
class FolderContents:
    """The files of a folder that may hold device code, in order, and what else there is."""

    path: str
    files: list[str] = field(default_factory=list)
    pickles: int = 0
    links: int = 0
    unreadable: list[str] = field(default_factory=list)  # files and folders
    others: int = 0
    complete: bool = True  # False: there is more than is looked at

    @property
    def total(self) -> int:
        """The files that were looked at."""
        return len(self.files) + self.pickles + self.links + len(self.unreadable) + self.others

    def damage(self) -> Iterator[Damage]:
        """Yield what belongs to the folder and could not be read."""
        if not self.complete:
            message = f"More than {MOST_FILES:,} files or {_DEEPEST} levels; the rest is not read."
            yield Damage(place=Place(path=self.path), message=message)
        for path in self.unreadable:
            yield Damage(place=Place(path=path), message="It cannot be opened.")

    def notes(self) -> Iterator[str]:
        """Yield what to say of what is left out on purpose."""
        name = quoted_path(self.path)
        if self.pickles:
            yield f"{name}: {plural(self.pickles, 'pickle')} left unread: loading one can run code."
        if self.links:
            yield f"{name}: {plural(self.links, 'symbolic link')} not followed."


def folder_contents(path: str) -> FolderContents:
    """Return what is in the folder *path* and below; raises BadInput when it cannot be listed."""
    contents = FolderContents(path=path)
    try:
        with os.scandir(path):
            pass
    except OSError as error:
        raise unreadable(error, quoted_path(path)) from None
    for entry in _below(path, contents, 0):
        if contents.total >= MOST_FILES:
            contents.complete = False
            break
        _sort_in(entry, contents)
    return contents


def _below(path: str, contents: FolderContents, depth: int) -> Iterator[os.DirEntry[str]]:
    """Yield the files and links below *path*, those of a folder by their names."""
    if depth > _DEEPEST:
        contents.complete = False
        return
    try:
        with os.scandir(path) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        contents.unreadable.append(path)
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path, contents, depth + 1)
        else:
            yield entry


def _sort_in(entry: os.DirEntry[str], contents: FolderContents) -> None:
    if entry.is_symlink():
        contents.links += 1
        return
    if not entry.is_file(follow_symlinks=False):
        contents.others += 1
        return
    if entry.name.lower().endswith(_PICKLED):
        contents.pickles += 1
        return
    try:
        head = _head(entry.path)
    except OSError:
        contents.unreadable.append(entry.path)
        return
    if _PICKLE.match(head):
        contents.pickles += 1
    elif _holds_code(entry, head):
        contents.files.append(entry.path)
    else:
        contents.others += 1


def _head(path: str) -> bytes:
    file = os.open(path, _OPEN)
    try:
        return os.read(file, _SNIFFED)
    finally:
        os.close(file)


def _holds_code(entry: os.DirEntry[str], head: bytes) -> bool:
    """Return whether the file may hold device code; PTX only where no cubin of it lies beside."""
    if not head:
        return False
    stem, suffix = os.path.splitext(entry.path)
    match file_type_of(head):
        case FileType.ZIP:
            return suffix.lower() == ".whl"
        case FileType.TEXT:
            return suffix.lower() == ".ptx" and not os.path.exists(f"{stem}.cubin")
        case kind:
            return kind in _BINARY or bool(_CUPY.match(head))


def refuse_empty(contents: FolderContents) -> None:
    """Raise BadInput where no file of a folder may hold device code."""
    if not contents.files:
        looked = f" among {plural(contents.total, 'file')}" if contents.total else ""
        raise BadInput(
            f"There is no device code in {quoted_path(contents.path)}{looked}.",
            hint=" ".join((*(part.message for part in contents.damage()), *contents.notes()))
            or None,
        )
