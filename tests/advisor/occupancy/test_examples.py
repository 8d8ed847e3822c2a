"""Worked examples: by the guide, the spreadsheet and NVIDIA's header, capability by capability."""

from __future__ import annotations

from typing import Any

import pytest

from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.catalogue.capabilities import limits_of
from gpuadvise.advisor.occupancy.answer import Occupancy, Resource
from gpuadvise.advisor.occupancy.launch import CachePreference, Launch
from gpuadvise.advisor.occupancy.model import occupancy


def answer(cc: str, threads: int, registers: int | None = None, **more: Any) -> Occupancy:
    limits, _ = limits_of(parse_capability(cc))
    return occupancy(limits, Launch(threads=threads, registers=registers, **more))


# cc, threads, registers, limits by warps / blocks / registers / shared memory / barriers, blocks
# per SM, occupancy in per cent, further fields of the launch.
EXAMPLES: list[tuple[str, int, int, tuple[int | None, ...], int, float, dict[str, Any]]] = [
    ("1.1", 128, 12, (6, 8, 5, None, None), 5, 83.3, {}),
    ("1.1", 256, 12, (3, 8, 2, None, None), 2, 66.7, {}),
    ("1.1", 256, 10, (3, 8, 3, None, None), 3, 100.0, {}),
    ("1.1", 256, 11, (3, 8, 2, None, None), 2, 66.7, {}),
    ("1.1", 512, 10, (1, 8, 1, None, None), 1, 66.7, {}),
    ("1.1", 192, 10, (4, 8, 4, None, None), 4, 100.0, {}),
    ("1.1", 96, 8, (8, 8, 8, None, None), 8, 100.0, {}),
    ("1.3", 256, 16, (4, 8, 4, None, None), 4, 100.0, {}),
    ("2.0", 256, 20, (6, 8, 6, None, None), 6, 100.0, {}),
    ("2.0", 256, 21, (6, 8, 5, None, None), 5, 83.3, {}),
    ("2.0", 256, 22, (6, 8, 5, None, None), 5, 83.3, {}),
    ("2.0", 256, 23, (6, 8, 5, None, None), 5, 83.3, {}),
    (
        "2.0",
        192,
        20,
        (8, 8, 8, 1, None),
        1,
        12.5,
        {"static_shared": 12_288, "cache": CachePreference.L1},
    ),
    ("3.5", 256, 32, (8, 16, 8, None, None), 8, 100.0, {}),
    ("3.7", 192, 128, (10, 16, 5, None, None), 5, 46.9, {}),
    ("5.3", 512, 64, (4, 32, 2, None, None), 2, 50.0, {}),
    ("5.3", 512, 65, (4, 32, 0, None, None), 0, 0.0, {}),
    ("6.0", 512, 64, (4, 32, 2, None, None), 2, 50.0, {}),
    ("6.0", 512, 65, (4, 32, 1, None, None), 1, 25.0, {}),
    ("6.1", 512, 64, (4, 32, 2, None, None), 2, 50.0, {}),
    ("6.1", 512, 65, (4, 32, 1, None, None), 1, 25.0, {}),
    ("6.0", 310, 169, (6, 32, 0, None, None), 0, 0.0, {}),
    ("7.0", 128, 37, (16, 32, 12, None, None), 12, 75.0, {}),
    ("7.0", 320, 37, (6, 32, 4, None, None), 4, 62.5, {}),
    ("7.0", 1024, 64, (2, 32, 1, None, None), 1, 50.0, {}),
    ("7.0", 1024, 65, (2, 32, 0, None, None), 0, 0.0, {}),
    (
        "7.0",
        256,
        32,
        (8, 32, 8, 3, None),
        3,
        37.5,
        {"dynamic_shared": 20_480, "max_dynamic_shared": 98_304, "carveout": 50},
    ),
    (
        "7.0",
        256,
        32,
        (8, 32, 8, 4, None),
        4,
        50.0,
        {"dynamic_shared": 20_480, "max_dynamic_shared": 98_304},
    ),
    ("7.5", 256, 64, (4, 16, 4, 4, None), 4, 100.0, {"static_shared": 16_384}),
    ("8.0", 256, 32, (8, 32, 8, 9, None), 8, 100.0, {"static_shared": 16_384}),
    ("8.0", 256, 32, (8, 32, 8, 10, None), 8, 100.0, {"static_shared": 15_360}),
    (
        "8.0",
        256,
        32,
        (8, 32, 8, 1, None),
        1,
        12.5,
        {"dynamic_shared": 166_912, "max_dynamic_shared": 166_912},
    ),
    (
        "8.0",
        256,
        32,
        (8, 32, 8, 0, None),
        0,
        0.0,
        {"dynamic_shared": 166_913, "max_dynamic_shared": 167_936},
    ),
    ("8.0", 256, 32, (8, 32, 8, 0, None), 0, 0.0, {"dynamic_shared": 50_176, "optin": False}),
    ("8.0", 256, 32, (8, 32, 8, 3, None), 3, 37.5, {"static_shared": 49_152}),
    ("8.0", 256, 32, (8, 32, 8, 8, None), 8, 100.0, {"carveout": 0}),
    ("8.0", 256, 32, (8, 32, 8, 1, None), 1, 12.5, {"static_shared": 4_096, "carveout": 0}),
    ("8.6", 128, 40, (12, 16, 12, 100, None), 12, 100.0, {}),
    ("8.6", 64, 32, (24, 16, 32, 100, None), 16, 66.7, {}),
    ("8.9", 64, 32, (24, 24, 32, 100, None), 24, 100.0, {}),
    (
        "9.0",
        384,
        168,
        (5, 32, 1, 1, 64),
        1,
        18.8,
        {"dynamic_shared": 232_448, "max_dynamic_shared": 232_448},
    ),
    ("9.0", 128, 32, (16, 32, 16, 228, 8), 8, 50.0, {"barriers": 8}),
    (
        "10.0",
        256,
        32,
        (8, 32, 8, 1, 64),
        1,
        12.5,
        {"dynamic_shared": 232_448, "max_dynamic_shared": 232_448},
    ),
    (
        "10.0",
        256,
        32,
        (8, 32, 8, 0, 64),
        0,
        0.0,
        {"dynamic_shared": 232_449, "max_dynamic_shared": 233_472},
    ),
    ("12.0", 256, 32, (6, 24, 8, 100, 24), 6, 100.0, {}),
    ("12.0", 128, 32, (12, 24, 16, 100, 6), 6, 50.0, {"barriers": 4}),
    ("12.0", 256, 32, (6, 24, 8, 2, 24), 2, 33.3, {"dynamic_shared": 49_152}),
    ("11.0", 512, 40, (3, 24, 3, 228, 24), 3, 100.0, {}),
]


