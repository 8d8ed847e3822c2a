"""Compute capability 1.x, from the figures of the programming guide of its time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.memory.coalescing import coalesce
from gpuadvise.advisor.memory.pattern import gathered, strided
from gpuadvise.advisor.memory.transactions import relaxed

CC10, CC13 = Capability(1, 0), Capability(1, 3)


def test_in_order_and_aligned() -> None:
    assert coalesce(strided(4), CC10).bytes_moved == 2 * 64
    assert coalesce(strided(8), CC10).bytes_moved == 2 * 128
    assert coalesce(strided(16), CC10).bytes_moved == 4 * 128


def test_a_missing_lane_still_coalesces() -> None:
    assert coalesce(strided(4, threads=15), CC10).bytes_moved == 64


@pytest.mark.parametrize(
    "pattern",
    [
        gathered(4, [1, 0, *range(2, 16)]),
        strided(4, offset_bytes=4, threads=16),
        strided(1, threads=16),
    ],
)
def test_anything_else_is_sixteen_transactions_on_1_0(pattern) -> None:
    assert coalesce(pattern, CC10).bytes_moved == 16 * 32


def test_1_3_takes_any_order_and_halves_segments() -> None:
    assert coalesce(gathered(4, [1, 0, *range(2, 16)]), CC13).bytes_moved == 64
    assert coalesce(strided(4, threads=8), CC13).bytes_moved == 32
    # misaligned inside one segment of 128 bytes: the whole of it; across two: 32 and 64
    assert coalesce(strided(4, offset_bytes=4, threads=16), CC13).bytes_moved == 128
    assert coalesce(strided(4, offset_bytes=96, threads=16), CC13).bytes_moved == 32 + 32


@given(st.sampled_from([1, 2, 4, 8, 16]), st.lists(st.integers(0, 500), min_size=1, max_size=16))
def test_relaxed_segments_hold_every_address(width: int, chosen: list[int]) -> None:
    addresses = [index * width for index in chosen]
    found = relaxed(addresses, range(len(addresses)), width)
    for start, size in found:
        assert size in (32, 64, 128)
        assert start % size == 0
    for address in addresses:
        assert any(start <= address and address + width <= start + size for start, size in found)
    assert len({start // 128 for start, _ in found}) <= len(found) <= len(set(addresses))
