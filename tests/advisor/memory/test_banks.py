from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.memory.banks import bank_conflicts, bank_count, bank_of
from gpuadvise.advisor.memory.pattern import gathered, strided

CC10, CC20, CC30, CC90 = (Capability(major, 0) for major in (1, 2, 3, 9))


def degree(word: int, stride: int, capability: Capability = CC90, **mode: bool) -> int:
    return bank_conflicts(strided(word, stride_bytes=stride * word), capability, **mode).degree


def test_the_guides_column_of_a_32_by_32_tile() -> None:
    assert degree(4, 32) == 32
    assert degree(4, 33) == 1


@pytest.mark.parametrize("stride", range(1, 65))
def test_four_byte_words_conflict_by_the_common_divisor(stride: int) -> None:
    from math import gcd

    assert degree(4, stride) == gcd(stride, 32)


def test_a_broadcast_and_a_multicast_are_no_conflict() -> None:
    assert bank_conflicts(gathered(4, [7] * 32), CC90).degree == 1
    assert bank_conflicts(gathered(4, [0] * 16 + [1] * 16), CC90).degree == 1
    assert bank_conflicts(gathered(4, [0] * 16 + [32] * 16), CC90).degree == 2


def test_bytes_of_one_word_are_shared() -> None:
    assert degree(1, 1) == 1
    assert degree(2, 1) == 1
    assert degree(1, 4) == 1
    assert degree(1, 128) == 32


def test_wide_words_go_by_half_and_quarter_warps() -> None:
    doubles, quads = strided(8), strided(16)
    assert bank_conflicts(doubles, CC90).lanes_per_phase == 16
    assert (bank_conflicts(doubles, CC90).degree, bank_conflicts(doubles, CC90).wavefronts) == (
        1,
        2,
    )
    assert bank_conflicts(quads, CC90).lanes_per_phase == 8
    assert (bank_conflicts(quads, CC90).degree, bank_conflicts(quads, CC90).wavefronts) == (1, 4)
    assert degree(8, 2) == 2
    assert degree(16, 8) == 8
    assert degree(16, 9) == 1


def test_a_struct_of_three_floats_is_three_reads_without_conflict() -> None:
    found = bank_conflicts(strided(12), CC90)
    assert (found.instructions, found.degree, found.wavefronts) == (3, 1, 3)


def test_fermi_always_pays_for_128_bit_words() -> None:
    assert degree(16, 1, CC20) == 2
    assert degree(8, 1, CC20) == 1


def test_kepler_in_both_modes() -> None:
    assert degree(8, 1, CC30, eight_byte_banks=True) == 1
    assert bank_conflicts(strided(8), CC30).wavefronts == 1  # 64-bit words, whole warp
    # words i and i + 32 of one segment of 64 words share a row of their bank
    assert degree(4, 2, CC30) == 1
    assert degree(4, 2, CC30, eight_byte_banks=True) == 1
    assert degree(4, 32, CC30) == 16
    assert degree(4, 32, CC30, eight_byte_banks=True) == 16
    assert degree(4, 3, CC30, eight_byte_banks=True) == 2
    assert degree(4, 3, CC30) == 1


def test_others_ignore_the_mode_of_kepler() -> None:
    assert degree(4, 2, CC90, eight_byte_banks=True) == 2
    assert bank_of(8, CC30, eight_byte_banks=True) == 1
    assert bank_of(8, CC90, eight_byte_banks=True) == 2


def test_tesla_serves_half_warps_with_one_broadcast() -> None:
    assert bank_count(CC10) == 16
    assert degree(4, 1, CC10) == 1
    assert degree(4, 2, CC10) == 2
    assert degree(4, 3, CC10) == 1
    assert degree(4, 16, CC10) == 16
    assert degree(8, 1, CC10) == 2  # doubles are read as two 32-bit words
    assert degree(1, 1, CC10) == 4  # four lanes of each word, one broadcast per step
    assert bank_conflicts(gathered(4, [5] * 16), CC10).degree == 1


def test_the_banks_in_trouble_are_named() -> None:
    assert bank_conflicts(strided(4, stride_bytes=128), CC90).busiest_banks == (0,)
    assert bank_conflicts(strided(4, stride_bytes=8), CC90).busiest_banks == tuple(range(0, 32, 2))
    assert bank_conflicts(strided(4), CC90).busiest_banks == ()


def simulated(starts: list[int], width: int, group: int) -> list[int]:
    """Return the cycles of each phase: every cycle, each bank opens one of its rows."""
    cycles = []
    for first in range(0, len(starts), group):
        wanted: dict[int, list[int]] = {}
        for start in starts[first : first + group]:
            for byte in range(start, start + width):
                rows = wanted.setdefault(byte // 4 % 32, [])
                if byte // 128 not in rows:
                    rows.append(byte // 128)
        count = 0
        while any(wanted.values()):
            for rows in wanted.values():
                if rows:
                    rows.pop()
            count += 1
        cycles.append(count)
    return cycles


@given(st.sampled_from([1, 2, 4, 8, 16]), st.lists(st.integers(0, 4000), min_size=1, max_size=32))
def test_random_indices_against_a_simulated_warp(word: int, chosen: list[int]) -> None:
    found = bank_conflicts(gathered(word, chosen), CC90)
    cycles = simulated([index * word for index in chosen], word, min(32, 128 // word))
    assert (found.degree, found.wavefronts) == (max(cycles), sum(cycles))
    assert found.ideal_wavefronts == len(cycles)


@given(st.lists(st.integers(0, 4000), min_size=1, max_size=32))
def test_kepler_never_does_worse_than_its_successor(chosen: list[int]) -> None:
    pattern = gathered(4, chosen)
    assert bank_conflicts(pattern, CC30).degree <= bank_conflicts(pattern, CC90).degree


@given(
    st.sampled_from([4, 8, 16]),
    st.lists(st.integers(0, 4000), min_size=1, max_size=32),
    st.booleans(),
)
def test_random_indices_in_the_wide_banks_of_kepler(
    word: int, chosen: list[int], wide: bool
) -> None:
    """A bank opens one row of 8 bytes per pass: 32 rows side by side are 256 bytes."""
    starts, passes = [index * word for index in chosen], []
    group = min(32, 256 // word)
    for first in range(0, len(starts), group):
        rows: dict[int, set[int]] = {}
        for start in starts[first : first + group]:
            for byte in range(start, start + word):
                bank = byte // 8 % 32 if wide else byte // 4 % 32
                rows.setdefault(bank, set()).add(byte // 256)
        passes.append(max(map(len, rows.values())))
    found = bank_conflicts(gathered(word, chosen), CC30, eight_byte_banks=wide)
    assert (found.degree, found.wavefronts) == (max(passes), sum(passes))
