"""Source lines of the instructions of a cubin that was compiled with ``-lineinfo``.

``.debug_line`` holds a line-number program per file (DWARF 2 to 5, section 6.2): a small machine
whose rows say from which address on which line holds. Addresses are relocated to functions. NVIDIA
adds an operation (0x90) that says which row the following ones were inlined at, so that a line in a
header of the toolkit can be told by the line that calls it.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries import elf
from gpuadvise.advisor.binaries.span import Damaged, FileSpan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.binaries.span import Span

_SECTION = ".debug_line"
_STRINGS: tuple[str, ...] = (".debug_line_str", ".debug_str")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA, _REL = struct.Struct("<QQq"), struct.Struct("<QQ")
_UNIT = struct.Struct("<I")
_ADDRESS_BYTES = 8
_NEWEST = 5  # versions from 2 on
_LONGEST_NAME = 4096
# Far more than any module has: cuBLAS's largest has some hundred thousand rows. They bound memory.
_MOST_ROWS = 1 << 22
_MOST_FILES = 1 << 16
_LARGEST = 1 << 28
# Standard operations (DWARF 5, 6.2.5.2), by their numbers.
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE = 1, 2, 3, 4
_CONST_ADD_PC, _FIXED_ADVANCE_PC = 8, 9
_FUNCTION, _SUBROUTINE = 2, b"$__internal_"  # the type of a symbol, and how its name begins
_END_SEQUENCE, _SET_ADDRESS, _DEFINE_FILE = 1, 2, 3  # extended ones
_INLINED_AT = 0x90  # NVIDIA's: the number of a row, counted from 1; 0: no call
# Folders of headers that came with a compiler, whose lines nobody who uses them can change.
_TOOLKIT = (
    rb"(?:^|[\\/])(?:cuda[^\\/]*|cu\d+|targets[\\/][^\\/]+|MSVC)[\\/](?:.*[\\/])?include(?:$|[\\/])"
    rb"|[\\/]include[\\/]c\+\+"
)
# Forms that name a file in version 5 (7.5.6), and what a path is called there (6.2.4.1).
_STRING, _LINE_STRP, _STRP, _UDATA, _DATA1, _DATA2, _DATA16 = (
    0x08,
    0x1F,
    0x0E,
    0x0F,
    0x0B,
    0x05,
    0x1E,
)
_PATH = 1


class SourceLine(NamedTuple):
    """A line of a source; *file* is its last name, for the folders are of somebody's machine."""

    file: str
    line: int


class _File(NamedTuple):
    """A file of a table: its last name, and whether it is a header of the toolkit."""

    name: str = ""
    of_toolkit: bool = False


class LineTable:
    """The lines of one function's instructions."""

    def __init__(self, rows: list[tuple[int, SourceLine | None]]) -> None:
        """Keep *rows*: offsets in the function, and the line from there on; None where there is none."""
        rows.sort(key=lambda row: (row[0], row[1] is not None))  # an end gives way to a beginning
        self._offsets = [offset for offset, _ in rows]
        self._lines = [line for _, line in rows]

    def at(self, offset: int) -> SourceLine | None:
        """Return the line of the instruction at *offset* bytes from the function's start."""
        place = bisect_right(self._offsets, offset) - 1
        return self._lines[place] if place >= 0 else None

    @property
    def first(self) -> SourceLine | None:
        """The line of the first instruction that has one."""
        return next((line for line in self._lines if line), None)


def has_lines(image: bytes) -> bool:
    """Return whether the cubin *image* says that it has a table of lines, without reading it."""
    return b"\0.debug_line\0" in image


def line_tables(image: bytes) -> dict[str, LineTable]:
    """Return the tables of the functions in the cubin *image*, by mangled name.

    None for one without line information, and for one whose table is damaged.
    """
    return line_tables_in(FileSpan(BytesIO(image), len(image)))


def line_tables_in(span: Span) -> dict[str, LineTable]:
    """Return what `line_tables` does of the cubin that *span* holds."""
    try:
        return _tables(span)
    except (Damaged, struct.error, IndexError, ValueError):
        return {}