@pytest.mark.parametrize(
    ("cc", "threads", "registers", "limits", "blocks", "per_cent", "more"), EXAMPLES
)
def test_worked_example(
    cc: str,
    threads: int,
    registers: int,
    limits: tuple[int | None, ...],
    blocks: int,
    per_cent: float,
    more: dict[str, Any],
) -> None:
    result = answer(cc, threads, registers, **more)
    assert result.block_limits == limits
    assert result.blocks_per_sm == blocks
    assert round(100 * result.occupancy, 1) == per_cent


# From NVIDIA's header of CUDA 13.0: cases that other calculators get wrong.
PITFALLS = [
    ("8.0", 224, 92, 2, 21.88, {}),  # naive division says 3
    ("8.0", 128, 41, 10, 62.5, {}),
    ("8.0", 128, 43, 10, 62.5, {}),  # 41 and 43 are both charged as 48
    ("6.1", 768, 36, 2, 75.0, {}),
    ("5.2", 128, 85, 5, 31.25, {}),  # the spreadsheet says 4
    (
        "8.0",
        256,
        32,
        8,
        100.0,
        {"dynamic_shared": 2048, "carveout": 20},
    ),  # 32 KiB; 0 would say 25 %
    ("12.0", 128, 255, 2, 16.67, {"dynamic_shared": 49_152}),
    ("12.0", 128, 255, 1, 8.33, {"dynamic_shared": 65_536}),
    ("9.0", 1024, 64, 1, 50.0, {}),
    ("9.0", 1024, 65, 0, 0.0, {}),
    ("9.0", 928, 72, 0, 0.0, {}),  # the launch check, not residency
    ("9.0", 896, 72, 1, 43.75, {}),
    ("9.0", 256, 32, 1, 12.5, {"dynamic_shared": 232_448}),
    ("9.0", 256, 32, 0, 0.0, {"dynamic_shared": 233_472}),
    ("9.0", 64, 32, 32, 100.0, {"dynamic_shared": 6272}),
    ("9.0", 64, 32, 8, 25.0, {"barriers": 8}),
    ("12.0", 64, 32, 12, 50.0, {"barriers": 2}),
    ("7.5", 256, 32, 4, 100.0, {}),
    ("8.6", 1024, 32, 1, 66.67, {}),
    ("8.6", 256, 32, 6, 100.0, {}),
    ("8.6", 64, 32, 14, 58.33, {"dynamic_shared": 6144}),  # without the reserve: 16
    ("8.9", 256, 40, 6, 100.0, {}),
    ("9.0", 32, 16, 32, 50.0, {}),
    ("10.0", 32, 16, 32, 50.0, {}),
    ("12.0", 32, 16, 24, 50.0, {}),
    ("9.0", 128, 32, 6, 37.5, {"static_shared": 32_768}),
    ("12.0", 25, 79, 24, 50.0, {"dynamic_shared": 136}),  # less if the driver counts more
]


