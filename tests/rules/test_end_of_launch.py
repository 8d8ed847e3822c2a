"""What is told from little evidence: a slice of L2 that works on alone, loads over a link, barriers, lanes and libraries' grids."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judged_profiles import findings, priority

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.facts.beyond_device import reads_beyond_device_memory
from gpuadvise.advisor.facts.kernel_profile import (
    CycleSpread,
    KernelProfile,
    ProfilerRule,
    SharedRequests,
    WarpRequests,
)
from gpuadvise.advisor.facts.limiter import LatencyBound, limiter_of
from gpuadvise.advisor.facts.lone_slice import lone_slice
from gpuadvise.advisor.facts.units import Unit

# Blocks that add up in shared memory and send their sums to few words of memory, on a page without counts.
SUMS = KernelProfile(
    kernel="group_sums(const float4 *, double *, int)",
    capability=Capability(9, 0),
    sm_count=132,
    grid=(1056, 1, 1),
    block=(256, 1, 1),
    registers=24,
    static_shared=16_384,
    dynamic_shared=0,
    waves=1.0,
    seconds=23.5e-6,
    elapsed_cycles=46_000.0,
    achieved_occupancy=0.9,
    instructions=2.5e6,
    warp_latency=42.0,
    stalls={"long_scoreboard": 0.58},
    active_threads=31.0,
    unpredicated_threads=29.0,
    sm_busy=0.13,
    issue_busy=0.10,
    memory_busy=0.2,
    memory_pipes_busy=0.13,
    dram_busy=0.19,
    l2_busy=0.2,
    l1_busy=0.14,
    dram_bytes=21e6,
    l1_hit_rate=0.0,
    l2_hit_rate=0.05,
    sm_cycles=CycleSpread(mean=12_800.0),
    l2_cycles=CycleSpread(least=11_400.0, mean=14_400.0, most=37_500.0),
    rules=(ProfilerRule(name="SOLBottleneck", kind="OPT", message=""),),
)


def test_one_slice_of_l2_that_works_on_alone_is_a_queue_of_atomics() -> None:
    assert lone_slice(SUMS) == pytest.approx(37_500 / 46_000)
    found = findings(SUMS)
    assert "load-imbalance" not in found
    assert found["atomic-contention"].bound == pytest.approx(46_000 / 14_400, rel=0.01)
    counted = replace(
        SUMS,
        sm_cycles=CycleSpread(least=12_300.0, mean=12_800.0, most=13_400.0),
        global_reductions=WarpRequests(requests=16_896.0, sectors=16_896.0),
        global_atomics=WarpRequests(requests=0.0, sectors=0.0),
    )
    assert priority(counted, "atomic-contention") == "medium"
    none = replace(counted, global_reductions=WarpRequests(requests=0.0, sectors=0.0))
    assert "atomic-contention" not in findings(none)


@pytest.mark.parametrize(
    "change",
    [
        {"l2_cycles": CycleSpread(mean=14_400.0, most=25_000.0)},
        {"l2_cycles": CycleSpread(mean=14_400.0)},
        {"sm_cycles": CycleSpread(mean=12_800.0, most=31_000.0)},  # the longest block takes as long
        {"sm_cycles": CycleSpread()},
        {"seconds": 5e-6},
        {"elapsed_cycles": None},
    ],
)
def test_slices_that_end_with_the_sms_are_no_queue(change: dict[str, object]) -> None:
    assert lone_slice(replace(SUMS, **change)) is None


LINK = replace(
    SUMS,
    kernel="mix(const float4 *, float4 *)",
    seconds=85e-6,
    elapsed_cycles=169_000.0,
    instructions=172_000.0,
    warp_latency=4_300.0,
    stalls={"long_scoreboard": 0.98},
    sm_busy=0.004,
    issue_busy=0.002,
    memory_busy=0.06,
    dram_busy=0.0,
    l2_busy=0.06,
    dram_bytes=2_816.0,
    l2_hit_rate=0.53,
    sm_cycles=CycleSpread(mean=161_000.0),
    l2_cycles=CycleSpread(least=111_000.0, mean=136_000.0, most=143_000.0),
)


def test_loads_that_neither_l2_nor_device_memory_serves_come_over_a_link() -> None:
    for launch in (LINK, replace(LINK, dram_busy=0.008)):  # of the other array
        found = findings(launch)
        assert "atomic-contention" not in found
        assert "host's memory" in found["host-memory-reads"].advice.message


@pytest.mark.parametrize(
    "change",
    [
        {"l2_hit_rate": 0.95},
        {"l2_hit_rate": None},
        {"dram_busy": 0.01},
        {"dram_busy": 0.001, "warp_latency": 3_900.0},
        {"seconds": 10e-6},
        {"warp_latency": 900.0},
        {"stalls": {"long_scoreboard": 0.8}},
        {"host_sectors_read": 0.0},  # counted: there are none
    ],
)
def test_what_else_waits_as_long_is_no_read_over_a_link(change: dict[str, object]) -> None:
    assert not reads_beyond_device_memory(replace(LINK, **change))


STEPS = replace(
    SUMS,
    kernel="tree_block(const float *, float *, float)",
    grid=(8192, 1, 1),
    static_shared=2048,
    waves=7.8,
    seconds=298e-6,
    elapsed_cycles=590_000.0,
    instructions=198e6,
    warp_latency=23.4,
    stalls={"barrier": 0.33},
    sm_busy=1.0,
    issue_busy=0.64,
    memory_busy=0.7,
    memory_pipes_busy=1.0,
    dram_busy=0.0,
    l2_busy=0.003,
    l1_busy=0.7,
    dram_bytes=37_000.0,
    unpredicated_threads=20.5,
    active_threads=32.0,
    sm_cycles=CycleSpread(mean=577_000.0),
    l2_cycles=CycleSpread(mean=8_800.0, most=17_000.0),
)


def test_barriers_fill_the_pipe_that_resolves_addresses() -> None:
    assert STEPS.unit_shares[Unit.ADU] == 1.0
    limiter = limiter_of(STEPS)
    assert isinstance(limiter, LatencyBound)
    assert (limiter.stall, limiter.unit) == ("barrier", Unit.L1_SHARED)
    assert priority(STEPS, "latency-bound") == "medium"
    assert Unit.LSU in replace(STEPS, l1_busy=0.95).unit_shares
    loads = replace(STEPS, stalls={"short_scoreboard": 0.33})
    assert loads.unit_shares[Unit.LSU] == 1.0
    counted = replace(STEPS, pipes={"adu": 1.0}, stalls={"barrier": 0.2, "wait": 0.1})
    assert limiter_of(counted).name == "roof:adu"


def test_steps_in_shared_memory_over_hardly_any_bytes_are_no_tree_of_sums() -> None:
    tree = replace(
        STEPS,
        static_shared=1024,
        stalls={"barrier": 0.3},
        global_stores=WarpRequests(used_bytes=4.0),
        shared_loads=SharedRequests(),
        unpredicated_threads=18.0,
    )
    assert "tree-reduction" not in findings(tree)
    assert "tree-reduction" in findings(replace(tree, dram_bytes=198e6 / 3.9))


DIVIDING = replace(
    SUMS,
    kernel="crop(const float *, float *, int)",
    seconds=100e-6,
    static_shared=0,
    waves=8.0,
    stalls={},
    sm_busy=0.7,
    issue_busy=0.7,
    pipes={"alu": 0.57},
    fp32_of_peak=0.0,
    sm_cycles=CycleSpread(),
    l2_cycles=CycleSpread(),
    active_threads=32.0,
    unpredicated_threads=27.0,
)


def test_lanes_that_branches_mask_are_no_sign_of_divisions() -> None:
    assert "integer-division" in findings(DIVIDING)
    masked = replace(DIVIDING, active_threads=24.0, unpredicated_threads=20.0)
    assert "integer-division" not in findings(masked)


def test_the_grid_of_a_vendors_product_is_not_its_callers() -> None:
    product = replace(
        SUMS,
        kernel="nvjet_sm90_hsh_128x128_64x6_1x1_h_bz_NNT",
        grid=(1, 96, 1),
        sm_cycles=CycleSpread(),
        l2_cycles=CycleSpread(),
    )
    assert priority(product, "underfilled-device") == "low"
    assert priority(replace(product, grid=(1, 60, 1)), "underfilled-device") == "medium"
    assert priority(replace(product, kernel="mine(float *)"), "underfilled-device") == "medium"


# Remainders beside multiply-adds: 1.5 floating-point instructions per special function.
TAPS = replace(
    SUMS,
    kernel="ring(const float *, const float *, float *, int)",
    static_shared=0,
    seconds=59e-6,
    elapsed_cycles=117_000.0,
    instructions=42e6,
    stalls={"math_pipe_throttle": 0.27, "wait": 0.1},
    sm_busy=0.69,
    issue_busy=0.68,
    unpredicated_threads=27.5,
    active_threads=32.0,
    pipes={"xu": 0.2, "alu": 0.55, "fma": 0.38, "fma_heavy": 0.69},
    float_instructions={"ffma": 61e6},
    sm_cycles=CycleSpread(),
    l2_cycles=CycleSpread(),
    rules=(),
)


def test_several_products_per_special_function_are_divisions_beside_floats() -> None:
    assert priority(TAPS, "integer-division") == "medium"
    few = replace(TAPS, pipes={**TAPS.pipes, "fma_heavy": 0.38})
    assert "integer-division" not in findings(few)
    # More floats where products of integers keep the heavy half of the FMA pipe busier than the other.
    more = replace(TAPS, float_instructions={"ffma": 115e6})
    assert "integer-division" in findings(more)
    even = replace(more, pipes={**TAPS.pipes, "fma_heavy": 0.52})
    assert "integer-division" not in findings(even)
    assert "integer-division" not in findings(replace(TAPS, float_instructions={"ffma": 160e6}))


def test_products_fill_what_is_issued_where_a_reciprocal_is_kept() -> None:
    kept = replace(TAPS, pipes={**TAPS.pipes, "xu": 0.13})
    assert "integer-division" in findings(replace(kept, float_instructions={"ffma": 40e6}))
    for change in ({"xu": 0.11}, {"fma_heavy": 0.55}):
        other = replace(kept, pipes={**kept.pipes, **change}, float_instructions={"ffma": 30e6})
        assert "integer-division" not in findings(other)


def test_lanes_that_wait_for_the_longest_count_in_an_uneven_grid_too() -> None:
    lines = replace(
        SUMS,
        grid=(512, 1, 1),
        waves=0.24,
        seconds=150e-6,
        active_threads=3.7,
        unpredicated_threads=3.6,
        sm_cycles=CycleSpread(mean=33_000.0),
        l2_cycles=CycleSpread(),
    )
    assert limiter_of(lines).name == "imbalance"
    assert "divergent-branches" in findings(lines)
    nine = replace(lines, active_threads=9.0, unpredicated_threads=9.0)
    assert "divergent-branches" not in findings(nine)


def test_a_librarys_sum_into_places_of_an_index_waits_for_atomics() -> None:
    adds = "void at::native::indexFuncLargeIndex<float, long, unsigned int, 2, 2, at::native::ReduceAdd>(int)"
    launch = replace(
        LINK,
        kernel=adds,
        warp_latency=120.0,
        l2_hit_rate=0.5,
        dram_busy=0.02,
        stalls={"long_scoreboard": 0.94},
    )
    assert "atomic-contention" in findings(launch)
    assert "atomic-contention" not in findings(replace(launch, warp_latency=80.0))
    assert "atomic-contention" not in findings(replace(launch, kernel="void gather(int)"))
