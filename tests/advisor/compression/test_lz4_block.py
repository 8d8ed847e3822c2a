"""LZ4 blocks in Python, held against the package lz4: the same bytes, and the same blocks refused."""

from __future__ import annotations

import lz4.block
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.compression import lz4_block
from gpuadvise.advisor.compression.lz4_block import BrokenBlock

# What packs well (runs, repeats near and far) and what does not.
CONTENTS = st.one_of(
    st.binary(max_size=400),
    st.lists(st.sampled_from([b"ab", b"kernel", b"\0" * 40, b"x"]), max_size=120).map(b"".join),
    st.builds(lambda data, times: data * times, st.binary(min_size=1, max_size=30), st.integers(0, 400)),
)  # fmt: skip


def packed(data: bytes) -> bytes:
    block: bytes = lz4.block.compress(data, store_size=False)
    return block


def by_package(payload: bytes, most: int) -> bytes | None:
    try:
        return bytes(lz4.block.decompress(payload, uncompressed_size=most))
    except lz4.block.LZ4BlockError:
        return None


def in_python(payload: bytes, most: int) -> bytes | None:
    try:
        return lz4_block._decompress(payload, most)
    except BrokenBlock:
        return None


@given(CONTENTS, st.integers(-30, 30))
def test_what_the_package_packs_comes_back_or_does_not_fit(data: bytes, more: int) -> None:
    most = max(0, len(data) + more)
    assert in_python(packed(data), most) == by_package(packed(data), most)
    assert in_python(packed(data), len(data)) == data


@given(CONTENTS, st.data())
def test_damaged_blocks_are_read_as_the_package_reads_them(
    data: bytes, draw: st.DataObject
) -> None:
    """But for copies from no distance at all, which the package takes for zeros."""
    block = bytearray(packed(data))
    for at, byte in draw.draw(
        st.lists(st.tuples(st.integers(0, len(block) - 1), st.integers(1, 255)), max_size=4)
    ):
        block[at] = byte
    payload = (
        bytes(block[: draw.draw(st.integers(0, len(block)))])
        if draw.draw(st.booleans())
        else bytes(block)
    )
    ours, theirs = in_python(payload, len(data)), by_package(payload, len(data))
    assert ours == theirs or (ours is None and b"\0\0" in payload)


@given(CONTENTS, st.integers(1, 100))
def test_the_first_bytes_are_those_of_the_whole(data: bytes, size: int) -> None:
    assert lz4_block.first_bytes(packed(data), size) == data[:size]


def test_the_first_bytes_of_a_block_that_is_cut_off() -> None:
    block = packed(bytes(range(40)) * 3)
    assert bytes(range(40)).startswith(lz4_block.first_bytes(block[:20], 60))
    assert lz4_block.first_bytes(b"", 4) == b""
    with pytest.raises(BrokenBlock):
        lz4_block.first_bytes(b"\x10a\x09\x00", 40)


def test_a_copy_that_claims_gigabytes_is_refused_before_it_is_made() -> None:
    assert in_python(b"\x1fa\x01\x00" + b"\xff" * 4_000_000 + b"\0", 1 << 20) is None


@pytest.mark.parametrize("most", [0, 1, 100])
def test_nothing_at_all(most: int) -> None:
    for payload in (b"", b"\0", b"\x10", b"\x10a"):
        assert in_python(payload, most) == by_package(payload, most)