@pytest.mark.parametrize(("cc", "threads", "registers", "blocks", "per_cent", "more"), PITFALLS)
def test_pitfall(
    cc: str, threads: int, registers: int, blocks: int, per_cent: float, more: dict[str, Any]
) -> None:
    result = answer(cc, threads, registers, **more)
    assert (result.blocks_per_sm, round(100 * result.occupancy, 2)) == (blocks, per_cent)


def test_all_resources_that_tie_limit() -> None:
    tied = answer("9.0", 64, 32, barriers=2)
    assert tied.limiters == (
        Resource.WARPS,
        Resource.BLOCKS,
        Resource.REGISTERS,
        Resource.BARRIERS,
    )


def test_barriers_alone_limit_where_the_header_still_names_others() -> None:
    assert answer("9.0", 64, 32, barriers=8).limiters == (Resource.BARRIERS,)


def test_a_part_of_a_warp_takes_a_whole_slot() -> None:
    result = answer("9.0", 100, 32)
    assert (result.warps_per_block, result.warps_per_sm, result.threads_per_sm) == (4, 64, 1600)
    assert result.occupancy == 1.0


def test_a_register_count_that_is_not_known_sets_no_limit() -> None:
    result = answer("9.0", 1024)
    assert result.limits[Resource.REGISTERS] is None
    assert result.registers_per_block is None
    assert result.blocks_per_sm == 2


def test_the_largest_blocks_need_the_opt_in_and_say_its_value() -> None:
    assert answer("9.0", 256, 32, static_shared=8192, dynamic_shared=40_960).needs_optin is None
    assert answer("9.0", 256, 32, static_shared=8192, dynamic_shared=40_961).needs_optin == 40_961
    already = answer("9.0", 256, 32, dynamic_shared=65_536, max_dynamic_shared=65_536)
    assert (already.blocks_per_sm, already.needs_optin) == (3, None)
    denied = answer("9.0", 256, 32, dynamic_shared=65_536, optin=False)
    assert (denied.blocks_per_sm, denied.needs_optin) == (0, None)


@pytest.mark.parametrize(
    ("cache", "capacity"),
    [
        (CachePreference.NONE, 114_688),
        (CachePreference.SHARED, 114_688),
        (CachePreference.EQUAL, 98_304),
        (CachePreference.L1, 81_920),
    ],
)
def test_the_cache_preference_of_cc_3_7(cache: CachePreference, capacity: int) -> None:
    assert answer("3.7", 128, 32, cache=cache).carveout_bytes == capacity


def test_two_sizes_have_no_middle() -> None:
    assert answer("2.0", 128, 20, cache=CachePreference.EQUAL).carveout_bytes == 49_152


def test_an_outgrown_preference_gives_way() -> None:
    small = answer("3.5", 128, 32, static_shared=20_000, cache=CachePreference.L1)
    assert (small.carveout_bytes, small.blocks_per_sm) == (49_152, 2)
    hint = answer("8.0", 128, 32, static_shared=20_000, carveout=0)
    assert (hint.carveout_bytes, hint.blocks_per_sm) == (32_768, 1)


def test_a_cache_preference_is_a_carveout_from_cc_7_0() -> None:
    assert answer("8.0", 128, 32, cache=CachePreference.L1).carveout_bytes == 8192
    assert answer("8.0", 128, 32, cache=CachePreference.EQUAL).carveout_bytes == 100 * 1024
    explicit = answer("8.0", 128, 32, cache=CachePreference.L1, carveout=100)
    assert explicit.carveout_bytes == 164 * 1024


def test_virtual_resources_make_the_answer_an_upper_bound() -> None:
    assert answer("9.0", 25, 79, dynamic_shared=136).caveat is None
    caveat = answer("12.0", 25, 79, dynamic_shared=136).caveat
    assert caveat is not None
    assert caveat.startswith("An upper bound")
    assert answer("12.0", 2048).caveat is None