def _tables(span: Span) -> dict[str, LineTable]:
    header = elf.read_header(span)
    sections = elf.read_sections(span, header)
    texts = elf.read_names(span, header, sections)
    names = [elf.text_at(texts, section.name, _LONGEST_NAME) for section in sections]
    if _SECTION not in names:
        return {}
    number = names.index(_SECTION)
    content = elf.read_section(span, sections[number])
    if len(content) > _LARGEST:
        return {}
    strings: dict[str, bytes] = {
        name: elf.read_section(span, sections[names.index(name)])
        for name in _STRINGS
        if name in names
    }
    functions: dict[int, tuple[str, int]] = {}
    for row, name in zip(sections, names, strict=True):
        if row.info == number and name in (f".rela{_SECTION}", f".rel{_SECTION}"):
            symbols = elf.read_section(span, sections[row.link])
            functions |= _relocations(elf.read_section(span, row), symbols, names, ".rela" in name)
    rows: dict[str, list[tuple[int, SourceLine | None]]] = {}
    left = _MOST_ROWS
    for function, offset, line in _programs(content, functions, strings):
        rows.setdefault(function, []).append((offset, line))
        left -= 1
        if not left:
            break
    if ".symtab" in names:
        symbols = elf.read_section(span, sections[names.index(".symtab")])
        symbol_names = elf.read_section(span, sections[sections[names.index(".symtab")].link])
        for function, offset in _subroutines(symbols, symbol_names, names):
            if function in rows:
                rows[function].append((offset, None))
    return {function: LineTable(table) for function, table in rows.items()}


def _relocations(
    content: bytes, symbols: bytes, names: list[str], with_addend: bool
) -> dict[int, tuple[str, int]]:
    """Return by place in the section the function whose address belongs there, and an offset in it."""
    layout = _RELA if with_addend else _REL
    functions: dict[int, tuple[str, int]] = {}
    for place, info, *addend in layout.iter_unpack(content):
        _, _, _, section, value, _ = _SYMBOL.unpack_from(symbols, (info >> 32) * _SYMBOL.size)
        if section < len(names) and names[section].startswith(".text."):
            functions[place] = names[section].removeprefix(".text."), value + sum(addend)
    return functions


def _subroutines(
    symbols: bytes, symbol_names: bytes, names: list[str]
) -> Iterator[tuple[str, int]]:
    """Yield where the assembler's own subroutines, such as that of a division, begin in a function.

    They stand behind its code, and no line is theirs.
    """
    for at, kind, _, section, value, _ in _SYMBOL.iter_unpack(symbols):
        if kind & 0xF != _FUNCTION or section >= len(names):
            continue
        own = symbol_names.startswith(_SUBROUTINE, at)
        if own and names[section].startswith(".text."):
            yield names[section].removeprefix(".text."), value


class _Reader:
    """Bytes of the section, read from one place on."""

    __slots__ = ("at", "content")

    def __init__(self, content: bytes, at: int) -> None:
        self.content = content
        self.at = at

    def byte(self) -> int:
        value = self.content[self.at]
        self.at += 1
        return value

    def number(self, size: int) -> int:
        end = self.at + size
        if end > len(self.content):
            raise IndexError
        value = int.from_bytes(self.content[self.at : end], "little")
        self.at = end
        return value

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift > 63:
                return value

    def signed(self) -> int:
        start = self.at
        value = self.unsigned()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if self.content[self.at - 1] & 0x40 else value

    def text(self) -> bytes:
        end = self.content.index(b"\0", self.at)
        text = self.content[self.at : end]
        self.at = end + 1
        return text


def _programs(
    content: bytes, functions: dict[int, tuple[str, int]], strings: dict[str, bytes]
) -> Iterator[tuple[str, int, SourceLine | None]]:
    """Yield function, offset and line of each row of each program in the section *content*."""
    at = 0
    while at + _UNIT.size < len(content):
        (length,) = _UNIT.unpack_from(content, at)
        end = at + _UNIT.size + length
        if end > len(
            content
        ):  # 64-bit tables have a length of 0xffffffff, and no compiler of CUDA makes them
            return
        yield from _program(_Reader(content[:end], at + _UNIT.size), end, functions, strings)
        at = end


