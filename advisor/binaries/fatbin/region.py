"""Fatbin regions: a header, then entries of one image or program each, told from headers alone."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.fatbin.entry import (
    CONCATENATED,
    LAYOUT,
    EntryFields,
    Packed,
    compression_of,
    entry_of,
    packed_as,
)
from gpuadvise.advisor.binaries.model import Damage, Place
from gpuadvise.advisor.binaries.span import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.binaries.span import Span


# Magic number, version 1, header of 16 bytes: what every region starts with.
PATTERN = b"\x50\xed\x55\xba\x01\x00\x10\x00"

REGION = struct.Struct("<8sQ")
_MAX_HEADER = 1 << 22
# Longer than nearly every entry's header, which is then read with one call.
_HEAD = 256
_MAX_ENTRIES = 100_000


class Region:
    """What one region holds, and where to look for the next."""

    __slots__ = ("damage", "end", "packed")

    def __init__(self, end: int) -> None:
        self.end = end
        self.packed: list[Packed] = []
        self.damage: list[Damage] = []


def read_region(span: Span, at: int, place: Place) -> Region:
    """Return the entries of the region at *at* in the span; its damage is part of the answer.

    Raises Damaged when the span has no room for a region's header.
    """
    head = span.read(at, max(REGION.size, min(_HEAD, span.size - at)))
    _, size = REGION.unpack_from(head)
    end = at + REGION.size + size
    region = Region(min(end, span.size))
    if end > span.size:
        text = f"A container claims {size:,} bytes; the file ends {end - span.size:,} bytes early."
        region.damage.append(Damage(place=place.at(at), message=text))
    try:
        _fill(region, span, at, place, head[REGION.size :])
    except Damaged as damage:
        where = place.at(damage.offset)
        region.damage.append(Damage(place=where, message=f"An entry is damaged. {damage.message}"))
        region.end = max(at + REGION.size, damage.offset or 0)
    return region


def _fill(region: Region, span: Span, start: int, place: Place, head: bytes) -> None:
    at = start + REGION.size
    while at + LAYOUT.size <= region.end:
        if len(region.packed) >= _MAX_ENTRIES:
            raise Damaged(f"The container holds more than {_MAX_ENTRIES:,} entries.", at)
        head = head or span.read(at, min(_HEAD, region.end - at))
        fields = LAYOUT.unpack_from(head)
        kind, _, header, payload, packed, *_ = fields
        if not LAYOUT.size <= header <= _MAX_HEADER or at + header + payload > region.end:
            text = f"It claims {header:,} bytes of header and {payload:,} of payload."
            raise Damaged(text, at)
        if packed > payload:
            raise Damaged(f"It claims {packed:,} of {payload:,} bytes.", at)
        head = head[:header] if header <= len(head) else span.read(at, header)
        if kind == CONCATENATED:
            # few files have any

            whole = EntryFields._make(fields)
            region.packed.extend(split(whole, head, at + header, place.at(at), start))
        else:
            entry = entry_of(fields, head, place, at, start)
            region.packed.append(packed_as(entry, at + header))
        at += header + payload
        head = b""


_TABLE = struct.Struct("<II")  # count and bytes, these eight included
_PART = struct.Struct("<HHIIIIIHHIIIQQQ")


def split(
    whole: EntryFields, header: bytes, payload_at: int, place: Place, module: int
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


def _as_entry(row: tuple[int, ...], whole: EntryFields) -> tuple[EntryFields, tuple[int, int]]:
    kind, version, offset, size, _, _, _, minor, major, arch, name, length, flags, *_ = row
    fields = EntryFields(
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
