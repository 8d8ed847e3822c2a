"""Text files: PTX, build logs, cuobjdump's listings and profiles, told apart by how they start."""

from __future__ import annotations

import io
import re
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

from gpuadvise.advisor.binaries.model import Entry, Kernel
from gpuadvise.advisor.binaries.span import Damaged
from gpuadvise.advisor.binaries.text.lines import read_lines, read_pieces
from gpuadvise.advisor.errors import BadInput, OtherText
from gpuadvise.advisor.prose import quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Item, Place
    from gpuadvise.advisor.binaries.options import ReadOptions


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
        from gpuadvise.advisor.profiles.ncu_csv import LONGEST_LINE
        from gpuadvise.advisor.profiles.ncu_kernels import read_report

        yield from read_report(read_lines(file, LONGEST_LINE), place)
    elif any(_LISTING.match(text) for text, _ in head):
        from gpuadvise.advisor.binaries.text.cuobjdump_listing import read_usage

        yield from read_usage(read_lines(file), place)
    else:
        from gpuadvise.advisor.binaries.text.build_log import read_log, without_superseded

        yield from without_superseded(read_log(read_lines(file), place))


# The largest program seen has 72 MB, of which 0.6 MB remain in its digest.
_MOST_PROGRAM = 1 << 27
_MOST_DIGEST = 1 << 25
_BLANKS = b"\n" * 16
_BLANK = re.compile(_BLANKS + b"+")


def read_program(payload: bytes, place: Place) -> Iterator[Kernel]:
    """Yield the kernels of a container's PTX program; raises Damaged for one that no compiler made."""
    from gpuadvise.advisor.binaries.text.ptx import read_ptx
    from gpuadvise.advisor.binaries.text.ptx_digest import digest

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
    from gpuadvise.advisor.binaries.text.ptx import read_ptx

    items = list(read_ptx(pieces, place))
    entries = tuple(item for item in items if isinstance(item, Entry))
    yield from entries
    if options.pick(entries):
        yield from (item for item in items if isinstance(item, Kernel))
