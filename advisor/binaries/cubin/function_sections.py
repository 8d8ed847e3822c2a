"""The sections of a cubin, sorted by the function they belong to (by index, never by name)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries import elf
from gpuadvise.advisor.binaries.cubin.identity import CubinIdentity, identify
from gpuadvise.advisor.binaries.cubin.nv_info import (
    FRAME_SIZE,
    MIN_STACK_SIZE,
    REGISTER_COUNT,
    walk,
)
from gpuadvise.advisor.binaries.span import Budgeted, Damaged

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.elf import Section
    from gpuadvise.advisor.binaries.span import Span

_PROGBITS = 1
SYMBOLS = 2
_NOBITS = 8
INFO = 0x70000000
_SHARED_RELOCATABLE = 0x7000000A
SHARED_KINDS = (_NOBITS, _SHARED_RELOCATABLE)
CONSTANT_0 = 0x70000064
CONSTANT_BANKS = 18
WRITABLE = 0x1

SHARED_NAME = b".nv.shared."
CONSTANT_NAME = b".nv.constant"
_SYMBOL = struct.Struct("<IBBHQQ")
ENTRY = 0x10  # in a symbol's st_other
# The longest mangled name seen in a library is 2,489 characters.
LONGEST_NAME = 1 << 14
TOTALS = frozenset({FRAME_SIZE, MIN_STACK_SIZE, REGISTER_COUNT})


@dataclass(slots=True)
class Function:
    """What the section table says about one function."""

    text: Section
    shared: int | None = None  # bytes, reserved ones included
    constants: list[tuple[int, int]] = field(default_factory=list)
    info: Section | None = None
    repeated: bool = False  # a second section claims to be the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One opened cubin."""

    span: Budgeted
    identity: CubinIdentity
    functions: list[Function]
    registers: dict[int, int]  # by symbol, as the next two
    frames: dict[int, int]
    stacks: dict[int, int]
    symbols: bytes
    strings: bytes

    def symbol(self, index: int) -> tuple[str, bool]:
        """Return name and entry mark of a function symbol; raises Damaged when there is none."""
        if (index + 1) * _SYMBOL.size > len(self.symbols):
            raise Damaged(f"A function has symbol {index:,}, which does not exist.")
        name, _, other, *_ = _SYMBOL.unpack_from(self.symbols, index * _SYMBOL.size)
        text = elf.text_at(self.strings, name, LONGEST_NAME)
        self.span.charge(len(text))
        return text, bool(other & ENTRY)


def read_layout(raw: Span) -> Layout:
    """Return the layout of a cubin; raises Damaged when its tables cannot be read."""
    span = Budgeted(raw)
    header = elf.read_header(span)
    sections = elf.read_sections(span, header)
    names = elf.read_names(span, header, sections)
    identity = identify(span, header, sections, names)
    symbols, strings = _symbols(span, sections)
    functions = _functions(sections)
    registers: dict[int, int] = {}
    frames: dict[int, int] = {}
    stacks: dict[int, int] = {}
    by_attribute = {REGISTER_COUNT: registers, FRAME_SIZE: frames, MIN_STACK_SIZE: stacks}
    for section in sections:
        function = functions.get(section.info)
        if section.type == INFO:
            if function is not None:
                function.repeated |= function.info is not None
                function.info = function.info or section
            elif not section.info:
                for attribute, _, words in walk(elf.read_section(span, section), TOTALS):
                    if len(words) > 1:
                        by_attribute[attribute][words[0]] = words[1]
        elif function is not None:
            _attach(function, section, names)
    return Layout(
        span=span,
        identity=identity,
        functions=list(functions.values()),
        registers=registers,
        frames=frames,
        stacks=stacks,
        symbols=symbols,
        strings=strings,
    )


def _functions(sections: list[Section]) -> dict[int, Function]:
    return {
        index: Function(section)
        for index, section in enumerate(sections)
        if section[1] == _PROGBITS and elf.is_code(section)  # by position: images have thousands
    }


def _symbols(span: Budgeted, sections: list[Section]) -> tuple[bytes, bytes]:
    for section in sections:
        if section.type == SYMBOLS:
            if section.link >= len(sections):
                raise Damaged(f"Its symbol names are in section {section.link:,}.")
            strings = sections[section.link]
            return elf.read_section(span, section), elf.read_section(span, strings)
    return b"", b""


def _attach(function: Function, section: Section, names: bytes) -> None:
    kind = section.type
    if kind == _PROGBITS:
        _attach_named(function, section, names)
    elif kind in SHARED_KINDS:
        if names.startswith(SHARED_NAME, section.name):
            _share(function, section)
    elif 0 <= (bank := kind - CONSTANT_0) < CONSTANT_BANKS:
        function.constants.append((bank, section.size))


def _attach_named(function: Function, section: Section, names: bytes) -> None:
    start = section.name
    if names.startswith(CONSTANT_NAME, start):
        bank = names[start + len(CONSTANT_NAME) : start + len(CONSTANT_NAME) + 2].rstrip(b".")
        if bank.isdigit():
            function.constants.append((int(bank), section.size))
    elif section.flags & WRITABLE and names.startswith(SHARED_NAME, start):
        _share(function, section)


def _share(function: Function, section: Section) -> None:
    function.repeated |= function.shared is not None
    if function.shared is None:
        function.shared = section.size
