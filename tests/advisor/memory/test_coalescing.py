from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.coalescing import coalesce
from gpuadvise.advisor.memory.pattern import Pattern, gathered, only_lanes, strided
from gpuadvise.advisor.memory.transactions import CachePath

CC20, CC35, CC90 = Capability(2, 0), Capability(3, 5), Capability(9, 0)


def test_a_coalesced_warp_is_four_sectors_of_one_line() -> None:
    access = coalesce(strided(4), CC90)
    assert (access.sectors, access.lines, access.efficiency) == (4, 1, 1.0)
    assert access.touched == (0, 1, 2, 3)


def test_a_misaligned_warp_takes_five_sectors() -> None:
    for offset in (4, 8, 28):
        access = coalesce(strided(4, offset_bytes=offset), CC90)
        assert (access.sectors, access.efficiency) == (5, 0.8)


def test_the_guides_cached_and_uncached_fermi() -> None:
    shifted = strided(4, offset_bytes=4)
    assert coalesce(strided(4), CC20).lines == 1
    assert coalesce(shifted, CC20).bytes_moved == 2 * 128
    assert coalesce(shifted, CC20, CachePath.SECTORS).bytes_moved == 5 * 32


def test_stride_two_uses_half() -> None:
    assert coalesce(strided(4, stride_bytes=8), CC90).efficiency == 0.5
    assert coalesce(strided(4, stride_bytes=8), CC20).sectors == 2 * 4  # two lines


def test_four_bytes_of_every_sector_divide_throughput_by_eight() -> None:
    for stride in (32, 64, 4096):
        access = coalesce(strided(4, stride_bytes=stride), CC90)
        assert (access.sectors, access.efficiency) == (32, 1 / 8)


def test_stride_32_on_fermi_loads_32_lines() -> None:
    assert coalesce(strided(4, stride_bytes=128), CC20).lines == 32


@pytest.mark.parametrize(
    ("word", "sectors", "lines"), [(1, 1, 1), (2, 2, 1), (8, 8, 2), (16, 16, 4)]
)
def test_other_words(word: int, sectors: int, lines: int) -> None:
    access = coalesce(strided(word), CC90)
    assert (access.sectors, access.lines, access.instructions) == (sectors, lines, 1)


def test_a_broadcast_uses_one_word_of_a_sector() -> None:
    access = coalesce(strided(4, stride_bytes=0), CC90)
    assert (access.sectors, access.bytes_used, access.efficiency) == (1, 4, 1 / 8)


def test_order_does_not_matter() -> None:
    forth = coalesce(gathered(4, range(32)), CC90)
    back = coalesce(gathered(4, range(31, -1, -1)), CC90)
    assert forth == back


def test_a_struct_of_three_floats_takes_three_instructions() -> None:
    access = coalesce(strided(12), CC90)
    assert (access.instructions, access.width) == (3, 4)
    assert (access.sectors, access.distinct_sectors) == (36, 12)
    assert access.cached_efficiency == 1.0
    assert access.efficiency == pytest.approx(1 / 3)


def test_a_struct_that_keeps_its_members_alignment() -> None:
    assert coalesce(strided(16), CC90).instructions == 1
    assert coalesce(strided(16, alignment=4), CC90).instructions == 4


def test_a_misaligned_wide_word_is_no_single_instruction() -> None:
    access = coalesce(strided(8, offset_bytes=4), CC90)
    assert (access.aligned, access.instructions, access.width) == (False, 2, 4)
    assert coalesce(strided(8), CC90).aligned


def test_rows_of_a_narrow_block() -> None:
    together = coalesce(strided(4, row_threads=16, pitch_bytes=64), CC90)
    apart = coalesce(strided(4, row_threads=16, pitch_bytes=4100), CC90)
    assert (together.sectors, apart.sectors) == (4, 5)


def test_wide_words_on_fermi_go_by_half_and_quarter_warps() -> None:
    everyone_in_one_line = strided(8, stride_bytes=0)
    assert coalesce(everyone_in_one_line, CC20).bytes_moved == 2 * 128
    assert coalesce(everyone_in_one_line, CC90).bytes_moved == 32


def test_inactive_lanes_move_nothing() -> None:
    few = only_lanes(strided(4), 0x000000FF)
    assert coalesce(few, CC90).sectors == 1
    assert coalesce(strided(4, threads=8), CC90).sectors == 1
    with pytest.raises(BadInput):
        only_lanes(strided(4, threads=8), 0x100)


def test_paths() -> None:
    assert coalesce(strided(4), CC35, CachePath.L1_LINES).path is CachePath.L1_LINES
    with pytest.raises(BadInput, match=r"9\.0 has no l1 path"):
        coalesce(strided(4), CC90, CachePath.L1_LINES)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: strided(0),
        lambda: strided(4, threads=0),
        lambda: strided(4, threads=33),
        lambda: strided(4, offset_bytes=-4),
        lambda: strided(4, stride_bytes=2**60),
        lambda: strided(4, alignment=3),
        lambda: gathered(4, []),
        lambda: gathered(4, range(33)),
        lambda: gathered(4, [-1]),
    ],
)
def test_what_is_no_warp(wrong) -> None:
    with pytest.raises(BadInput):
        wrong()


def moved_byte_by_byte(pattern: Pattern, width: int) -> tuple[int, int]:
    """Return sectors and distinct sectors, marking every byte that an instruction touches."""
    total, ever = 0, set()
    for piece in range(0, pattern.element_bytes, width):
        touched = set()
        for start in pattern.starts:
            for byte in range(width):
                touched.add((start + piece + byte) // 32)
        total += len(touched)
        ever |= touched
    return total, len(ever)


indices = st.lists(st.integers(0, 5000), min_size=1, max_size=32)


@given(st.sampled_from([1, 2, 4, 8, 12, 16, 24, 40, 64]), indices)
def test_random_indices_against_a_simulated_warp(element: int, chosen: list[int]) -> None:
    pattern = gathered(element, chosen)
    access = coalesce(pattern, CC90)
    assert (access.sectors, access.distinct_sectors) == moved_byte_by_byte(pattern, access.width)
    wanted = {start + byte for start in pattern.starts for byte in range(element)}
    assert access.bytes_used == len(wanted)
    assert {byte // 32 for byte in wanted} == set(access.touched)
    assert 0 < access.efficiency <= access.cached_efficiency <= 1


@given(st.sampled_from([1, 2, 4, 8, 16]), indices, st.integers(1, 2**32 - 1))
def test_fewer_lanes_never_move_more(element: int, chosen: list[int], mask: int) -> None:
    pattern = gathered(element, chosen)
    if mask & (1 << len(chosen)) - 1:
        for capability in (Capability(1, 3), CC20, CC35, CC90):
            fewer = coalesce(only_lanes(pattern, mask), capability)
            assert fewer.distinct_sectors <= coalesce(pattern, capability).distinct_sectors


@given(st.sampled_from([1, 2, 4, 8, 16]), indices)
def test_random_indices_through_the_l1_of_fermi(element: int, chosen: list[int]) -> None:
    """Words of 8 and 16 bytes go by half and quarter warps, each with lines of its own."""
    lanes = min(32, 128 // element)
    lines = [
        {index * element // 128 for index in chosen[first : first + lanes]}
        for first in range(0, len(chosen), lanes)
    ]
    moved = coalesce(gathered(element, chosen), CC20).bytes_moved
    assert moved == 128 * sum(map(len, lines))
