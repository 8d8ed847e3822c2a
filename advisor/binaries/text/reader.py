"""Text files: PTX, build logs, cuobjdump's listings and profiles, told apart by how they start."""

from __future__ import annotations

import io
import re
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, cast

from gpuadvise.advisor.binaries.model import Entry, Kernel
from gpuadvise.advisor.binaries.span import Damaged
from gpuadvise.advisor.binaries.text.build_log import read_log, without_superseded
from gpuadvise.advisor.binaries.text.cuobjdump_listing import read_usage
from gpuadvise.advisor.binaries.text.ptx import read_ptx
from gpuadvise.advisor.binaries.text.ptx_digest import digest
from gpuadvise.advisor.errors import BadInput, OtherText
from gpuadvise.advisor.prose import quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Item, Place
    from gpuadvise.advisor.binaries.options import ReadOptions


# Longest piece of one line. Mangled names reach kilobytes, data tables in PTX megabytes.
LONGEST = 1 << 16
_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # what PowerShell writes when output is redirected


def read_pieces(stream: BinaryIO, longest: int = LONGEST) -> Iterator[tuple[str, int]]:
    """Yield each line of *stream* with its number, one longer than *longest* in pieces.

    Whatever is not UTF-8 (or UTF-16 with its mark) is replaced, never refused. The stream is
    left open.
    """
    own = not isinstance(stream, io.BufferedReader)
    raw = cast("io.RawIOBase", stream)
    buffered = io.BufferedReader(raw) if own else cast("io.BufferedReader", stream)
    encoding = "utf-16" if buffered.peek(2)[:2] in _UTF16 else "utf-8-sig"
    text = io.TextIOWrapper(buffered, encoding=encoding, errors="replace")
    try:
        number = 1
        while piece := text.readline(longest):
            yield piece, number
            number += piece.endswith("\n")
    finally:
        with suppress(ValueError):  # the file is closed already, by a reader that gave up
            text.detach()
            if own:
                buffered.detach()


def read_lines(stream: BinaryIO, longest: int = LONGEST) -> Iterator[tuple[str, int]]:
    """Yield each line of *stream* with its number, cut off after *longest* characters."""
    last = 0
    for piece, number in read_pieces(stream, longest):
        if number != last:
            yield piece, number
        last = number


# Comments and empty lines may stand before a PTX header, whole build steps before a log's.
_SNIFFED = 1 << 20
_PTX = re.compile(r"\s*\.version\s+\d")
_REPORT = re.compile(r'"?ID"?[,;\t].*Kernel Name')  # spreadsheets leave quotes out
_POINTER = "version https://git-lfs.github.com/"
_LISTING = re.compile(r"\s{0,8}Resource usage:")


def read_text(file: BinaryIO, place: Place, options: ReadOptions) -> Iterator[Item]:
    """Yield the kernels of a text file, and of PTX its entry first.

    Raises BadInput for text that holds nothing of the kind.
    """
    pieces = read_pieces(file)
    head = _head(pieces)
    if any(_PTX.match(text) for text, _ in head):
        yield from _ptx(chain(head, pieces), place, options)
        return
    file.seek(0)
    nothing = True
    for item in _listed(head, file, place):
        nothing = False
        yield item
    if nothing and head and head[0][0].startswith(_POINTER):
        raise BadInput(
            f"{quoted_path(place.path)} only points to a file that Git keeps elsewhere.",
            hint="git lfs pull fetches it.",
        )
    if nothing:
        raise OtherText(
            f"{quoted_path(place.path)} is text, but no PTX, build log, cuobjdump listing or "
            "Nsight Compute CSV.",
            hint="Compile source code first; a build log needs the compiler's -Xptxas -v.",
        )


def _listed(head: list[tuple[str, int]], file: BinaryIO, place: Place) -> Iterator[Item]:
    if any(_REPORT.match(text) for text, _ in head):
        from gpuadvise.advisor.profiles.ncu_kernels import LONGEST_LINE, read_report

        yield from read_report(read_lines(file, LONGEST_LINE), place)
    elif any(_LISTING.match(text) for text, _ in head):
        yield from read_usage(read_lines(file), place)
    else:
        yield from without_superseded(read_log(read_lines(file), place))


# The largest program seen has 72 MB, of which 0.6 MB remain in its digest.
_MOST_PROGRAM = 1 << 27
_MOST_DIGEST = 1 << 25
_BLANKS = b"\n" * 16
_BLANK = re.compile(_BLANKS + b"+")


def read_program(payload: bytes, place: Place) -> Iterator[Kernel]:
    """Yield the kernels of a container's PTX program; raises Damaged for one that no compiler made."""
    if len(payload) > _MOST_PROGRAM:
        raise Damaged(f"Its PTX claims {len(payload):,} bytes, more than any compiler writes.")
    if _BLANKS in payload:  # no compiler's either, and a second for each 20 MB
        payload = _BLANK.sub(b"\n", payload)
    text = digest(payload)
    if len(text) > _MOST_DIGEST:
        raise Damaged(f"Its PTX has {len(text):,} bytes outside of functions.")
    items = read_ptx(read_pieces(io.BytesIO(text)), place)
    return (item._replace(place=place) for item in items if isinstance(item, Kernel))


def _head(pieces: Iterator[tuple[str, int]]) -> list[tuple[str, int]]:
    head = []
    left = _SNIFFED
    for piece in pieces:
        head.append(piece)
        left -= len(piece[0])
        if left <= 0:
            break
    return head


def _ptx(pieces: Iterable[tuple[str, int]], place: Place, options: ReadOptions) -> Iterator[Item]:
    items = list(read_ptx(pieces, place))
    entries = tuple(item for item in items if isinstance(item, Entry))
    yield from entries
    if options.pick(entries):
        yield from (item for item in items if isinstance(item, Kernel))
