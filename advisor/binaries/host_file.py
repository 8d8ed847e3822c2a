"""Sections of host ELF and PE files: names, and ranges that cannot hold a container."""

from __future__ import annotations

import struct
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries import elf
from gpuadvise.advisor.binaries.fatbin.entry import LINK_INPUT
from gpuadvise.advisor.binaries.span import Damaged

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.span import Span

DOS_MAGIC = b"MZ"

_PE_AT = 0x3C
_PE_MAGIC = b"PE\0\0"
_COFF = struct.Struct("<4sHHIIIHH")
_PE_SECTION = struct.Struct("<8sIIIIIIHHI")
_PE_EXECUTABLE = 0x20000000
_LONGEST_NAME = 256
_LOADED = ".nv_fatbin"
# Made by compilers only: unwinding, debugging, comments. Debugging data can outweigh all the rest.
_WRITTEN_BY_COMPILERS = (".eh_frame", ".gcc_except_table", ".debug_", ".zdebug_", ".comment")
_FULL_NAMES = {_LOADED[:8]: _LOADED, LINK_INPUT[:8]: LINK_INPUT}


class HostSection(NamedTuple):
    """A section of a host file: where its bytes lie, and whether to search them."""

    start: int
    end: int
    name: str
    skipped: bool  # host code, symbols, relocations: cannot hold a container


class Sections:
    """The sections of a host file, in file order; none when they cannot be read."""

    def __init__(self, sections: list[HostSection]) -> None:
        self._sections = sorted(sections)
        self._starts = [section.start for section in self._sections]

    def at(self, offset: int) -> str | None:
        """Return the name of the section at a file offset."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0 or offset >= self._sections[index].end:
            return None
        return self._sections[index].name

    def until(self, offset: int) -> int | None:
        """Return where the answer of ``at`` for *offset* ends; None: at the end of the file."""
        index = bisect_right(self._starts, offset)
        following = self._starts[index] if index < len(self._starts) else None
        end = self._sections[index - 1].end if index else offset
        if offset >= end or (following is not None and following < end):
            return following
        return end

    def loaded(self) -> bool:
        """Return whether there is a section of images that the program loads."""
        return any(section.name == _LOADED for section in self._sections)

    def skipped(self) -> list[tuple[int, int]]:
        """Return start and end of the sections that cannot hold a container, in order."""
        return [(section.start, section.end) for section in self._sections if section.skipped]


def read_sections(span: Span) -> Sections:
    """Return the sections of an ELF or PE file; raises Damaged when its table is broken."""
    head = span.read(0, min(4, span.size))
    if head == elf.MAGIC:
        return Sections(_elf(span))
    if head[:2] == DOS_MAGIC:
        return Sections(_pe(span))
    return Sections([])


def _elf(span: Span) -> list[HostSection]:
    if span.read(4, 2) != b"\x02\x01":
        return []  # 32 bits, or big-endian: searched without its sections
    header = elf.read_header(span)
    sections = elf.read_sections(span, header)
    names = elf.read_names(span, header, sections)
    return [
        _host_section(section, elf.text_at(names, section.name, _LONGEST_NAME))
        for section in sections
        if section.type not in (elf.SECTION_NULL, elf.SECTION_NOBITS) and names
    ]


def _host_section(section: elf.Section, name: str) -> HostSection:
    skipped = (
        bool(section.flags & elf.FLAG_EXECUTABLE)
        or section.type != elf.SECTION_PROGBITS
        or name.startswith(_WRITTEN_BY_COMPILERS)
    )
    return HostSection(section.offset, section.offset + section.size, name, skipped)


def _pe(span: Span) -> list[HostSection]:
    (at,) = struct.unpack("<I", span.read(_PE_AT, 4))
    magic, _, count, _, _, _, optional, _ = _COFF.unpack(span.read(at, _COFF.size))
    if magic != _PE_MAGIC:
        raise Damaged("It starts like a Windows program, but has no PE header.", at)
    table = span.read(at + _COFF.size + optional, count * _PE_SECTION.size)
    return [
        HostSection(start, start + size, _pe_name(name), bool(flags & _PE_EXECUTABLE))
        for name, _, _, size, start, _, _, _, _, flags in _PE_SECTION.iter_unpack(table)
        if size
    ]


def _pe_name(raw: bytes) -> str:
    name = raw.rstrip(b"\0").decode("utf-8", "replace")
    return _FULL_NAMES.get(name, name)
