"""What rules read off counts of a raw page: figures of launches measured on an H100."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judged_profiles import KERNEL, findings, findings_on, priority

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.code import LaunchBounds
from gpuadvise.advisor.facts.kernel_profile import (
    KernelProfile,
    ProfilerRule,
    SharedRequests,
    WarpRequests,
)
from gpuadvise.advisor.profiles.launch_facts import profiled_facts

# The largest of 33 million numbers by atomicMax() on one word: the compiler sends one per warp.
LARGEST = KernelProfile(
    kernel="largest_by_atomic(const unsigned int *, unsigned int *, int)",
    sm_count=132,
    grid=(32768, 1, 1),
    block=(256, 1, 1),
    registers=16,
    static_shared=0,
    dynamic_shared=0,
    waves=31.0,
    seconds=201e-6,
    elapsed_cycles=397_000.0,
    achieved_occupancy=0.8,
    instructions=5.5e6,
    warp_latency=462.0,
    stalls={"long_scoreboard": 0.97},
    active_threads=32.0,
    sm_busy=0.05,
    issue_busy=0.03,
    dram_busy=0.06,
    l2_busy=0.06,
    l1_busy=0.03,
    global_loads=WarpRequests(requests=262_144.0, sectors=1_048_576.0, used_bytes=32.0),
    global_reductions=WarpRequests(requests=262_144.0, sectors=262_144.0),
    global_atomics=WarpRequests(requests=0.0, sectors=0.0),
    shared_loads=SharedRequests(requests=0.0),
    shared_stores=SharedRequests(requests=0.0),
)
# Its details page, which counts no requests.
UNCOUNTED = replace(
    LARGEST,
    global_loads=WarpRequests(),
    global_reductions=WarpRequests(),
    global_atomics=WarpRequests(),
)
SEVERAL_WAITS = replace(
    UNCOUNTED,
    stalls={},
    warp_latency=2010.0,
    rules=(ProfilerRule(name="SOLBottleneck", kind="OPT", message=""),),
)
# Options priced by paths in double precision, from float arguments.
DOUBLES = replace(
    LARGEST,
    kernel="asian_option(float *, float, float)",
    stalls={"not_selected": 0.42, "wait": 0.18},
    warp_latency=9.0,
    sm_busy=0.74,
    issue_busy=0.74,
    pipes={"fp64": 0.51, "xu": 0.38, "fma": 0.13},
    dram_busy=0.0,
    l2_busy=0.02,
    global_reductions=WarpRequests(requests=0.0),
)
# Rows of a sparse matrix by whole warps: few lanes work, and memory is waited for.
SPARSE = replace(
    LARGEST,
    kernel="csr_warp_per_row(const int *, const float *, float *)",
    stalls={"long_scoreboard": 0.83},
    warp_latency=40.0,
    active_threads=19.1,
    sm_busy=0.3,
    issue_busy=0.3,
    dram_busy=0.5,
    l2_busy=0.58,
    seconds=35e-6,
    global_reductions=WarpRequests(requests=0.0),
)
# A product of matrices by tiles of 16 x 16, one result per thread.
TILES = replace(
    LARGEST,
    kernel="by_tiles(const float *, const float *, float *, int)",
    block=(16, 16, 1),
    static_shared=2048,
    stalls={"mio_throttle": 0.5},
    warp_latency=30.0,
    instructions=1e8,
    sm_busy=0.34,
    issue_busy=0.34,
    l1_busy=0.92,
    lsu_wavefronts_busy=0.92,
    dram_busy=0.01,
    l2_busy=0.1,
    float_instructions={"ffma": 0.36 * 32 * 1e8},
    pipes={"fma": 0.14},
    shared_loads=SharedRequests(requests=0.45e8),
    global_reductions=WarpRequests(requests=0.0),
)
# Three colours of a picture, a byte at a time: what one load leaves of a sector the next finds in L1.
BYTES = replace(
    LARGEST,
    kernel="grey(const unsigned char *, unsigned char *, int)",
    stalls={"long_scoreboard": 0.84},
    warp_latency=60.0,
    instructions=2.3e6,
    sm_busy=0.28,
    issue_busy=0.28,
    dram_busy=0.41,
    l2_busy=0.46,
    l1_busy=0.24,
    l1_load_hit_rate=0.667,
    global_loads=WarpRequests(requests=262_144.0, sectors=786_432.0, used_bytes=10.667),
    global_reductions=WarpRequests(requests=0.0),
)
# A histogram of 256 bins.
BINS = replace(
    LARGEST,
    global_reductions=WarpRequests(requests=262_144.0, sectors=556_000.0),
    dram_written=1e6,
)
# Charges of particles that are added to the corners of their cells: L2 does nothing else.
DEPOSIT = replace(
    LARGEST,
    kernel="deposit(const float2 *, float *)",
    stalls={"lg_throttle": 0.6, "long_scoreboard": 0.38},
    l2_busy=0.73,
    l1_busy=0.39,
    global_sectors=25.2e6,
    global_sectors_ideal=6.3e6,
    global_reductions=WarpRequests(requests=1.05e6, sectors=25.6e6),
    dram_written=2.6e6,
)
# A histogram of floats by compare and swap in shared memory, most of them in one bin.
ONE_BIN = replace(
    LARGEST,
    kernel="histogram(const float *, float *)",
    seconds=1.1e-3,
    elapsed_cycles=2.2e6,
    stalls={"short_scoreboard": 0.6, "wait": 0.16},
    sm_busy=0.6,
    issue_busy=0.42,
    dram_busy=0.01,
    l2_busy=0.02,
    l1_busy=0.91,
    lsu_wavefronts_busy=0.91,
    shared_atomics=87.5e6,
    shared_atomics_busy=0.6,
    global_reductions=WarpRequests(requests=21_846.0, sectors=87_384.0),
)
# A filter of floats by exp() and pow() in double precision.
DOUBLE_POWERS = replace(
    DOUBLES,
    kernel="bilateral(const float *, float *, float)",
    pipes={"fp64": 0.65, "xu": 0.07},
    float_instructions={"dfma": 81.0, "ffma": 19.0},
)


@pytest.mark.parametrize(
    ("profile", "rule", "expected"),
    [
        (LARGEST, "atomic-contention", "medium"),
        # At the rate that one address takes, their share of the instructions does not matter.
        (replace(LARGEST, instructions=2e7), "atomic-contention", "medium"),
        (
            replace(LARGEST, elapsed_cycles=8e5, stalls={"drain": 0.9}),
            "atomic-contention",
            "medium",
        ),
        # A few hundred words: several queues, and many atomics on each.
        (BINS, "atomic-contention", "medium"),
        (DEPOSIT, "atomic-contention", "medium"),
        (UNCOUNTED, "atomic-contention", "medium"),
        # Several waits, which take too long for anything else while every unit idles.
        (SEVERAL_WAITS, "atomic-contention", "medium"),
        (ONE_BIN, "atomic-contention", "medium"),
        (replace(ONE_BIN, l1_busy=0.8, shared_atomics_busy=0.31), "atomic-contention", "medium"),
        (DOUBLES, "implicit-double", "medium"),
        # The page that names only the busiest pipe.
        (replace(DOUBLES, pipes={"fp64": 0.51}), "implicit-double", "medium"),
        (replace(SPARSE, issue_busy=0.44), "divergent-branches", "high"),
        (TILES, "library-available", "medium"),
        (BYTES, "narrow-loads", "medium"),
        (replace(BYTES, active_threads=20.0), "narrow-loads", "medium"),
        (DOUBLE_POWERS, "implicit-double", "medium"),
        # Hardly a lane works, so that hardly a load is under way.
        (replace(SPARSE, active_threads=7.9), "divergent-branches", "high"),
    ],
)
def test_what_counts_show_is_found(profile: KernelProfile, rule: str, expected: str) -> None:
    assert priority(profile, rule) == expected


SPREAD = WarpRequests(requests=262_144.0, sectors=8 * 262_144.0)


@pytest.mark.parametrize(
    ("profile", "rule"),
    [
        # Atomics that go to many addresses, that are few, or that leave memory busy.
        (replace(LARGEST, global_reductions=SPREAD), "atomic-contention"),
        (
            replace(LARGEST, instructions=2e7, elapsed_cycles=8e5, stalls={"drain": 0.9}),
            "atomic-contention",
        ),
        (replace(BINS, elapsed_cycles=92_000.0, warp_latency=20.0), "atomic-contention"),
        (replace(BINS, dram_written=1.2e6), "atomic-contention"),
        (replace(BINS, l2_busy=0.16, warp_latency=20.0), "atomic-contention"),
        (replace(DEPOSIT, l2_busy=0.49), "atomic-contention"),
        (replace(DEPOSIT, dram_written=55e6), "atomic-contention"),
        (replace(DEPOSIT, stalls={"lg_throttle": 0.39, "wait": 0.3}), "atomic-contention"),
        (replace(DEPOSIT, stalls={"wait": 0.6}), "atomic-contention"),
        (replace(DEPOSIT, global_sectors=52e6), "atomic-contention"),
        (replace(LARGEST, dram_busy=0.5), "atomic-contention"),
        (replace(ONE_BIN, shared_atomics_busy=0.4), "atomic-contention"),
        (replace(ONE_BIN, l1_busy=0.79, lsu_wavefronts_busy=0.79), "atomic-contention"),
        (replace(UNCOUNTED, warp_latency=250.0, achieved_occupancy=0.49), "atomic-contention"),
        (replace(UNCOUNTED, warp_latency=190.0), "atomic-contention"),
        (replace(SEVERAL_WAITS, warp_latency=1990.0), "atomic-contention"),
        (replace(SEVERAL_WAITS, l2_busy=0.16), "atomic-contention"),
        (replace(UNCOUNTED, l2_busy=0.29), "atomic-contention"),
        # Where atomics queue, wider loads and shorter waits win nothing.
        (LARGEST, "narrow-loads"),
        (LARGEST, "latency-bound"),
        (UNCOUNTED, "latency-bound"),
        (replace(DOUBLES, kernel="solve(double *, float)"), "implicit-double"),
        (replace(DOUBLES, pipes={"fp64": 0.51, "xu": 0.1}), "implicit-double"),
        (
            replace(DOUBLE_POWERS, float_instructions={"dfma": 79.0, "ffma": 21.0}),
            "implicit-double",
        ),
        (replace(DOUBLE_POWERS, pipes={"fp64": 0.29, "xu": 0.07}), "implicit-double"),
        (replace(DOUBLE_POWERS, kernel="solve(const double *)"), "implicit-double"),
        (SPARSE, "divergent-branches"),
        (replace(SPARSE, active_threads=8.1), "divergent-branches"),
        (replace(TILES, shared_loads=SharedRequests(requests=0.06e8)), "library-available"),
        (replace(TILES, l1_busy=0.55, lsu_wavefronts_busy=0.55), "library-available"),
        # Words beside bytes, and lanes without work.
        (replace(BYTES, l1_load_hit_rate=0.2), "narrow-loads"),
        (replace(BYTES, active_threads=20.0, kernel="rows(const int *, char *)"), "narrow-loads"),
    ],
)
def test_what_counts_rule_out_is_not_said(profile: KernelProfile, rule: str) -> None:
    assert priority(profile, rule) is None


def test_a_short_launch_is_no_loud_waste_of_memory() -> None:
    short = replace(
        BYTES, seconds=4e-6, l1_load_hit_rate=0.0, global_sectors=8e5, global_sectors_ideal=2e5
    )
    assert priority(short, "uncoalesced-access") == "low"
    assert priority(replace(short, seconds=91e-6), "uncoalesced-access") == "high"


def test_dropped_launch_bounds_are_low_where_warps_would_not_help() -> None:
    device = find("h100-sxm")
    bounds = LaunchBounds(threads=256, blocks=16)
    busy = replace(profiled_facts(TILES, device=device), launch_bounds=bounds)
    waits = replace(profiled_facts(SPARSE, device=device), launch_bounds=bounds)
    assert findings_on(busy)["overstated-launch-bounds"].priority == "low"
    assert findings_on(waits)["overstated-launch-bounds"].priority == "medium"


# A product of 4096 x 4096 matrices of floats by tl.dot(input_precision="ieee"), under a name that says nothing.
PRODUCT = KernelProfile(
    kernel="mm_k",
    device="NVIDIA H200",
    sm_count=132,
    grid=(1024, 1, 1),
    block=(256, 1, 1),
    registers=255,
    static_shared=0,
    dynamic_shared=98_304,
    waves=7.76,
    seconds=3.2e-3,
    elapsed_cycles=6.1e6,
    instructions=6.3e8,
    warp_latency=2.6,
    stalls={"wait": 0.3, "short_scoreboard": 0.2, "selected": 0.38},
    active_threads=32.0,
    sm_busy=0.75,
    issue_busy=0.75,
    dram_busy=0.03,
    l2_busy=0.1,
    l1_busy=0.67,
    pipes={"fma": 0.64, "tensor": 0.0},
    fp32_of_peak=0.64,
    float_instructions={"ffma": 0.853 * 32 * 6.3e8},
    global_loads=WarpRequests(requests=4.4e6, sectors=7.0e7, used_bytes=32.0),
    shared_loads=SharedRequests(requests=1e8, wavefronts=1e8, conflicts=0.0),
)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (PRODUCT, "medium"),
        (replace(PRODUCT, float_instructions={"ffma": 0.79 * 32 * 6.3e8}), "low"),
        (replace(PRODUCT, issue_busy=0.64, sm_busy=0.64), "low"),  # it waits for something
    ],
)
def test_what_is_nearly_all_multiply_adds_is_a_product(
    profile: KernelProfile, expected: str
) -> None:
    assert priority(profile, "unused-tensor-cores") == expected


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("rows_sum(const float *, float *)", "medium"),
        ("void at::native::vectorized_layer_norm_kernel<float, float>(int, float)", "low"),
        ("void cub::DeviceReduceKernel<int>(int *)", "low"),
        ("triton_red_fused_native_layer_norm_0", "low"),
        ("void cudnn::ops::nchwToNhwcKernel<__half>(int)", "medium"),  # the layout picks the kernel
    ],
)
def test_what_only_a_library_can_mend_is_low(kernel: str, expected: str) -> None:
    waiting = replace(
        LARGEST,
        kernel=kernel,
        global_reductions=WarpRequests(requests=0.0, sectors=0.0),
        instructions=2.2e7,
        seconds=500e-6,
    )
    said = findings(waiting)
    loud = {rule: finding for rule, finding in said.items() if finding.priority != "low"}
    assert bool(loud) == (expected == "medium"), said


# Prices of options by the Black-Scholes formula, from words of 4 bytes: index and address cost as much as the formula.
PRICES = KernelProfile(
    kernel="prices(const float *, const float *, const float *, float *, int)",
    device="NVIDIA H200",
    sm_count=132,
    grid=(65536, 1, 1),
    block=(256, 1, 1),
    registers=30,
    static_shared=0,
    dynamic_shared=0,
    waves=62.0,
    seconds=98e-6,
    elapsed_cycles=190_000.0,
    achieved_occupancy=0.85,
    instructions=9.5e7,
    warp_latency=18.0,
    stalls={"long_scoreboard": 0.3, "wait": 0.2, "selected": 0.06},
    active_threads=32.0,
    sm_busy=0.78,
    issue_busy=0.78,
    dram_busy=0.57,
    l2_busy=0.55,
    l1_busy=0.19,
    l1_load_hit_rate=0.0,
    global_loads=WarpRequests(requests=0.028 * 9.5e7, sectors=0.112 * 9.5e7, used_bytes=32.0),
    global_stores=WarpRequests(requests=0.011 * 9.5e7, sectors=0.044 * 9.5e7, used_bytes=32.0),
    global_reductions=WarpRequests(requests=0.0, sectors=0.0),
    global_atomics=WarpRequests(requests=0.0, sectors=0.0),
    shared_loads=SharedRequests(requests=0.0),
    shared_stores=SharedRequests(requests=0.0),
)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (PRICES, "medium"),
        (replace(PRICES, l1_load_hit_rate=0.6), None),  # the taps of a filter
        (replace(PRICES, instructions=1.3e8), None),  # the formula is what takes the time
    ],
)
def test_many_narrow_requests_are_said_beside_busy_issue_slots(
    profile: KernelProfile, expected: str | None
) -> None:
    assert priority(profile, "narrow-loads") == expected


def test_blocks_that_only_start_and_store_are_no_queue_of_atomics() -> None:
    queue = replace(
        UNCOUNTED,
        stalls={"drain": 0.43},
        issue_busy=0.02,
        dram_busy=0.0,
        l2_busy=0.02,
        sm_busy=0.03,
    )
    assert priority(queue, "atomic-contention") == "medium"
    starting = replace(queue, grid=(200_000, 1, 1))  # in 201 us: 1 per ns
    assert priority(starting, "atomic-contention") is None


def test_a_literal_or_two_among_floats_shows_by_its_conversions() -> None:
    cycles = 1e6
    converting = replace(
        KERNEL,
        kernel="tone(const float *, float *)",
        issue_busy=0.5,
        sm_busy=0.5,
        l2_busy=0.3,
        dram_busy=0.3,
        elapsed_cycles=cycles,
        sm_count=132,
        pipes={"xu": 0.5, "fp64": 0.08, "fma": 0.2},
        float_instructions={},
    )
    functions = converting.special_functions or 0.0
    doubles = {"dmul": 32 * 0.26 * functions, "ffma": 32 * functions}
    named = findings(replace(converting, float_instructions=doubles))["implicit-double"]
    assert "converts numbers 50 %" in named.message
    fewer = {"dmul": 32 * 0.24 * functions, "ffma": 32 * functions}
    assert "implicit-double" not in findings(replace(converting, float_instructions=fewer))
    on_purpose = replace(
        converting, kernel="tone(const double *, double *)", float_instructions=doubles
    )
    assert "implicit-double" not in findings(on_purpose)


def test_a_request_of_one_sector_cannot_move_fewer() -> None:
    one_word = replace(
        KERNEL,
        issue_busy=0.1,
        sm_busy=0.1,
        l1_busy=0.1,
        l2_busy=0.4,
        dram_busy=0.4,
        global_sectors=2e7,
        global_sectors_ideal=1e7,
        global_loads=WarpRequests(requests=1e7, sectors=1e7, used_bytes=32.0),
        global_stores=WarpRequests(requests=1e7, sectors=1e7, used_bytes=4.0),
        stalls={"drain": 0.6},
    )
    assert "uncoalesced-access" not in findings(one_word)
    apart = WarpRequests(requests=1e6, sectors=1e7, used_bytes=4.0)
    assert "uncoalesced-access" in findings(replace(one_word, global_stores=apart))


def test_blocks_of_a_warp_are_held_as_far_as_registers_and_shared_memory_allow() -> None:
    small = replace(
        KERNEL,
        grid=(5000, 1, 1),
        block=(32, 1, 1),
        theoretical_occupancy=17 / 64,
        achieved_occupancy=0.25,
        issue_busy=0.05,
        sm_busy=0.05,
        l2_busy=0.05,
        dram_busy=0.05,
        stalls={"long_scoreboard": 0.9},
    )
    found = findings(small)["tiny-blocks"]
    assert "hold 17 of 64 warps (26.6 %) of them; by their number it would be 32" in found.message
    by_number = findings(replace(small, theoretical_occupancy=0.5))["tiny-blocks"]
    assert "holds at most 32 blocks, so 32 of 64 warps (50 %)" in by_number.message


# A step of a bitonic sort: every other lane of a warp swaps two words, neighbours of its neighbours' words.
EVERY_OTHER_LANE = replace(
    KERNEL,
    kernel="swap_step(float *, int, int)",
    active_threads=21.5,
    stalls={"long_scoreboard": 0.73, "wait": 0.1},
    l1_load_hit_rate=0.5,
    l2_busy=0.7,
    dram_busy=0.5,
    dram_read=16.8e6,
    dram_written=0.07e6,
    dram_bytes=16.87e6,
    global_sectors=2.09e6,
    global_sectors_ideal=0.79e6,
    global_loads=WarpRequests(requests=262e3, sectors=1048e3, used_bytes=16.0),
    global_stores=WarpRequests(requests=262e3, sectors=1046e3, used_bytes=8.0),
)


@pytest.mark.parametrize(
    ("profile", "rule", "expected"),
    [
        (EVERY_OTHER_LANE, "uncoalesced-access", None),
        (EVERY_OTHER_LANE, "latency-bound", "medium"),
        (replace(EVERY_OTHER_LANE, active_threads=24.0), "uncoalesced-access", "high"),
        (replace(EVERY_OTHER_LANE, active_threads=None), "uncoalesced-access", "high"),
        (replace(EVERY_OTHER_LANE, global_stores=replace(EVERY_OTHER_LANE.global_stores,
                 sectors=1200e3)), "uncoalesced-access", "high"),
    ],
)  # fmt: skip
def test_lanes_that_take_no_part_leave_sectors_unused(
    profile: KernelProfile, rule: str, expected: str | None
) -> None:
    assert priority(profile, rule) == expected
