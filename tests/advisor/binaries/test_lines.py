from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.binaries.text.lines import LONGEST, read_lines, read_pieces

if TYPE_CHECKING:
    from pathlib import Path


def test_lines_are_numbered() -> None:
    assert list(read_lines(io.BytesIO(b"a\nb\r\nc"))) == [("a\n", 1), ("b\n", 2), ("c", 3)]


def test_a_long_line_comes_in_pieces_or_is_cut() -> None:
    text = b"x" * (2 * LONGEST + 10) + b"\nnext\n"
    pieces = list(read_pieces(io.BytesIO(text)))
    assert [len(piece) for piece, _ in pieces] == [LONGEST, LONGEST, 11, 5]
    assert [number for _, number in pieces] == [1, 1, 1, 2]
    lines = list(read_lines(io.BytesIO(text)))
    assert [(len(line), number) for line, number in lines] == [(LONGEST, 1), (5, 2)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_shells_write_is_read(encoding: str) -> None:
    text = "ptxas info    : 0 bytes gmem\n"
    assert list(read_lines(io.BytesIO(text.encode(encoding)))) == [(text, 1)]


def test_other_bytes_are_replaced() -> None:
    ((line, _),) = read_lines(io.BytesIO(b"caf\xe9 \x00\n"))
    assert line == "caf� \x00\n"


def test_the_stream_stays_open() -> None:
    stream = io.BufferedReader(io.BytesIO(b"a\n"))
    assert len(list(read_lines(stream))) == 1
    assert not stream.closed


def test_a_reader_may_give_up_and_close_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("a\nb\n")
    with path.open("rb", buffering=0) as file:
        lines = read_lines(cast("BinaryIO", file))
        next(lines)
    lines.close()


@given(st.binary(max_size=4000))
def test_any_bytes_are_lines(content: bytes) -> None:
    numbers = [number for _, number in read_pieces(io.BytesIO(content))]
    assert numbers == sorted(numbers)
