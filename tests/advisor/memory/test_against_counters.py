"""The models against the counters of a H200: Nsight Compute reports of known kernels.

``tests/gpu/ncu_kernels.cu`` says what each warp takes; the recorded counters say what the
profiler found. Both sides are exact, so nothing here is approximate.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.memory.banks import bank_conflicts
from gpuadvise.advisor.memory.coalescing import coalesce
from gpuadvise.advisor.memory.layouts import SharedTile, Walk, walk_pattern
from gpuadvise.advisor.memory.pattern import strided

H200 = Capability(9, 0)
RECORDED = Path(__file__).parents[1] / "profiles" / "recorded" / "hand_raw.csv"
N, SIDE, TILE = 1 << 26, 2048, 32


@pytest.fixture(scope="module")
def counters() -> dict[str, dict[str, int]]:
    with RECORDED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    first = next(n for n, row in enumerate(rows) if row and row[0] == "ID")
    head = rows[first]
    names = [
        f"memory_{what}{ideal}"
        for what in ("l2_theoretical_sectors_global", "l1_wavefronts_shared")
        for ideal in ("", "_ideal")
    ]
    return {
        row[head.index("Kernel Name")].partition("(")[0]: {
            name: int(row[head.index(name)]) for name in names
        }
        for row in rows[first + 2 :]
    }


def sectors(word: int, **pattern: int) -> int:
    return coalesce(strided(word, **pattern), H200).sectors


def test_vectors_of_four_floats(counters) -> None:
    warps = N // 4 // 32
    found = counters["elementwise"]["memory_l2_theoretical_sectors_global"]
    assert found == warps * 3 * sectors(16)


def test_a_stride_of_eight(counters) -> None:
    warps = N // 8 // 32
    found = counters["strided"]
    access = coalesce(strided(4, stride_bytes=32), H200)
    assert found["memory_l2_theoretical_sectors_global"] == warps * 2 * access.sectors
    assert found["memory_l2_theoretical_sectors_global_ideal"] == warps * 2 * access.ideal_sectors


def test_misaligned_warps(counters) -> None:
    """Each warp of ``spilling`` loads 96 times, 1031 elements further on, and stores once."""
    warps = N // 16 // 32
    offsets = [4 * 1031 * k % 32 for k in range(96)]
    loads = sum(sectors(4, offset_bytes=offset) for offset in offsets)
    found = counters["spilling"]
    assert found["memory_l2_theoretical_sectors_global"] == warps * (loads + sectors(4))
    assert found["memory_l2_theoretical_sectors_global_ideal"] == warps * 97 * 4


def test_a_tiled_product(counters) -> None:
    warps, steps = SIDE * SIDE // 32, SIDE // TILE
    found = counters["sgemm_tiled"]["memory_l2_theoretical_sectors_global"]
    assert found == warps * (2 * steps + 1) * sectors(4)


def test_a_column_of_a_tile_without_padding(counters) -> None:
    """Every element is written once along a row and read once along a column."""
    tile = SharedTile(rows=TILE, columns=TILE, element_bytes=4)
    row, column = (
        bank_conflicts(walk_pattern(tile, walk), H200) for walk in (Walk.ROW, Walk.COLUMN)
    )
    warps = SIDE * SIDE // 32
    found = counters["transpose_conflict"]
    assert column.degree == 32
    assert found["memory_l1_wavefronts_shared"] == warps * (row.wavefronts + column.wavefronts)
    assert found["memory_l1_wavefronts_shared_ideal"] == warps * 2