def _program(
    reader: _Reader, end: int, functions: dict[int, tuple[str, int]], strings: dict[str, bytes]
) -> Iterator[tuple[str, int, SourceLine | None]]:
    version = reader.number(2)
    if not 2 <= version <= _NEWEST:
        return
    if version == _NEWEST:
        reader.number(2)  # sizes of an address and a segment
    header = reader.number(4)
    begin = reader.at + header
    step = reader.byte()
    if version > 3:
        reader.byte()  # operations of a long instruction word
    reader.byte()  # is_stmt
    line_base = reader.byte()
    line_base -= 256 if line_base > 127 else 0
    line_range, opcode_base = reader.byte(), reader.byte()
    arguments = [reader.byte() for _ in range(opcode_base - 1)]
    if version == _NEWEST:
        _names_5(reader, strings)  # folders
        files = _names_5(reader, strings)
    else:
        files = [_File(), *_names_2(reader)]
    reader.at = begin
    function, address, file, line = "", 0, 1, 1
    calls: list[SourceLine | None] = []  # the place of each row so far
    call = 0  # the row at which what follows was inlined
    while reader.at < end:
        code = reader.byte()
        if code >= opcode_base or code == _COPY:
            if code != _COPY:
                code -= opcode_base
                address += step * (code // line_range)
                line += line_base + code % line_range
            at_call = calls[call - 1] if 0 < call <= len(calls) else None
            calls.append(_source_line(files, file, line, at_call))
            yield function, address, calls[-1]
        elif code == 0:
            size = reader.unsigned()
            after = reader.at + size
            operation = reader.byte()
            if operation == _END_SEQUENCE:
                yield function, address, None
                function, address, file, line = "", 0, 1, 1
                calls, call = [], 0
            elif operation == _SET_ADDRESS:
                place = reader.at
                stored = reader.number(min(size - 1, _ADDRESS_BYTES))
                function, address = functions.get(place, ("", stored))
            elif operation == _DEFINE_FILE and len(files) < _MOST_FILES:
                files.append(_File(_last_name(reader.text())))
            elif operation == _INLINED_AT:
                call = reader.unsigned()
            reader.at = after
        elif code == _ADVANCE_PC:
            address += step * reader.unsigned()
        elif code == _ADVANCE_LINE:
            line += reader.signed()
        elif code == _SET_FILE:
            file = reader.unsigned()
        elif code == _CONST_ADD_PC:
            address += step * ((255 - opcode_base) // line_range)
        elif code == _FIXED_ADVANCE_PC:
            address += reader.number(2)
        else:
            for _ in range(arguments[code - 1]):
                reader.unsigned()


def _source_line(
    files: list[_File], file: int, line: int, at_call: SourceLine | None
) -> SourceLine | None:
    """Return the place, *at_call* for one in a header of the toolkit that was inlined there.

    Line 0 and files that the table does not name are none.
    """
    if line <= 0 or not 0 <= file < len(files) or not files[file].name:
        return None
    if files[file].of_toolkit and at_call is not None:
        return at_call
    return SourceLine(files[file].name, line)


def _names_2(reader: _Reader) -> list[_File]:
    """Return the files of versions 2 to 4."""
    of_toolkit = [False]  # the folder of the compilation
    while folder := reader.text():
        of_toolkit.append(_is_of_toolkit(folder))
    files: list[_File] = []
    while (name := reader.text()) and len(files) < _MOST_FILES:
        folder_at, _, _ = reader.unsigned(), reader.unsigned(), reader.unsigned()  # time, size
        known = folder_at < len(of_toolkit) and of_toolkit[folder_at]
        files.append(_File(_last_name(name), known or _is_of_toolkit(name)))
    return files


def _is_of_toolkit(path: bytes) -> bool:
    return re.search(_TOOLKIT, path[-_LONGEST_NAME:]) is not None


def _names_5(reader: _Reader, strings: dict[str, bytes]) -> list[_File]:
    """Return the files of one of the two tables of version 5, which name folders where they are not of the compilation."""
    kinds = [(reader.unsigned(), reader.unsigned()) for _ in range(reader.byte())]
    names = []
    for _ in range(min(reader.unsigned(), _MOST_FILES)):
        file = _File()
        for content, form in kinds:
            text = _form(reader, form, strings)
            if content == _PATH:
                file = _File(_last_name(text), _is_of_toolkit(text))
        names.append(file)
    return names


def _form(reader: _Reader, form: int, strings: dict[str, bytes]) -> bytes:
    """Return the text of one value, empty for a number; raises ValueError for a form that is not known."""
    if form == _STRING:
        return reader.text()
    if form in (_LINE_STRP, _STRP):
        table = strings.get(".debug_line_str" if form == _LINE_STRP else ".debug_str", b"")
        begin = reader.number(4)
        return table[begin : table.index(b"\0", begin)]
    if form == _UDATA:
        reader.unsigned()
    elif form in (_DATA1, _DATA2, _DATA16):
        reader.number({_DATA1: 1, _DATA2: 2, _DATA16: 16}[form])
    else:
        raise ValueError(form)
    return b""


def _last_name(path: bytes) -> str:
    text = path[-_LONGEST_NAME:].decode("utf-8", "replace")
    return text.replace("\\", "/").rpartition("/")[2]
