"""The files that describe machines, one each: named, below folders, or in archives of tar."""

from __future__ import annotations

import os
import tarfile
import zlib
from contextlib import ExitStack
from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.backends.remote_files import is_address
from gpuadvise.advisor.backends.user_files import LARGEST_DUMP, open_file, opened, unreadable
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.fleet.timestamps import DAY_IN_NAME
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.advisor.quantity import show_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import IO

_SUFFIXES = (".json", ".xml", ".csv", ".txt")
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2")
SUFFIXES = (*_SUFFIXES, *_ARCHIVES)
# What such files are called where the folder, or the rest of the name, is the machine's.
_ROLES = ("device", "doctor", "measure", "copies", "nvidia-smi", "smi", "gpuadvise", "query-gpu",
          "dmon", "ibstat", "nccl", "dcgmi", "dcgm", "diag")  # fmt: skip
_TAR_MAGIC = slice(257, 262), b"ustar"
_PACKED = (b"\x1f\x8b", b"\xfd7zXZ", b"BZh")
# What broken archives raise, whatever packed them.
_BROKEN = (tarfile.TarError, EOFError, zlib.error, ValueError, OSError, BadInput)
_MOST_FILES = 200_000


class DumpFile(NamedTuple):
    """One file: *path* to open, or of an archive the *member* of that number in it.

    *shown* is how the user knows it, *host* the machine that its name tells.
    """

    path: str
    shown: str
    host: str
    member: int | None = None


class Unread(NamedTuple):
    """A file or folder that cannot be read, and why."""

    shown: str
    reason: str


def host_of(path: str) -> str:
    """Return the machine that a file called *path* is of: its name, or its folder's.

    ``node07.xml``, ``node07.device.json`` and ``node07/device.json`` are all of ``node07``, as is
    ``node07-2026-11-20.xml``.
    """
    *folders, name = path.replace(os.sep, "/").rstrip("/").split("/")
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    name = _without_role(name)
    name = _without_role(DAY_IN_NAME.sub("", name).strip("._-") or name)
    if name in _ROLES or DAY_IN_NAME.fullmatch(name):
        above = (folder.strip(".") for folder in reversed(folders[-2:]))
        name = next((f for f in above if f and not DAY_IN_NAME.fullmatch(f)), name)
    return name or path


def _without_role(name: str) -> str:
    for role in _ROLES:
        for joint in (".", "-", "_"):
            name = name.removesuffix(joint + role)
    return name


def dump_files(paths: Iterable[str], left: list[Unread]) -> list[DumpFile]:
    """Return the files that *paths* name (``-``: stdin), those below a folder in order of their names.

    What cannot be read is added to *left*. In folders hidden files and those of other suffixes are
    passed over. Raises BadInput for too many.
    """
    dumps: list[DumpFile] = []
    for path in paths:
        for dump in _dumps(path, left):
            dumps.append(dump)
            if len(dumps) > _MOST_FILES:
                raise BadInput(
                    f"There are more than {_MOST_FILES:,} files.",
                    hint="Name folders of them, one at a time.",
                )
    return dumps


def _dumps(path: str, left: list[Unread]) -> Iterator[DumpFile]:
    if os.path.isdir(path):
        yield from _below(path, left)
        return
    if is_address(path) and not path.lower().endswith(_ARCHIVES):
        yield DumpFile(path, path, host_of(path))  # who judges it opens it
        return
    try:
        with open_file(path) as file:
            real = str(file.name)
            head = file.read(512)
        if _is_archive(path, head):
            yield from _members(real, path)
        else:
            host = "stdin" if path == "-" else host_of(os.path.abspath(path))
            yield DumpFile(real, path, host)
    except BadInput as error:
        left.append(Unread(path, _reason(error, path)))
    except _BROKEN as error:
        left.append(Unread(path, f"is a broken archive: {error}."))


def _is_archive(path: str, head: bytes) -> bool:
    place, magic = _TAR_MAGIC
    packed = head.startswith(_PACKED) and (path == "-" or path.lower().endswith(_ARCHIVES))
    return head[place] == magic or packed or path.lower().endswith(_ARCHIVES)


def _below(folder: str, left: list[Unread]) -> Iterator[DumpFile]:
    def unlisted(error: OSError) -> None:
        shown = os.fsdecode(error.filename or folder)
        left.append(Unread(shown, unreadable(error, "The folder").message))

    for here, folders, names in os.walk(folder, onerror=unlisted):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(here, name)
            if name.startswith(".") or not os.path.isfile(path):
                continue
            if name.lower().endswith(_ARCHIVES):
                yield from _dumps(path, left)
            elif name.lower().endswith(_SUFFIXES):
                yield DumpFile(path, path, host_of(os.path.abspath(path)))


def _members(path: str, shown: str) -> Iterator[DumpFile]:
    with open_file(path) as file, tarfile.open(fileobj=file, mode="r:*") as archive:
        for number, member in enumerate(archive):
            if _is_dump(member):
                yield DumpFile(path, f"{shown}!{member.name}", host_of(member.name), number)


def _is_dump(member: tarfile.TarInfo) -> bool:
    name = member.name.rpartition("/")[2]
    return member.isfile() and not name.startswith(".") and name.lower().endswith(_SUFFIXES)


def contents(dumps: Sequence[DumpFile]) -> Iterator[tuple[DumpFile, bytes | Unread]]:
    """Yield each of *dumps* with its bytes, or why there are none; an archive is read once."""
    for path, group in groupby(dumps, key=lambda dump: dump.path):
        files = list(group)
        if files[0].member is None:
            yield from ((dump, _content(dump)) for dump in files)
        else:
            yield from _of_archive(path, files)


def _content(dump: DumpFile) -> bytes | Unread:
    try:
        with opened(dump.path, name="The file") as file:
            return _bounded(file, dump)
    except BadInput as error:
        return Unread(dump.shown, _reason(error, dump.path))


def _of_archive(path: str, dumps: Sequence[DumpFile]) -> Iterator[tuple[DumpFile, bytes | Unread]]:
    wanted: dict[int | None, list[DumpFile]] = {}  # an archive may be named twice
    for dump in dumps:
        wanted.setdefault(dump.member, []).append(dump)
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open_file(path))
            archive = stack.enter_context(tarfile.open(fileobj=file, mode="r:*"))
            for number, member in enumerate(archive):
                if number not in wanted:
                    continue
                inside = archive.extractfile(member)
                content = _bounded(inside, wanted[number][0]) if inside else None
                if content is not None:
                    yield from ((dump, content) for dump in wanted.pop(number))
                if not wanted:
                    return
        except _BROKEN as error:
            broken = f"The archive is broken here: {error}."
        else:
            broken = "The archive has it no more."
        for dump in chain.from_iterable(wanted.values()):
            yield dump, Unread(dump.shown, broken)


def _reason(error: BadInput, path: str) -> str:
    """Return what *error* says of *path* without its name."""
    said = error.message.removeprefix(quoted_path(path)).strip(": ")
    return f"The file {said}" if said.startswith("cannot") else said


def _bounded(file: IO[bytes], dump: DumpFile) -> bytes | Unread:
    content = file.read(LARGEST_DUMP + 1)
    if len(content) > LARGEST_DUMP:
        return Unread(dump.shown, f"The file is larger than {show_bytes(LARGEST_DUMP)}.")
    return content
