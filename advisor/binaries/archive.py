"""``ar`` archives: object files one behind the other, with GNU or BSD long names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.file_type import ARCHIVE, THIN_ARCHIVE
from gpuadvise.advisor.binaries.span import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.binaries.span import FileSpan


_HEADER = 60
_END = b"`\n"
_SYMBOLS = (b"/", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED")
_LONG_NAMES = b"//"
_BSD = b"#1/"
_MAX_MEMBERS = 200_000
_MAX_NAMES = 1 << 26
_LONGEST_NAME = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One file of an archive; in a thin archive it lies elsewhere, and *at* means nothing."""

    name: str
    at: int
    size: int


def is_thin(span: FileSpan) -> bool:
    """Return whether the archive only names its members."""
    return span.read(0, len(THIN_ARCHIVE)) == THIN_ARCHIVE


def read_members(span: FileSpan) -> Iterator[Member]:
    """Yield the members of an archive; raises Damaged where they cannot be followed further."""
    thin = is_thin(span)
    names, at, count = b"", len(ARCHIVE), 0
    while at + _HEADER <= span.size:
        header = span.read(at, _HEADER)
        size = _size(header, at)
        raw, at = header[:16].rstrip(), at + _HEADER
        index = raw == _LONG_NAMES or raw.rstrip(b"\0") in _SYMBOLS
        stored = 0 if thin and not index else size
        if at + stored > span.size:
            raise Damaged(f"A member claims {size:,} bytes, more than the file has left.", at)
        if raw == _LONG_NAMES and size <= _MAX_NAMES:
            names = span.read(at, size)
        elif not index:
            yield _member(span, raw, names, at, size)
            count += 1
        if count > _MAX_MEMBERS:
            raise Damaged(f"It has more than {_MAX_MEMBERS:,} members.", at)
        at += stored + stored % 2


def _size(header: bytes, at: int) -> int:
    digits = header[48:58].strip()
    if header[58:] != _END or not digits.isdigit():
        raise Damaged("There should be the header of a member.", at)
    return int(digits)


def _member(span: FileSpan, raw: bytes, names: bytes, at: int, size: int) -> Member:
    if raw.startswith(_BSD) and raw[3:].isdigit():
        length = min(int(raw[3:]), size, _LONGEST_NAME)
        name = span.read(at, length).rstrip(b"\0")
        return Member(name=_text(name), at=at + length, size=size - length)
    if raw[:1] == b"/" and raw[1:].isdigit():
        start = int(raw[1:])
        end = names.find(b"\n", start, start + _LONGEST_NAME)
        raw = names[start : end if end >= 0 else start + _LONGEST_NAME].partition(b"\0")[0]  # COFF
    return Member(name=_text(raw.rstrip(b"/")), at=at, size=size)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
