"""Concatenated entries: several images behind one header, packed as one."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.entries import Fields, Packed, compression_of, entry_of
from gpuadvise.advisor.binaries.span import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.binaries.model import Place

_TABLE = struct.Struct("<II")  # count and bytes, these eight included
_PART = struct.Struct("<HHIIIIIHHIIIQQQ")


def split(
    whole: Fields, header: bytes, payload_at: int, place: Place, module: int
) -> Iterator[Packed]:
    """Yield the parts of a concatenated entry, known without unpacking it.

    Raises Damaged when the table of parts is not inside the header.
    """
    table = whole.extra_at
    if table + _TABLE.size > len(header):
        raise Damaged("Its table of images lies outside the header.", place.offset)
    count, size = _TABLE.unpack_from(header, table)
    start = table + _TABLE.size
    if size < _TABLE.size + count * _PART.size or table + size > len(header):
        raise Damaged(f"Its table of {count:,} images does not fit the header.", place.offset)
    rows = header[start : start + count * _PART.size]
    blob = whole.unpacked_size if whole.packed_size else whole.payload_size
    left = blob
    for row in _PART.iter_unpack(rows):
        fields, part = _as_entry(row, whole)
        left -= part[1]
        if left < 0:  # real images lie one behind the other
            raise Damaged(
                "Its images overlap: together they are longer than their blob.", place.offset
            )
        if sum(part) > blob:
            raise Damaged(
                f"An image of it claims bytes {part[0]:,} to {sum(part):,}.", place.offset
            )
        entry = entry_of(fields, header, place, place.offset or 0, module)
        yield Packed(
            entry=entry._replace(
                compression=compression_of(whole), size=part[1], unpacked_size=part[1]
            ),
            at=payload_at,
            size=whole.packed_size or whole.payload_size,
            unpacked_size=blob,
            part=part,
        )


def _as_entry(row: tuple[int, ...], whole: Fields) -> tuple[Fields, tuple[int, int]]:
    kind, version, offset, size, _, _, _, minor, major, arch, name, length, flags, *_ = row
    fields = Fields(
        kind=kind,
        version=version,
        header_size=whole.header_size,
        payload_size=size,
        packed_size=0,
        extra_at=0,
        minor=minor,
        major=major,
        arch=arch,
        name_at=name,
        name_size=length,
        flags=flags,
        reserved=0,
        unpacked_size=size,
    )
    return fields, (offset, size)
