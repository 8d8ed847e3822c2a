"""Wheels and other zip files: the members that may hold device code, unpacked one by one."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from os import SEEK_END
from pathlib import PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING

from gpuadvise.advisor.binaries.file_type import MEMBER_SUFFIXES
from gpuadvise.advisor.binaries.span import Damaged
from gpuadvise.advisor.quantity import show_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from gpuadvise.advisor.binaries.options import Progress

# The largest library in a wheel seen is 1.1 GB.
_MAX_MEMBER = 8 << 30
_MAX_TOTAL = 32 << 30
# Libraries shrink to a third or a tenth. Only data made to fill a disk shrink more than this.
_MAX_RATIO = 200
_SLACK = 1 << 26
_LEAST = 64  # an ELF header
_IN_MEMORY = 1 << 24  # larger members go to a temporary file
_PIECE = 1 << 20
_CONDA = ".tar.zst"  # what a conda package keeps its files in
_ENCRYPTED = 0x1  # of a member's flags
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # compression that Python does not know
    RuntimeError,  # encrypted
    ValueError,
    OverflowError,
    OSError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unzipped:
    """One member, in a file that closes with the iteration."""

    name: str
    file: IO[bytes]
    size: int


def read_members(file: BinaryIO, progress: Progress | None = None) -> Iterator[Unzipped | Damaged]:
    """Yield the members of a zip file that may hold device code, and what is damaged.

    *progress* is called while a member is unpacked. Raises Damaged when it is no zip file after all.
    """
    try:
        archive = zipfile.ZipFile(file)
        every = archive.infolist()
    except _BROKEN as error:
        raise Damaged(f"Its table of contents cannot be read: {error}.") from None
    _refuse_overlaps(every)
    members = [info for info in every if _may_hold_code(info)]
    left = min(_MAX_TOTAL, _MAX_RATIO * file.seek(0, SEEK_END) + _SLACK)
    for info in members:
        if info.filename.endswith(_CONDA):
            yield Damaged(f"{info.filename} is packed as a whole: unpack it first.")
            continue
        left -= info.file_size
        most = min(_MAX_MEMBER, _MAX_RATIO * info.compress_size + _SLACK)
        if info.file_size > most or left < 0:
            yield Damaged(f"{info.filename} claims to unpack to {show_bytes(info.file_size)}.")
            continue
        with SpooledTemporaryFile(max_size=_IN_MEMORY) as unpacked:
            try:
                for size in _copied(archive, info, unpacked):
                    if progress:
                        progress(info.filename, size, info.file_size)
            except _BROKEN as error:
                why = "it is encrypted" if info.flag_bits & _ENCRYPTED else error
                yield Damaged(f"{info.filename} cannot be unpacked: {why}.")
                continue
            yield Unzipped(name=info.filename, file=unpacked, size=unpacked.tell())


# Before a member's packed bytes: a header of this size, and its name.
_LOCAL_HEADER = 30


def _refuse_overlaps(members: list[zipfile.ZipInfo]) -> None:
    """Raise Damaged where members share bytes: a small file would unpack to any size.

    Python 3.13 refuses them itself, one by one; older ones unpack them.
    """
    ends = 0
    for info in sorted(members, key=lambda info: info.header_offset):
        if info.header_offset < ends:
            raise Damaged(f"{info.filename} shares bytes with another member: it is no honest zip.")
        ends = info.header_offset + _LOCAL_HEADER + info.compress_size


def _copied(archive: zipfile.ZipFile, info: zipfile.ZipInfo, to: IO[bytes]) -> Iterator[int]:
    """Unpack a member, and yield how many bytes it has been so far."""
    size = 0
    with archive.open(info) as member:
        while piece := member.read(_PIECE):
            size += to.write(piece)
            yield size


def _may_hold_code(info: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(info.filename)
    if not info.filename or info.is_dir() or info.file_size < _LEAST:
        return False
    suffixes = (".so.", _CONDA)
    return (
        path.suffix.lower() in MEMBER_SUFFIXES
        or any(part in path.name for part in suffixes)
        or not path.suffix
    )
