"""Passes over the same rows, block starts, launches in a loop and a serial end: both edges of each."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judged_profiles import findings, findings_on, priority

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.kernel_profile import (
    BlockLimits,
    CycleSpread,
    KernelProfile,
    SharedRequests,
    WarpRequests,
)
from gpuadvise.advisor.facts.limit_words import limit_sentence
from gpuadvise.advisor.facts.limiter import (
    AtRoof,
    Imbalance,
    IssueBound,
    LastWave,
    LatencyBound,
    block_starts,
    limiter_of,
)
from gpuadvise.advisor.facts.report_launches import OtherLaunch
from gpuadvise.advisor.profiles.launch_facts import profiled_facts

NONE = WarpRequests(requests=0.0, sectors=0.0)
WORDS = WarpRequests(requests=6.3e6, sectors=25.2e6, used_bytes=32.0)
# A norm of rows in four passes: issue slots at 62 %, half of a warp's time goes to loads.
PASSES = KernelProfile(
    kernel="layer_norm_rows(float *, const float *, int)",
    capability=Capability(9, 0),
    sm_count=132,
    grid=(65_536, 1, 1),
    block=(256, 1, 1),
    registers=22,
    static_shared=256,
    dynamic_shared=0,
    waves=62.0,
    seconds=178e-6,
    elapsed_cycles=348e3,
    theoretical_occupancy=1.0,
    achieved_occupancy=0.94,
    instructions=112e6,
    warp_latency=24.0,
    stalls={"long_scoreboard": 0.52, "barrier": 0.09},
    active_threads=32.0,
    unpredicated_threads=30.0,
    sm_busy=0.62,
    issue_busy=0.62,
    memory_pipes_busy=0.48,
    dram_busy=0.44,
    l2_busy=0.56,
    l1_busy=0.51,
    l1_hit_rate=0.6,
    l1_load_hit_rate=0.75,
    l2_hit_rate=0.5,
    dram_read=201e6,
    dram_written=178e6,
    dram_bytes=379e6,
    global_sectors=31.6e6,
    global_sectors_ideal=31.6e6,
    global_loads=WORDS,
    global_stores=replace(WORDS, requests=1.7e6, sectors=6.8e6),
    local_loads=NONE,
    local_stores=NONE,
    global_reductions=NONE,
    global_atomics=NONE,
    shared_loads=SharedRequests(requests=0.5e6),
    shared_stores=SharedRequests(requests=0.5e6),
    shared_wavefronts=2.1e6,
    shared_wavefronts_ideal=2.1e6,
    shared_atomics=0.0,
    float_instructions={"fadd": 453e6, "ffma": 285e6},
    sm_cycles=CycleSpread(least=345e3, mean=346e3, most=348e3),
)
# Sums of 32 floats by 4-byte words, device memory at 75 %.
STREAM = replace(
    PASSES,
    kernel="axpy(float *, const float *)",
    static_shared=0,
    stalls={"long_scoreboard": 0.95},
    issue_busy=0.09,
    sm_busy=0.1,
    dram_busy=0.75,
    l2_busy=0.82,
    l1_busy=0.2,
    l1_hit_rate=0.1,
    l1_load_hit_rate=0.0,
    dram_read=800e6,
    instructions=30e6,
    shared_loads=SharedRequests(requests=0.0),
    shared_stores=SharedRequests(requests=0.0),
    shared_wavefronts=0.0,
    shared_wavefronts_ideal=0.0,
    float_instructions={"ffma": 67e6},
)
# A product of tiles of 16 x 16, one result per thread: 1.25 loads of shared memory per multiply-add.
PLAIN = replace(
    PASSES,
    kernel="rank_update(float *, int)",
    stalls={"long_scoreboard": 0.53, "barrier": 0.13},
    issue_busy=0.35,
    sm_busy=0.48,
    l1_busy=0.65,
    l2_busy=0.33,
    dram_busy=0.2,
    instructions=42e6,
    shared_loads=SharedRequests(requests=10.5e6),
    shared_stores=SharedRequests(requests=1.05e6),
    shared_wavefronts=13.5e6,
    shared_wavefronts_ideal=13.5e6,
    float_instructions={"ffma": 8.4e6 * 32, "fadd": 0.5e6 * 32},
    global_loads=replace(WORDS, requests=1.5e6, sectors=6e6),
    global_stores=replace(WORDS, requests=0.5e6, sectors=2e6),
)
# 8,192 blocks, of which the last one adds up what all left.
ENDS_ALONE = replace(
    STREAM,
    kernel="mean_square(const float4 *, float *, float *)",
    grid=(8192, 1, 1),
    waves=7.76,
    seconds=80e-6,
    stalls={"long_scoreboard": 0.75},
    dram_busy=0.71,
    l2_busy=0.76,
    global_loads=WarpRequests(requests=524e3, sectors=8.4e6, used_bytes=32.0),
    global_atomics=WarpRequests(requests=8192.0, sectors=8192.0),
    sm_cycles=CycleSpread(least=120e3, mean=131e3, most=156e3),
)
# One block per signal, 8 us each, one launch after the other.
ALONE = replace(
    STREAM,
    kernel="standardise(const float *, float *, int)",
    grid=(1, 1, 1),
    waves=0.001,
    seconds=8.3e-6,
    achieved_occupancy=0.12,
    instructions=4e3,
    issue_busy=0.0004,
    sm_busy=0.0005,
    dram_busy=0.001,
    l2_busy=0.002,
    l1_busy=0.001,
    block_limits=BlockLimits(blocks=32, registers=10, shared_memory=8, warps=8),
    sm_cycles=CycleSpread(least=0.0, mean=120.0, most=16e3),
)
# Blocks of two warps that end as fast as others start.
STARTING = replace(
    STREAM,
    kernel="convolve(const double *, double *, int)",
    grid=(262_144, 1, 1),
    block=(64, 1, 1),
    seconds=161e-6,
    achieved_occupancy=0.5,
    stalls={"long_scoreboard": 0.45, "wait": 0.22},
    issue_busy=0.5,
    sm_busy=0.5,
    dram_busy=0.32,
    l2_busy=0.43,
    l1_busy=0.32,
    global_loads=WarpRequests(requests=2.1e6, sectors=5.8e6, used_bytes=20.0),
)
# A copy by tiles, L2 at 77 % with what streams through it to and from device memory at 57 %.
THROUGH_L2 = replace(
    STREAM,
    kernel="copy_tiles(const float *, float *)",
    static_shared=1024,
    stalls={"long_scoreboard": 0.67, "barrier": 0.2},
    issue_busy=0.32,
    sm_busy=0.32,
    dram_busy=0.57,
    l2_busy=0.77,
    global_loads=WarpRequests(requests=0.5e6, sectors=4.2e6, used_bytes=32.0),
    global_stores=WarpRequests(requests=0.5e6, sectors=4.2e6, used_bytes=32.0),
    dram_read=134e6,
)
# Bodies by 264 blocks of 128 threads: two warps per scheduler keep issue slots at 66 %.
BODIES = replace(
    STREAM,
    kernel="bodies(const float4 *, float3 *, int)",
    grid=(264, 1, 1),
    block=(128, 1, 1),
    waves=0.12,
    seconds=938e-6,
    achieved_occupancy=0.125,
    stalls={"wait": 0.36, "short_scoreboard": 0.07, "not_selected": 0.13},
    issue_busy=0.66,
    sm_busy=0.66,
    dram_busy=0.001,
    l2_busy=0.005,
    l1_busy=0.3,
)
# Integer work on a page that counts no instructions.
UNCOUNTED = replace(
    STREAM,
    kernel="permute(const float *, float *, const int *, int)",
    stalls={},
    issue_busy=0.69,
    sm_busy=0.69,
    memory_pipes_busy=0.11,
    dram_busy=0.25,
    l2_busy=0.32,
    l1_busy=0.1,
    pipes={"alu": 0.45},
    unpredicated_threads=28.0,
    fp32_of_peak=0.0,
    float_instructions={},
    global_loads=WarpRequests(),
    global_stores=WarpRequests(),
    shared_loads=SharedRequests(),
    shared_stores=SharedRequests(),
)


@pytest.mark.parametrize(
    ("profile", "rule", "expected"),
    [
        # Rows in several passes, whose loads fill issue slots.
        (PASSES, "redundant-global-loads", "medium"),
        (replace(PASSES, dram_read=270e6), "redundant-global-loads", None),
        (replace(PASSES, instructions=250e6), "redundant-global-loads", None),
        (replace(PASSES, stalls={"long_scoreboard": 0.32}), "redundant-global-loads", None),
        (replace(PASSES, stalls={"wait": 0.52}), "redundant-global-loads", None),
        (replace(PASSES, issue_busy=0.56, sm_busy=0.56), "redundant-global-loads", "medium"),
        (replace(PASSES, issue_busy=0.54, sm_busy=0.54), "redundant-global-loads", None),
        # Words that all lanes share, and bytes that stream: another fault.
        (replace(PASSES, global_loads=replace(WORDS, sectors=6.3e6, used_bytes=16.0)),
         "redundant-global-loads", None),
        (replace(PASSES, global_loads=replace(WORDS, sectors=12.6e6, used_bytes=32.0), dram_read=50e6),
         "redundant-global-loads", None),
        # The same rows at device memory, where L2 is near its roof too.
        (replace(PASSES, issue_busy=0.4, sm_busy=0.4, dram_busy=0.68, l2_busy=0.76),
         "redundant-global-loads", "medium"),
        (replace(PASSES, issue_busy=0.4, sm_busy=0.4, dram_busy=0.68, l2_busy=0.74),
         "redundant-global-loads", None),
        # 4-byte words beside a wait that is nothing but loads.
        (STREAM, "narrow-loads", "medium"),
        (replace(STREAM, dram_busy=0.77), "narrow-loads", None),
        (replace(STREAM, stalls={"long_scoreboard": 0.79}), "narrow-loads", None),
        # Products by their loads, at 65 % of shared memory.
        (PLAIN, "library-available", "medium"),
        (replace(PLAIN, shared_loads=SharedRequests(requests=10.8e6)), "library-available", None),
        (replace(PLAIN, shared_loads=SharedRequests(requests=8e6)), "library-available", None),
        # The last block alone.
        (ENDS_ALONE, "serial-last-block", "medium"),
        (replace(ENDS_ALONE, sm_cycles=CycleSpread(mean=139e3, most=156e3)), "serial-last-block", None),
        (replace(ENDS_ALONE, global_atomics=NONE), "serial-last-block", None),
        (replace(ENDS_ALONE, grid=(990, 1, 1), global_atomics=WarpRequests(requests=990.0)),
         "serial-last-block", None),
        (replace(ENDS_ALONE, seconds=28e-6), "serial-last-block", None),
        (replace(ENDS_ALONE, waves=0.9), "serial-last-block", None),
        # Blocks of two or three warps at the rate of block starts.
        (STARTING, "tiny-blocks", "medium"),
        (replace(STARTING, seconds=182e-6), "tiny-blocks", None),
        (replace(STARTING, block=(97, 1, 1)), "tiny-blocks", None),
        (replace(STARTING, capability=Capability(8, 0)), "tiny-blocks", None),
        # What streams through L2.
        (THROUGH_L2, "latency-bound", "medium"),
        (replace(THROUGH_L2, l2_busy=0.81), "latency-bound", None),
        (replace(THROUGH_L2, dram_busy=0.54), "latency-bound", None),
        (replace(THROUGH_L2, stalls={"long_scoreboard": 0.67, "barrier": 0.12}), "latency-bound", None),
        # Few warps by a small grid keep issue slots busy.
        (BODIES, "underfilled-device", "medium"),
        (replace(BODIES, stalls={"wait": 0.28, "short_scoreboard": 0.06}), "underfilled-device", None),
        (replace(BODIES, achieved_occupancy=0.26), "underfilled-device", None),
        # Divisions on a page that counts no instructions.
        (UNCOUNTED, "integer-division", "medium"),
        (replace(UNCOUNTED, unpredicated_threads=29.7), "integer-division", None),
        (replace(UNCOUNTED, fp32_of_peak=0.02), "integer-division", None),
        (replace(UNCOUNTED, pipes={"alu": 0.66}), "integer-division", None),
        (replace(UNCOUNTED, pipes={"alu": 0.33}), "integer-division", None),
        (replace(UNCOUNTED, memory_pipes_busy=0.38), "integer-division", "medium"),
        (replace(UNCOUNTED, memory_pipes_busy=0.41), "integer-division", None),
        (replace(UNCOUNTED, memory_pipes_busy=0.24, fp32_of_peak=0.06), "integer-division", "medium"),
        (replace(UNCOUNTED, memory_pipes_busy=0.24, fp32_of_peak=0.07), "integer-division", None),
        (replace(UNCOUNTED, pipes={"alu": 0.45, "fp64": 0.2}), "integer-division", None),
        (replace(UNCOUNTED, kernel="void at::native::index_kernel(int)"), "integer-division", None),
    ],
)  # fmt: skip
def test_edges(profile: KernelProfile, rule: str, expected: str | None) -> None:
    assert priority(profile, rule) == expected


ANYWHERE = WarpRequests(requests=1e6, sectors=4.875e6, used_bytes=26.26)
# A norm of rows of 4,095 floats by PyTorch: 7 of 8 rows begin in the middle of a sector.
ODD_ROWS = replace(
    STREAM,
    kernel="void at::native::LayerNormForwardCUDAKernel<float, float>(long)",
    stalls={"long_scoreboard": 0.9},
    dram_busy=0.57,
    l2_busy=0.77,
    global_stores=ANYWHERE,
)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (ODD_ROWS, "medium"),
        (replace(ODD_ROWS, global_stores=WORDS, global_loads=ANYWHERE), "medium"),
        (replace(ODD_ROWS, global_stores=replace(ANYWHERE, used_bytes=25.9)), None),
        (replace(ODD_ROWS, global_stores=replace(ANYWHERE, sectors=4.79e6)), None),
        (replace(ODD_ROWS, global_stores=WarpRequests(used_bytes=26.26)), None),
        (replace(ODD_ROWS, stalls={"long_scoreboard": 0.49}), None),
        (replace(ODD_ROWS, dram_busy=0.72), None),
        (replace(ODD_ROWS, seconds=19e-6), None),
        (replace(ODD_ROWS, kernel="rows(const float *, float *)"), None),
    ],
)
def test_rows_of_an_operator_that_begin_anywhere(
    profile: KernelProfile, expected: str | None
) -> None:
    assert priority(profile, "unpadded-rows") == expected


def test_block_starts_are_the_limit_that_is_said() -> None:
    limiter = limiter_of(STARTING)
    assert isinstance(limiter, LatencyBound)
    assert limiter.starts == pytest.approx(262_144 / 161e-6)
    assert limit_sentence(limiter).startswith("Block starts: 1.63 blocks per ns")
    assert limit_sentence(limiter_of(replace(STARTING, seconds=190e-6))).startswith("Latency")


def test_few_blocks_of_unequal_work_are_a_fault_of_their_own() -> None:
    few = replace(
        STREAM,
        grid=(32, 1, 1),
        waves=0.03,
        seconds=323e-6,
        stalls={"wait": 0.5},
        dram_busy=0.01,
        l2_busy=0.02,
        sm_cycles=CycleSpread(least=0.0, mean=79e3, most=636e3),
    )
    found = findings(few)
    assert {"load-imbalance", "underfilled-device"} <= set(found)
    assert "51.2 % of the busiest one's time" in found["load-imbalance"].message
    even = replace(few, sm_cycles=CycleSpread(least=0.0, mean=120e3, most=636e3))
    assert "load-imbalance" not in findings(even)
    assert "load-imbalance" not in findings(replace(few, seconds=19e-6))


def test_words_of_a_brief_launch_count_where_memory_is_at_work() -> None:
    brief = replace(
        STREAM, seconds=10e-6, stalls={"long_scoreboard": 0.74}, dram_busy=0.36, l2_busy=0.66
    )
    assert priority(brief, "narrow-loads") == "medium"
    assert priority(replace(brief, seconds=7.9e-6), "narrow-loads") is None
    assert priority(replace(brief, dram_busy=0.29, l2_busy=0.5), "narrow-loads") is None
    assert priority(replace(brief, l2_busy=0.91), "narrow-loads") is None


def repeated(profile: KernelProfile, launches: int) -> str | None:
    facts = profiled_facts(profile, device=find("h100-sxm"), launches=launches)
    finding = findings_on(facts).get("launch-bound")
    return None if finding is None else str(finding.priority)


@pytest.mark.parametrize(
    ("profile", "launches", "expected"),
    [
        (ALONE, 2, "medium"),
        (ALONE, 1, None),
        (ALONE, 132, "medium"),
        (ALONE, 133, None),
        (replace(ALONE, grid=(67, 1, 1)), 2, None),
        (replace(ALONE, seconds=4.9e-6), 2, "medium"),  # as if there were one
        (replace(ALONE, seconds=21e-6), 2, None),
        (replace(ALONE, kernel="void cub::DeviceScanKernel(int)"), 2, "medium"),
        (replace(ALONE, kernel="void cub::DeviceScanKernel(int)", seconds=3e-6), 2, "medium"),
        (replace(ALONE, kernel="cupy_add__float32_float32_float32", seconds=3e-6), 2, "medium"),
        (replace(ALONE, kernel="void cub::DeviceRadixSortOnesweepKernel(int)"), 2, None),
    ],
)
def test_short_launches_of_few_blocks_are_heard_from_the_second_on(
    profile: KernelProfile, launches: int, expected: str | None
) -> None:
    assert repeated(profile, launches) == expected


def test_the_bound_of_launches_in_a_loop_is_what_fits_at_once() -> None:
    facts = profiled_facts(ALONE, device=find("h100-sxm"), launches=2)
    finding = findings_on(facts)["launch-bound"]
    assert finding.advice.gain is not None
    assert finding.bound <= 132 * 8
    assert "2 launches of 1 block" in finding.message


def test_block_starts_are_known_of_the_gpus_that_were_measured() -> None:
    assert block_starts(STARTING) == pytest.approx(262_144 / 161e-6)
    assert block_starts(replace(STARTING, capability=None)) is None
    assert block_starts(replace(STARTING, seconds=None)) is None
    assert block_starts(replace(STARTING, grid=None)) is None


def test_what_streams_through_l2_is_said_of_l2() -> None:
    limiter = limiter_of(THROUGH_L2)
    assert limiter == AtRoof(unit="l2", share=0.77, for_loads=0.67)
    assert "so do more loads under way" in limit_sentence(limiter)
    assert isinstance(limiter_of(replace(THROUGH_L2, l2_busy=0.81)), AtRoof)


def test_a_last_wave_explains_only_the_idle_share_that_fits_it() -> None:
    idle = replace(
        STREAM, waves=1.9, dram_busy=0.1, l2_busy=0.1, sm_cycles=CycleSpread(mean=2e3, most=348e3)
    )
    assert isinstance(limiter_of(idle), Imbalance)
    fits = replace(idle, sm_cycles=CycleSpread(mean=0.5 * 348e3, most=348e3))
    assert isinstance(limiter_of(fits), LastWave)


def test_barriers_keep_issue_slots_busy_as_well() -> None:
    trees = replace(PASSES, issue_busy=0.65, sm_busy=0.65, stalls={"barrier": 0.31})
    assert isinstance(limiter_of(trees), LatencyBound)
    assert isinstance(limiter_of(replace(trees, issue_busy=0.71, sm_busy=0.71)), IssueBound)
    assert isinstance(limiter_of(replace(trees, stalls={"barrier": 0.24})), IssueBound)


def test_two_warps_per_scheduler_are_few_whatever_they_wait_for() -> None:
    tiles = replace(
        BODIES,
        kernel="tiles(const float4 *, float *)",
        grid=(132, 1, 1),
        block=(256, 1, 1),
        dynamic_shared=122_880,
        waves=1.0,
        theoretical_occupancy=0.125,
        issue_busy=0.57,
        sm_busy=0.57,
        l2_busy=0.5,
        dram_busy=0.45,
        stalls={"short_scoreboard": 0.18, "barrier": 0.09},
        pipes={"fma": 0.46},
    )
    assert priority(tiles, "low-occupancy") == "medium"
    assert priority(replace(tiles, achieved_occupancy=0.16), "low-occupancy") is None
    assert priority(replace(tiles, pipes={"tensor": 0.2}), "low-occupancy") is None


def test_a_details_page_shows_products_by_what_feeds_them() -> None:
    product = replace(
        UNCOUNTED, kernel="hgemm_tile(const __half *, int)", pipes={"fma": 0.31}, issue_busy=0.5,
        sm_busy=0.5, l1_busy=0.65, fp32_of_peak=0.0,
    )  # fmt: skip
    assert priority(product, "library-available") == "medium"
    assert priority(replace(product, pipes={"fma": 0.29}), "library-available") == "low"
    fed = replace(product, pipes={}, l1_busy=0.8)
    assert priority(fed, "library-available") == "medium"
    assert priority(replace(fed, l1_busy=0.78), "library-available") == "low"
    # Products of halves fill the FMA pipe, which is their best only there.
    full = replace(product, pipes={"fma": 0.84}, sm_busy=0.84, l1_busy=0.4)
    assert priority(full, "library-available") == "medium"
    assert priority(replace(full, fp32_of_peak=0.8), "library-available") is None


def test_a_details_page_shows_constants_by_the_pipe_that_is_left() -> None:
    indexed = replace(
        UNCOUNTED,
        kernel="transform(float *, int)",
        stalls={"mio_throttle": 0.63},
        issue_busy=0.11,
        sm_busy=1.0,
        memory_pipes_busy=1.0,
        pipes={"alu": 0.1},
        l1_busy=0.13,
    )
    assert priority(indexed, "divergent-constant-reads") == "medium"
    assert priority(replace(indexed, l1_busy=0.55), "divergent-constant-reads") is None


def test_the_words_of_a_serial_end_say_for_how_long_one_block_works() -> None:
    message = findings(ENDS_ALONE)["serial-last-block"].message
    assert "8,192 blocks" in message
    assert "12.8 us" in message


def test_a_faster_version_is_named_as_its_author_wrote_it() -> None:
    launch = replace(STREAM, kernel="void sums<0>(const float4 *, float *)", seconds=245e-6)
    faster = OtherLaunch(
        block=(256, 1, 1),
        grid=(8192, 1, 1),
        seconds=79e-6,
        name="void sums<1>(const float4 *, float *)",
    )
    facts = profiled_facts(launch, device=find("h100-sxm"), faster_launches=(faster,))
    finding = findings_on(facts)["slower-version"]
    assert finding.message.startswith('The version "sums<1>" took 0.322 of the time')
    assert finding.bound == pytest.approx(245 / 79)
    square = replace(faster, name=None, block=(16, 16, 1))
    same_threads = findings_on(replace(facts, faster_launches=(square,)))["slower-version"]
    assert "A block of 16 x 16 x 1, instead of 256 x 1 x 1," in same_threads.message
    assert "slower-version" not in findings_on(replace(facts, faster_launches=()))
