"""What keeps the blocks themselves waiting where the grid is small or uneven: both edges of each."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judged_profiles import findings, priority

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.facts.kernel_profile import (
    CycleSpread,
    KernelProfile,
    SharedRequests,
    WarpRequests,
)
from gpuadvise.advisor.facts.workload import at_work

NONE = WarpRequests(requests=0.0, sectors=0.0)
WHOLE = WarpRequests(requests=1e6, sectors=4e6, used_bytes=32.0)
WIDE = WarpRequests(requests=1e6, sectors=16e6, used_bytes=32.0)
STRIDED = WarpRequests(requests=2.4e6, sectors=75e6, used_bytes=4.0)
# A thread per row of different lengths: SMs work 60 % of the time, and L1 is at its roof while they do.
ROWS = KernelProfile(
    kernel="softmax_row_per_thread(const float *, float *, int)",
    capability=Capability(9, 0),
    sm_count=132,
    grid=(192, 1, 1),
    block=(256, 1, 1),
    registers=32,
    static_shared=0,
    dynamic_shared=0,
    waves=0.18,
    seconds=1.7e-3,
    elapsed_cycles=3.3e6,
    theoretical_occupancy=1.0,
    achieved_occupancy=0.17,
    instructions=25e6,
    warp_latency=113.0,
    stalls={"long_scoreboard": 0.86, "lg_throttle": 0.1},
    active_threads=32.0,
    unpredicated_threads=30.0,
    sm_busy=0.04,
    issue_busy=0.014,
    dram_busy=0.08,
    l2_busy=0.5,
    l1_busy=0.366,
    l1_load_hit_rate=0.4,
    l2_hit_rate=0.9,
    dram_read=300e6,
    dram_written=300e6,
    dram_bytes=600e6,
    global_sectors=150e6,
    global_sectors_ideal=19e6,
    global_loads=STRIDED,
    global_stores=STRIDED,
    local_loads=NONE,
    local_stores=NONE,
    global_reductions=NONE,
    global_atomics=NONE,
    shared_loads=SharedRequests(requests=0.0),
    shared_stores=SharedRequests(requests=0.0),
    shared_atomics=0.0,
    sm_cycles=CycleSpread(least=0.9e6, mean=1.92e6, most=3.2e6),
)
# 48 blocks of one warp, whose shared loads take 16 passes each: conflicts are 29 % of a working SM's time.
ONE_WARP = replace(
    ROWS,
    kernel="attention_block_per_head(const float *, float *)",
    grid=(48, 1, 1),
    block=(32, 1, 1),
    dynamic_shared=28_672,
    waves=0.05,
    theoretical_occupancy=0.11,
    achieved_occupancy=0.016,
    stalls={"short_scoreboard": 0.65, "wait": 0.21},
    l2_busy=0.01,
    l1_busy=0.117,
    elapsed_cycles=4.6e8,
    sm_cycles=CycleSpread(least=0.0, mean=1.68e8, most=4.6e8),
    global_sectors=4e6,
    global_sectors_ideal=4e6,
    global_loads=WHOLE,
    global_stores=NONE,
    shared_wavefronts=7e9,
    shared_wavefronts_ideal=0.42e9,
    shared_loads=SharedRequests(requests=4e8, wavefronts=6.6e9),
)
# Blocks of 512 threads with 80 registers, one per SM: 288 in 2.18 waves, waiting for loads.
TAIL = replace(
    ROWS,
    kernel="finite_differences(float *, const float *, int)",
    grid=(288, 1, 1),
    block=(512, 1, 1),
    registers=80,
    waves=2.18,
    theoretical_occupancy=0.25,
    achieved_occupancy=0.25,
    stalls={"long_scoreboard": 0.46, "barrier": 0.25},
    issue_busy=0.14,
    sm_busy=0.22,
    dram_busy=0.11,
    l2_busy=0.16,
    l1_busy=0.22,
    global_sectors=8e6,
    global_sectors_ideal=8e6,
    global_loads=WHOLE,
    global_stores=WHOLE,
    sm_cycles=CycleSpread(least=1.1e6, mean=1.2e6, most=1.65e6),
)
# A matrix-vector product in 1.11 waves near the roof of device memory: SMs hold 73 % of the warps that start.
LAST_WARPS = replace(
    TAIL,
    kernel="rows_by_vector(const float *, const float *, float *)",
    grid=(1024, 1, 1),
    block=(128, 1, 1),
    registers=65,
    waves=1.11,
    seconds=92e-6,
    theoretical_occupancy=0.4375,
    achieved_occupancy=0.373,
    stalls={"long_scoreboard": 0.72},
    dram_busy=0.62,
    l2_busy=0.66,
    sm_cycles=CycleSpread(least=120e3, mean=147e3, most=172e3),
)
# 512 blocks where 2,112 fit, waiting for short results of several kinds.
FEW_BLOCKS = replace(
    ROWS,
    kernel="neighbours(const float2 *, int *, int)",
    grid=(512, 1, 1),
    block=(128, 1, 1),
    waves=0.24,
    achieved_occupancy=0.24,
    stalls={"long_scoreboard": 0.33, "wait": 0.32, "short_scoreboard": 0.1},
    issue_busy=0.48,
    sm_busy=0.48,
    dram_busy=0.01,
    l2_busy=0.01,
    l1_busy=0.31,
    global_sectors=8e6,
    global_sectors_ideal=8e6,
    global_loads=WHOLE,
    global_stores=WHOLE,
    sm_cycles=CycleSpread(least=3.1e6, mean=3.2e6, most=3.25e6),
)
# Loads near the roof of device memory by a third of the blocks that fit.
THIN = replace(FEW_BLOCKS, waves=0.32, stalls={"long_scoreboard": 0.79}, issue_busy=0.15, sm_busy=0.2,
               dram_busy=0.63, l2_busy=0.65)  # fmt: skip
# Rows added up with a reduction to memory per block at the end: 0.1 % of the instructions.
ADDED_UP = replace(
    FEW_BLOCKS,
    kernel="gradient_of_weights(const __half *, float *)",
    grid=(528, 1, 1),
    waves=0.5,
    stalls={"long_scoreboard": 0.75},
    issue_busy=0.29,
    sm_busy=0.29,
    dram_busy=0.19,
    l2_busy=0.29,
    l1_busy=0.22,
    instructions=64e6,
    elapsed_cycles=412e3,
    warp_latency=24.0,
    global_reductions=WarpRequests(requests=53e3, sectors=212e3),
)
# A value per thread, then barriers and sums across the block.
ROW_PER_BLOCK = replace(
    FEW_BLOCKS,
    kernel="root_mean_square(const __half *, __half *)",
    grid=(131_072, 1, 1),
    block=(1024, 1, 1),
    static_shared=132,
    waves=496.0,
    achieved_occupancy=0.87,
    stalls={"long_scoreboard": 0.38, "short_scoreboard": 0.23, "barrier": 0.18},
    issue_busy=0.46,
    sm_busy=0.46,
    dram_busy=0.18,
    l2_busy=0.25,
    l1_busy=0.45,
    global_loads=WIDE,
    global_stores=WIDE,
    global_reductions=NONE,
)
# A row of a long product per thread, four warps on each SM; a quarter of the instructions spill.
SPILLING = replace(
    FEW_BLOCKS,
    kernel="attention_row_per_thread(const float *, const float *, float *, int)",
    grid=(128, 1, 1),
    registers=64,
    waves=0.12,
    seconds=7.7e-3,
    achieved_occupancy=0.0625,
    stalls={"long_scoreboard": 0.83, "wait": 0.1, "selected": 0.06},
    issue_busy=0.061,
    sm_busy=0.061,
    l1_busy=0.14,
    instructions=490e6,
    spill_requests=128e6,
    local_loads=WarpRequests(requests=97.5e6, sectors=390e6, used_bytes=32.0),
    local_stores=WarpRequests(requests=30.5e6, sectors=122e6, used_bytes=32.0),
)


@pytest.mark.parametrize(
    ("profile", "rule", "expected"),
    [
        # Sectors in excess where L1 is busy as long as an SM works: 0.366 / 0.6.
        (ROWS, "uncoalesced-access", "high"),
        (replace(ROWS, l1_busy=0.354), "uncoalesced-access", None),
        (replace(ROWS, sm_cycles=CycleSpread(mean=2.0e6, most=3.2e6)), "uncoalesced-access", None),
        (ROWS, "underfilled-device", "medium"),
        # Conflicts of 0.15 of a working SM's time, which waits for shared memory.
        (ONE_WARP, "bank-conflicts", "medium"),
        (replace(ONE_WARP, shared_wavefronts=3.8e9), "bank-conflicts", "medium"),
        (replace(ONE_WARP, shared_wavefronts=3.7e9), "bank-conflicts", "low"),
        (replace(ONE_WARP, stalls={"long_scoreboard": 0.65}), "bank-conflicts", None),
        # Spills that no other warps hide: 5 % of the instructions.
        (SPILLING, "underfilled-device", "high"),
        (SPILLING, "register-spills", "high"),
        (replace(SPILLING, spill_requests=24.6e6, local_loads=NONE, local_stores=NONE),
         "register-spills", "high"),
        (replace(SPILLING, spill_requests=24.4e6, local_loads=NONE, local_stores=NONE),
         "register-spills", None),
        # Few warps in blocks that wait: more at once also fill the last wave.
        (TAIL, "low-occupancy", "medium"),
        (replace(TAIL, stalls={"long_scoreboard": 0.41}), "low-occupancy", "medium"),
        (replace(TAIL, stalls={"long_scoreboard": 0.39}), "low-occupancy", None),
        (replace(TAIL, l1_busy=0.61), "low-occupancy", "medium"),
        (replace(TAIL, issue_busy=0.61, sm_busy=0.61), "low-occupancy", None),
        (TAIL, "tail-effect", "medium"),
        # Warps that a last wave leaves out, of those that a wait for loads needs.
        (LAST_WARPS, "tail-effect", "medium"),
        (replace(LAST_WARPS, achieved_occupancy=0.385), "tail-effect", None),
        (replace(LAST_WARPS, grid=(1750, 1, 1), waves=1.89), "tail-effect", None),
        (replace(LAST_WARPS, dram_busy=0.76), "tail-effect", None),
        (replace(LAST_WARPS, dram_busy=0.5), "tail-effect", "medium"),
        (replace(LAST_WARPS, seconds=19e-6), "tail-effect", None),
        # Half of the blocks, and waits for results that take half of a warp's time together.
        (FEW_BLOCKS, "underfilled-device", "medium"),
        (replace(FEW_BLOCKS, waves=0.49), "underfilled-device", "medium"),
        (replace(FEW_BLOCKS, waves=0.5), "underfilled-device", None),
        (replace(FEW_BLOCKS, stalls={"long_scoreboard": 0.33, "wait": 0.18}), "underfilled-device",
         "medium"),
        (replace(FEW_BLOCKS, stalls={"long_scoreboard": 0.33, "wait": 0.16}), "underfilled-device",
         None),
        (replace(FEW_BLOCKS, stalls={"lg_throttle": 0.33, "barrier": 0.3}), "underfilled-device",
         None),
        (replace(FEW_BLOCKS, l2_busy=0.74), "underfilled-device", "medium"),
        (replace(FEW_BLOCKS, l2_busy=0.76), "underfilled-device", None),
        (replace(FEW_BLOCKS, seconds=19e-6), "underfilled-device", None),
        # So few warps have few loads under way: a wait of 70 % tells, where many warps need 80 %.
        (THIN, "latency-bound", "medium"),
        (replace(THIN, stalls={"long_scoreboard": 0.69}), "latency-bound", None),
        (replace(THIN, waves=0.51), "latency-bound", None),
        # Reductions that are few, and that no warp waits for.
        (ADDED_UP, "atomic-contention", None),
        (ADDED_UP, "latency-bound", "medium"),
        (replace(ADDED_UP, warp_latency=410.0), "atomic-contention", "medium"),
        (replace(ADDED_UP, warp_latency=390.0), "atomic-contention", None),
        (replace(ADDED_UP, global_atomics=WarpRequests(requests=53e3, sectors=212e3),
                 global_reductions=NONE), "atomic-contention", "medium"),
        # Barriers behind loads belong to the wait for them.
        (ROW_PER_BLOCK, "latency-bound", "medium"),
        (replace(ROW_PER_BLOCK, stalls={"long_scoreboard": 0.31, "barrier": 0.1}), "latency-bound",
         "medium"),
        (replace(ROW_PER_BLOCK, stalls={"long_scoreboard": 0.31, "barrier": 0.09}), "latency-bound",
         None),
        (replace(ROW_PER_BLOCK, stalls={"long_scoreboard": 0.29, "barrier": 0.1}), "latency-bound",
         None),
        (replace(ROW_PER_BLOCK, stalls={"mio_throttle": 0.38, "barrier": 0.18}), "latency-bound",
         None),
        (replace(ROW_PER_BLOCK, seconds=19e-6), "latency-bound", None),
    ],
)  # fmt: skip
def test_edges(profile: KernelProfile, rule: str, expected: str | None) -> None:
    assert priority(profile, rule) == expected


def test_a_share_of_the_time_that_an_sm_works_is_at_most_all_of_it() -> None:
    assert at_work(ROWS, 0.3) == pytest.approx(0.5)
    assert at_work(ROWS, 0.7) == 1.0
    assert at_work(replace(ROWS, sm_cycles=CycleSpread()), 0.7) == pytest.approx(
        0.7 / (1.92 / 1.92)
    )


def test_the_wait_at_barriers_is_said_beside_that_for_loads() -> None:
    message = findings(ROW_PER_BLOCK)["latency-bound"].message
    assert "38 % of their time waiting for loads" in message
    assert "and 18 % at barriers behind them" in message
    assert "at barriers" not in findings(ADDED_UP)["latency-bound"].message


def test_warps_that_a_last_wave_leaves_out_bound_its_gain() -> None:
    finding = findings(LAST_WARPS)["tail-effect"]
    assert "of the warps that start at once on an SM" in finding.message
    held = 147 / 172 * 0.373 / 0.4375
    assert 1 / held <= finding.bound <= 1.1 / held


def test_bytes_that_loads_use_again_are_a_fault_beside_sectors_in_excess() -> None:
    untiled = replace(
        ROW_PER_BLOCK,
        static_shared=0,
        stalls={"lg_throttle": 0.74},
        issue_busy=0.06,
        sm_busy=0.06,
        l1_busy=0.96,
        l1_load_hit_rate=0.95,
        dram_read=25e6,
        global_sectors=1.67e9,
        global_sectors_ideal=0.26e9,
        global_loads=WarpRequests(requests=104e6, sectors=1.66e9, used_bytes=4.0),
        global_stores=NONE,
    )
    assert {"uncoalesced-access", "redundant-global-loads"} <= set(findings(untiled))
    # A thread per row: of what L1 has again, each byte is used once.
    rows = findings(replace(untiled, dram_read=6.6e9))
    assert "uncoalesced-access" in rows
    assert "redundant-global-loads" not in rows


def test_spills_beside_few_warps_win_no_more_than_the_waits_and_instructions_that_go() -> None:
    kept = 1 - 1.1 * 128 / 490
    won = findings(SPILLING)["register-spills"].bound
    assert won == pytest.approx(1 / ((1 - 0.83) * kept))
    unknown = findings(replace(SPILLING, stalls={}))["register-spills"].bound
    assert unknown == pytest.approx(1 / (0.061 * kept))
