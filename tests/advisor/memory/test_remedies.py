from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.memory.coalescing import coalesce
from gpuadvise.advisor.memory.pattern import gathered, strided
from gpuadvise.advisor.memory.remedies import padded_element, padded_pitch, remedies, row_sectors

CC90 = Capability(9, 0)


def names(pattern) -> list[str]:
    return [remedy.name for remedy in remedies(pattern, CC90)]


def test_nothing_to_do_for_a_coalesced_warp() -> None:
    assert names(strided(4)) == []
    assert names(strided(16)) == []


def test_a_misaligned_warp_is_aligned() -> None:
    best = remedies(strided(4, offset_bytes=4), CC90)[0]
    assert (best.name, best.bytes_moved, best.efficiency) == ("aligned", 128, 1.0)


def test_a_stride_is_made_contiguous() -> None:
    best = remedies(strided(4, stride_bytes=8), CC90)[0]
    assert (best.name, best.bytes_moved) == ("contiguous", 128)


def test_a_struct_becomes_arrays_or_is_padded() -> None:
    found = {remedy.name: remedy for remedy in remedies(strided(12), CC90)}
    assert found["structure-of-arrays"].bytes_moved == 12 * 32
    assert found["structure-of-arrays"].efficiency == 1.0
    assert found["padded-element"].bytes_moved == 16 * 32
    assert (found["padded-element"].instructions, found["padded-element"].efficiency) == (1, 0.75)


@pytest.mark.parametrize(("size", "padded"), [(1, 1), (3, 4), (12, 16), (16, 16), (20, 32)])
def test_padded_elements(size: int, padded: int) -> None:
    assert padded_element(size) == padded


@given(st.sampled_from([1, 4, 8, 12, 20]), st.lists(st.integers(0, 999), min_size=1, max_size=32))
def test_a_remedy_always_moves_less(element: int, chosen: list[int]) -> None:
    pattern = gathered(element, chosen)
    moved = coalesce(pattern, CC90).bytes_moved
    found = [remedy.bytes_moved for remedy in remedies(pattern, CC90)]
    assert found == sorted(found)
    assert all(less < moved for less in found)


def test_rows_that_start_anywhere() -> None:
    assert row_sectors(4096, 4) == 4
    assert row_sectors(4100, 4) == pytest.approx(4 + 7 / 8)
    assert row_sectors(4100, 4) == sum(
        coalesce(strided(4, offset_bytes=row * 4100), CC90).sectors for row in range(8)
    ) / 8  # fmt: skip
    assert padded_pitch(4100) == 4128
    assert padded_pitch(4096) == 4096
