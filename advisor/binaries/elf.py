"""ELF64, little-endian: the header and section table of cubins and host files.

Field meanings: System V ABI, "Object Files".
"""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.span import Damaged, check

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.span import Span

MAGIC = b"\x7fELF"
MACHINE_CUDA = 190
TYPE_RELOCATABLE = 1
SECTION_NULL = 0
SECTION_PROGBITS = 1
SECTION_NOBITS = 8
FLAG_EXECUTABLE = 0x4

_HEADER = struct.Struct("<4s5B7xHHIQQQIHHHHHH")
# The address, alignment and entry size of a section are of no use here.
_SECTION = struct.Struct("<IIQ8xQQII16x")
# 5,362 is the most seen in one image. This bounds memory, about 300 bytes each.
_MAX_SECTIONS = 1 << 18
_NAMES_EXTENDED = 0xFFFF


class Header(NamedTuple):
    """The fields of an ELF header that somebody here reads."""

    os_abi: int
    abi_version: int
    type: int
    machine: int
    version: int
    flags: int
    sections_at: int
    section_size: int
    section_count: int
    names_index: int


class Section(NamedTuple):
    """One row of the section table; *name* is an offset into the section names."""

    name: int
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int


# What Section._make does, without its Python frame: images have thousands of sections.
_as_section = partial(tuple.__new__, Section)


def read_header(span: Span) -> Header:
    """Return the header of an ELF64 little-endian file; raises Damaged for any other."""
    magic, bits, order, _, os_abi, abi, *rest = _HEADER.unpack(span.read(0, 64))
    if magic != MAGIC or bits != 2 or order != 1:
        raise Damaged("It is not a 64-bit little-endian ELF file.", 0)
    kind, machine, version, _, _, sections_at, flags, _, _, _, size, count, names = rest
    return Header(
        os_abi=os_abi,
        abi_version=abi,
        type=kind,
        machine=machine,
        version=version,
        flags=flags,
        sections_at=sections_at,
        section_size=size,
        section_count=count,
        names_index=names,
    )


def read_sections(span: Span, header: Header) -> list[Section]:
    """Return the section table; raises Damaged when it is not wholly in the file."""
    if not header.sections_at:
        return []
    if header.section_size != _SECTION.size:
        raise Damaged(f"Its section headers are {header.section_size} bytes, not 64.", 58)
    count = header.section_count or _extended_count(span, header)
    if count > _MAX_SECTIONS:
        raise Damaged(f"It claims {count:,} sections.", header.sections_at)
    table = span.read(header.sections_at, count * _SECTION.size)
    return list(map(_as_section, _SECTION.iter_unpack(table)))


def _extended_count(span: Span, header: Header) -> int:
    # With 65,280 sections or more the count moves to the size of section 0.
    return Section._make(_SECTION.unpack(span.read(header.sections_at, 64))).size


def read_names(span: Span, header: Header, sections: list[Section]) -> bytes:
    """Return the section names, each ended by a zero byte."""
    index = header.names_index
    if index == _NAMES_EXTENDED and sections:
        index = sections[0].link
    if not sections or index == 0:
        return b""
    if index >= len(sections):
        raise Damaged(f"Its section names are in section {index} of {len(sections)}.", 62)
    return read_section(span, sections[index])


def read_section(span: Span, section: Section) -> bytes:
    """Return a section's bytes; none for one without any in the file."""
    if section.type == SECTION_NOBITS:
        return b""
    check(section.offset, section.size, span.size)
    return span.read(section.offset, section.size)


def is_code(section: Section) -> bool:
    """Return whether a section holds instructions."""
    # The upper flag bits of cubins of the old ABI count barriers.
    return section.type == SECTION_PROGBITS and bool(section.flags & FLAG_EXECUTABLE)


def has_code(span: Span) -> bool:
    """Return whether an image has any code; raises Damaged when its sections cannot be read."""
    return any(map(is_code, read_sections(span, read_header(span))))


def text_at(strings: bytes, offset: int, most: int) -> str:
    """Return the text at *offset*, up to a zero byte or *most* bytes, whatever its bytes are."""
    if not 0 <= offset < len(strings):
        raise Damaged(f"A name is at byte {offset:,} of {len(strings):,}.", offset)
    end = strings.find(b"\0", offset, offset + most)
    return strings[offset : end if end >= 0 else offset + most].decode("utf-8", "replace")
