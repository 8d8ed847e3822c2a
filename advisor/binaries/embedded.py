"""Device code where no container or file format leads: found by its first bytes, at any byte.

CuPy's kernel cache puts a checksum before a cubin, Numba's a pickle around it; members of Windows
libraries and objects lie at odd places.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.elf import MACHINE_CUDA, MAGIC
from gpuadvise.advisor.binaries.fatbin.containers import read_containers
from gpuadvise.advisor.binaries.fatbin.region import PATTERN, REGION
from gpuadvise.advisor.binaries.model import Damage
from gpuadvise.advisor.binaries.span import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.binaries.model import Item, Place
    from gpuadvise.advisor.binaries.options import ReadOptions
    from gpuadvise.advisor.binaries.span import FileSpan

_PIECE = 1 << 20
_IDENT = MAGIC + b"\x02\x01\x01"  # 64 bits, little-endian
_ELF = struct.Struct("<18xH20xQ10xHH")  # machine, section table: where, entry size, entries
_HEAD = 64
_MOST = 10_000  # images; more are made to take time


def read_embedded(span: FileSpan, place: Place, options: ReadOptions) -> Iterator[Item]:
    """Yield what containers and cubins at any byte of *span* hold."""
    at, count = 0, 0
    while (start := _next(span, at)) is not None:
        count += 1
        if count > _MOST:
            text = f"It holds more than {_MOST:,} pieces of device code; the rest is not read."
            yield Damage(place=place.at(start), message=text)
            return
        size = _size(span, start)
        if size is None:
            at = start + 1
            continue
        items = _items(span.part(start, size), place, options)
        try:
            for item in items:
                yield _moved(item, start)
        except Damaged as damage:
            yield Damage(place=place.at(start), message=damage.message)
        at = start + size


def _next(span: FileSpan, at: int) -> int | None:
    """Return where device code may start at or after *at*."""
    for start in _pieces(span, at):
        data = span.read(start, min(_PIECE + _HEAD, span.size - start))
        places = [data.find(first_bytes) for first_bytes in (PATTERN, _IDENT)]
        near = min((place for place in places if place >= 0), default=None)
        if near is not None:
            return start + near
    return None


def _pieces(span: FileSpan, at: int) -> Iterator[int]:
    holes = [*span.holes(), (span.size, span.size)]
    for start, end in holes:
        yield from range(at, start, _PIECE)
        at = max(at, end)


def _size(span: FileSpan, at: int) -> int | None:
    """Return the bytes of the container or cubin at *at*; None: it is neither."""
    head = span.read(at, min(_HEAD, span.size - at))
    left = span.size - at
    if head.startswith(PATTERN):
        if left < REGION.size:
            return None
        _, size = REGION.unpack_from(head)
        return min(REGION.size + int(size), left)
    if len(head) < _HEAD:
        return None
    machine, table, row_bytes, count = map(int, _ELF.unpack_from(head))
    if machine != MACHINE_CUDA:
        return None
    return min(
        max(table + row_bytes * count, _HEAD), left
    )  # the table comes last, or all that is left


def _items(part: FileSpan, place: Place, options: ReadOptions) -> Iterator[Item]:
    options = options._replace(tables=False)  # each kernel gets its offset in the whole file
    if part.read(0, len(PATTERN)) == PATTERN:
        yield from read_containers(part, place, options)
        return
    from gpuadvise.advisor.binaries.cubin.reader import read_bare_cubin

    yield from read_bare_cubin(part, place, options)


def _moved(item: Item, by: int) -> Item:
    """Return *item* with its offset in the whole file."""
    place = item.place._replace(offset=(item.place.offset or 0) + by)
    return replace(item, place=place) if isinstance(item, Damage) else item._replace(place=place)
