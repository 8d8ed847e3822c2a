"""Gathers by index that L2 serves, told from walks across rows by what device memory reads of what is used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuadvise.advisor.facts.gathers import gathers_from_l2
from gpuadvise.advisor.facts.kernel_profile import KernelProfile, WarpRequests

# A gather of a word beside two loads along the warp: 40 sectors of 3 requests, of which 384 bytes are used.
GATHER = KernelProfile(
    global_loads=WarpRequests(requests=3e6, sectors=40e6, used_bytes=9.6),
    global_stores=WarpRequests(requests=1e6, sectors=1e6, used_bytes=4.0),
    dram_read=270e6,
    l1_load_hit_rate=0.3,
)
UNCOUNTED = KernelProfile(
    global_loads=WarpRequests(used_bytes=9.6),
    global_sectors=40e6,
    global_sectors_ideal=12e6,
    dram_bytes=270e6,
    l1_hit_rate=0.3,
)


@pytest.mark.parametrize("profile", [GATHER, UNCOUNTED])
def test_a_gather_beside_streams_is_seen_on_either_page(profile: KernelProfile) -> None:
    assert gathers_from_l2(profile)


@pytest.mark.parametrize(
    "change",
    [
        {"dram_read": 384e6},  # every byte once: loads across rows
        {"dram_read": 900e6},  # L2 does not have them
        {"dram_read": 1e6},  # the kernel's own array
        {"dram_read": None, "dram_bytes": None},
        {"l1_load_hit_rate": 0.8},  # rows of a thread
        {"global_loads": WarpRequests(requests=3e6, sectors=96e6, used_bytes=4.0)},
        {"global_loads": WarpRequests(requests=3e6, sectors=12e6, used_bytes=32.0)},
        {"global_loads": WarpRequests()},
        {"global_stores": WarpRequests(requests=1e6, sectors=32e6, used_bytes=4.0)},
    ],
)
def test_what_reads_across_rows_or_wastes_stores_is_no_gather(change: dict[str, object]) -> None:
    assert not gathers_from_l2(replace(GATHER, **change))


def test_few_sectors_of_stores_or_whole_ones_do_not_count() -> None:
    whole = WarpRequests(requests=1e6, sectors=4e6, used_bytes=32.0)
    assert gathers_from_l2(replace(GATHER, global_stores=whole))
    assert gathers_from_l2(replace(GATHER, global_stores=WarpRequests()))
