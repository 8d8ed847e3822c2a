from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.banks import bank_conflicts
from gpuadvise.advisor.memory.layouts import (
    SharedTile,
    Swizzle,
    Walk,
    smallest_padding,
    smallest_stride_padding,
    smallest_swizzle,
    walk_pattern,
)
from gpuadvise.advisor.memory.pattern import strided

CC90 = Capability(9, 0)
GUIDE = SharedTile(rows=32, columns=32, element_bytes=4)


def degree(tile: SharedTile, walk: Walk, swizzle: Swizzle | None = None) -> int:
    return bank_conflicts(walk_pattern(tile, walk, swizzle), CC90).degree


def tile_padding(tile: SharedTile, walk: Walk) -> int | None:
    return smallest_padding(lambda pad: walk_pattern(replace(tile, pad=pad), walk), CC90)


def worst(addresses: list[int], word: int) -> int:
    """Return the most words of one bank that a phase wants, warp by warp, counted afresh."""
    lanes = min(32, 128 // word)
    found = 1
    for first in range(0, len(addresses), lanes):
        wanted: dict[int, set[int]] = {}
        for address in addresses[first : first + lanes]:
            for four in range(address // 4, (address + word) // 4):
                wanted.setdefault(four % 32, set()).add(four)
        found = max(found, *map(len, wanted.values()))
    return found


def test_the_guides_tile() -> None:
    assert degree(GUIDE, Walk.COLUMN) == 32
    assert degree(GUIDE, Walk.ROW) == 1
    assert tile_padding(GUIDE, Walk.COLUMN) == 1
    assert degree(SharedTile(rows=32, columns=32, element_bytes=4, pad=1), Walk.COLUMN) == 1
    assert tile_padding(GUIDE, Walk.ROW) == 0
    assert SharedTile(rows=32, columns=32, element_bytes=4, pad=1).bytes == 32 * 33 * 4


def test_the_guides_tile_swizzled() -> None:
    swizzle = smallest_swizzle(GUIDE, CC90)
    assert str(swizzle) == "column ^ (row & 31)"
    assert degree(GUIDE, Walk.COLUMN, swizzle) == degree(GUIDE, Walk.ROW, swizzle) == 1


def test_sixteen_byte_vectors_of_a_half_precision_tile() -> None:
    tile = SharedTile(rows=64, columns=8, element_bytes=16)
    assert degree(tile, Walk.COLUMN) == 8
    assert str(smallest_swizzle(tile, CC90)) == "column ^ (row & 7)"
    assert tile_padding(tile, Walk.COLUMN) == 1


def test_a_shift_when_several_rows_share_the_banks() -> None:
    tile = SharedTile(rows=64, columns=4, element_bytes=16)  # two rows per 128 bytes
    swizzle = smallest_swizzle(tile, CC90)
    assert swizzle == Swizzle(mask=3, shift=1)
    assert str(swizzle) == "column ^ ((row >> 1) & 3)"


def test_rows_that_are_no_power_of_two_are_not_permuted() -> None:
    assert smallest_swizzle(SharedTile(rows=32, columns=48, element_bytes=4), CC90) is None


def test_a_small_tile_wraps_into_the_next_column() -> None:
    tile = SharedTile(rows=16, columns=16, element_bytes=4)
    assert walk_pattern(tile, Walk.COLUMN).starts[16] == 4
    assert walk_pattern(SharedTile(rows=2, columns=2, element_bytes=4), Walk.ROW).starts == (
        0,
        4,
        8,
        12,
    )


@pytest.mark.parametrize(
    ("rows", "columns", "pad"), [(0, 8, 0), (8, 0, 0), (8, 8, -1), (2**15, 64, 0)]
)
def test_what_is_no_tile(rows: int, columns: int, pad: int) -> None:
    with pytest.raises(BadInput):
        walk_pattern(SharedTile(rows=rows, columns=columns, element_bytes=4, pad=pad), Walk.ROW)


@given(st.sampled_from([4, 8, 16]), st.integers(0, 300))
def test_stride_padding_is_the_smallest_that_helps(word: int, stride: int) -> None:
    def conflict(pad: int) -> int:
        return bank_conflicts(strided(word, stride_bytes=(stride + pad) * word), CC90).degree

    pad = smallest_stride_padding(word, stride, CC90)
    assert pad is not None
    assert conflict(pad) == 1
    assert all(conflict(less) > 1 for less in range(pad))


@given(
    st.sampled_from([4, 8, 16]), st.sampled_from([1, 8, 16, 32, 64]), st.sampled_from([4, 8, 32])
)
def test_a_swizzle_permutes_every_row(word: int, rows: int, columns: int) -> None:
    tile = SharedTile(rows=rows, columns=columns, element_bytes=word)
    swizzle = smallest_swizzle(tile, CC90)
    if swizzle:
        for row in range(rows):
            assert {swizzle.column(row, c) for c in range(columns)} == set(range(columns))
        assert degree(tile, Walk.COLUMN, swizzle) == 1


def test_elements_as_long_as_all_banks_cannot_be_padded_apart() -> None:
    assert smallest_stride_padding(128, 1, CC90) is None
    tile = SharedTile(rows=32, columns=2, element_bytes=128)
    assert tile_padding(tile, Walk.COLUMN) is None


@pytest.mark.parametrize("word", [4, 8, 16])
@pytest.mark.parametrize("rows", [8, 16, 32, 64])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 8, 12, 16, 20, 31, 32, 33, 64, 128])
def test_what_is_suggested_serves_every_warp_of_the_tile(
    word: int, rows: int, columns: int
) -> None:
    tile = SharedTile(rows=rows, columns=columns, element_bytes=word)
    places = [(row, column) for column in range(columns) for row in range(rows)]
    pad = tile_padding(tile, Walk.COLUMN)
    assert pad is not None
    assert worst([(row * (columns + pad) + column) * word for row, column in places], word) == 1
    swizzle = smallest_swizzle(tile, CC90)
    if swizzle:
        for walk in (places, sorted(places)):
            kept = [(row * columns + swizzle.column(row, column)) * word for row, column in walk]
            groups = [kept[first : first + 32] for first in range(0, len(kept), 32)]
            assert max(worst(group, word) for group in groups) == 1
