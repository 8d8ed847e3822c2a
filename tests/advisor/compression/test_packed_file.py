"""Packed files are read as what is in them, up to damage and within bounds."""

from __future__ import annotations

import gzip
import io

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.compression import zstd
from gpuadvise.advisor.compression.packed_file import (
    PackedStream,
    Packing,
    UnpackingBounds,
    first_bytes,
    packing_of,
    unpacked,
)
from gpuadvise.advisor.errors import BadInput, Unavailable

PACK = {Packing.GZIP: gzip.compress, Packing.ZSTD: zstandard.ZstdCompressor().compress}
WIDE = UnpackingBounds(freely=1 << 30, times=1, most=1 << 30)
CONTENTS = st.one_of(st.binary(max_size=500), st.integers(0, 300_000).map(bytes))


def stream_of(packed: bytes, packing: Packing, bounds: UnpackingBounds = WIDE) -> PackedStream:
    return PackedStream(io.BytesIO(packed), packing, "x", bounds)


@given(
    st.sampled_from(Packing), st.lists(CONTENTS, min_size=1, max_size=3), st.integers(1, 100_000)
)
def test_frames_behind_each_other_come_back_in_any_pieces(
    packing: Packing, contents: list[bytes], size: int
) -> None:
    packed = b"".join(map(PACK[packing], contents))
    assert packing_of(packed) is packing
    stream = stream_of(packed, packing)
    pieces = list(iter(lambda: stream.read(size), b""))
    assert b"".join(pieces) == b"".join(contents)
    assert all(len(piece) == size for piece in pieces[:-1])
    assert stream.fault is None


@given(st.sampled_from(Packing), st.binary(min_size=1, max_size=500), st.data())
def test_a_stream_that_is_cut_off_gives_what_it_has(
    packing: Packing, content: bytes, draw: st.DataObject
) -> None:
    packed = PACK[packing](content)
    stream = stream_of(packed[: draw.draw(st.integers(0, len(packed) - 1))], packing)
    assert content.startswith(stream.read(1000))
    assert stream.fault == "end early"


@given(st.sampled_from(Packing), st.binary(max_size=300), st.data())
def test_damage_is_said_or_leaves_the_content(
    packing: Packing, content: bytes, draw: st.DataObject
) -> None:
    pack = zstandard.ZstdCompressor(write_checksum=True).compress
    packed = bytearray(pack(content) if packing is Packing.ZSTD else gzip.compress(content))
    packed[draw.draw(st.integers(0, len(packed) - 1))] ^= draw.draw(st.integers(1, 255))
    stream = stream_of(bytes(packed), packing)
    whole = b"".join(iter(lambda: stream.read(100), b""))
    assert stream.fault or whole == content


@pytest.mark.parametrize("packing", Packing)
def test_a_bomb_is_refused_before_it_is_unpacked(packing: Packing) -> None:
    packed = PACK[packing](bytes(64 << 20))
    most = 1 << 20
    stream = stream_of(packed, packing, UnpackingBounds(freely=most, times=100, most=1 << 40))
    sizes: list[int] = []
    with pytest.raises(BadInput, match="x: it unpacks to more than 100 times its size"):
        sizes.extend(map(len, iter(lambda: stream.read(1 << 16), b"")))
    assert sum(sizes) <= max(most, 100 * len(packed))
    stream = stream_of(packed, packing, UnpackingBounds(freely=1 << 40, times=1, most=1 << 20))
    with pytest.raises(BadInput, match="x: it unpacks to more than 0 GiB"):
        stream.read(8 << 20)


@pytest.mark.parametrize("packing", Packing)
def test_a_packed_file_is_read_front_to_back_and_can_be_begun_again(packing: Packing) -> None:
    content = b"".join(b"line %d\n" % number for number in range(10_000))
    packed = io.BytesIO(b"before" + PACK[packing](content))
    packed.seek(6)
    file = unpacked(packed, packing, "x", WIDE)
    assert file.readline() == b"line 0\n"
    assert file.read(6) == b"line 1"
    assert file.tell() == 13
    assert file.read() == content[13:]
    file.seek(0)
    assert file.read() == content
    with pytest.raises(io.UnsupportedOperation):
        file.seek(100_000)


@pytest.mark.parametrize("packing", Packing)
def test_a_packed_file_that_ends_early_says_so_at_its_end(packing: Packing) -> None:
    content = bytes(range(256)) * 4000
    packed = PACK[packing](content)
    file = unpacked(io.BytesIO(packed[:-9]), packing, "x", WIDE)
    assert content.startswith(file.read(5))
    with pytest.raises(BadInput, match=f"^x: its {packing} data end early.$") as caught:
        file.read()
    assert caught.value.hint == "Is the copy or download complete?"


def test_the_first_bytes_of_any_file() -> None:
    content = bytes(range(256)) * 1000
    for stored in (content, *(pack(content) for pack in PACK.values())):
        file = io.BytesIO(stored)
        assert first_bytes(file, 300, "x") == content[:300]
        assert file.tell() == 0
    assert first_bytes(io.BytesIO(b""), 300, "x") == b""
    for nothing in (b"\x1f\x8bno gzip", gzip.compress(b"")):
        assert first_bytes(io.BytesIO(nothing), 300, "x") == nothing


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ModuleNotFoundError("none"), "is not installed"),
        (ImportError("bad"), "cannot be loaded: bad"),
    ],
)
def test_where_nothing_reads_zstandard_that_is_said(
    error: ImportError, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise error

    monkeypatch.setattr(zstd, "stream", refuse)
    with pytest.raises(Unavailable, match=f"x is packed with Zstandard, .* {why}") as caught:
        first_bytes(io.BytesIO(PACK[Packing.ZSTD](b"text")), 10, "x")
    assert "pip install zstandard" in str(caught.value.hint)
