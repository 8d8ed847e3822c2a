"""The search for containers finds what a plain search of aligned words finds."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuadvise.advisor.binaries.fatbin.containers import Scan
from gpuadvise.advisor.binaries.fatbin.region import PATTERN
from gpuadvise.advisor.binaries.host_file import read_sections
from gpuadvise.advisor.binaries.span import MemorySpan

if TYPE_CHECKING:
    from collections.abc import Iterable

SIZE = 1 << 20
PIECE = 1 << 18


def found(data: bytes, skipped: Iterable[tuple[int, int]] = ()) -> list[int]:
    scan, at, every = Scan(MemorySpan(data), list(skipped)), 0, []
    while (start := scan.next(at)) is not None:
        every.append(start)
        at = start + 8
    return every


def placed(filler: bytes, places: Iterable[int]) -> bytes:
    data = bytearray((filler * (SIZE // len(filler) + 1))[:SIZE])
    for place in places:
        data[place : place + 8] = PATTERN
    return bytes(data)


@pytest.mark.parametrize("filler", [b"\0", b"\xed", PATTERN[:7], b"\x90" + PATTERN])
@settings(max_examples=25, deadline=None)
@given(places=st.sets(st.integers(0, SIZE // 8 - 1), max_size=6))
def test_every_aligned_one_is_found(filler: bytes, places: set[int]) -> None:
    data = placed(filler, (8 * place for place in places))
    plain = [at for at in range(0, SIZE, 8) if data.startswith(PATTERN, at)]
    assert found(data) == plain
    assert {8 * place for place in places} <= set(plain)


def test_neighbours_of_pieces_and_the_last_word() -> None:
    places = [0, 8, 4096, PIECE, PIECE + 4096 - 8, PIECE + 4096, SIZE - 8]
    assert found(placed(b"\0", places)) == places


def test_unaligned_ones_are_none() -> None:
    assert found(placed(b"\0", [4, 4099, SIZE - 9])) == []


@pytest.mark.parametrize("size", range(1, 8))
def test_a_piece_may_end_within_a_word(size: int) -> None:
    assert found(bytes(4096) + PATTERN + bytes(800) + PATTERN[:size]) == [4096]


def test_what_is_skipped_is_not_searched() -> None:
    data = placed(b"\0", [0, 800, 808, 1600, SIZE - 8])
    assert found(data, [(4, 812), (1500, 1700)]) == [0, SIZE - 8]


def library(*sections: tuple[str, bytes]) -> bytes:
    """Return an ELF file with *sections* of data."""
    names = b"\0" + b"\0".join(name.encode() for name, _ in sections) + b"\0.shstrtab\0"
    rows, blob = [bytes(64)], b""
    for name, data in (*sections, (".shstrtab", names)):
        at = names.index(name.encode())
        rows.append(struct.pack("<IIQQQQIIQQ", at, 1, 0, 0, 64 + len(blob), len(data), 0, 0, 1, 0))
        blob += data + bytes(-len(data) % 8)
    head = struct.pack("<4s5B7x", b"\x7fELF", 2, 1, 1, 0, 0)
    head += struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64 + len(blob), 0, 64, 0, 0, 64, len(rows), len(rows) - 1
    )
    return head + blob + b"".join(rows)


def test_what_only_compilers_write_is_not_searched() -> None:
    names = (".rodata", ".eh_frame", ".debug_info", ".gcc_except_table", ".ldata", ".comment")
    data = library(*((name, PATTERN) for name in names))
    sections = read_sections(MemorySpan(data))
    assert [sections.at(at) for at in found(data, sections.skipped())] == [".rodata", ".ldata"]
