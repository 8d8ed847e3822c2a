"""What bounds a gain: the work that a repair leaves, at both edges of what it is taken to be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from judged_profiles import KERNEL, bound, findings

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.facts.kernel_profile import (
    BlockLimits,
    CycleSpread,
    KernelProfile,
    SharedRequests,
    WarpRequests,
)
from gpuadvise.advisor.facts.limit_words import stall_words, unit_words
from gpuadvise.advisor.facts.limiter import filled_share
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.memory.number_types import NumberType


def local(requests: float, sectors: float) -> WarpRequests:
    return WarpRequests(requests=requests, sectors=sectors, used_bytes=32.0)


def test_an_array_takes_six_instructions_along_with_each_request_and_a_spill_hardly_any() -> None:
    array = replace(KERNEL, local_loads=local(1e7, 4e7))
    assert bound(array, "register-spills") == pytest.approx(1 / (0.2 * 0.4), rel=0.01)
    assert "up to 6 go with a request" in str(findings(array)["register-spills"].advice.gain)
    spill = replace(array, spill_requests=1e7)
    assert bound(spill, "register-spills") == pytest.approx(1 / (0.2 * 0.89), rel=0.01)


def test_instructions_on_floats_and_global_memory_stay_when_spills_go() -> None:
    # 20 % of the instructions go to the array, more than all with what goes along.
    array = replace(KERNEL, local_loads=local(2e7, 8e7))
    assert bound(array, "register-spills") == pytest.approx(1 / (0.2 * 0.01), rel=0.01)
    computing = replace(array, float_instructions={"ffma": 32 * 1e7})
    assert bound(computing, "register-spills") == pytest.approx(1 / (0.2 * 0.1), rel=0.01)
    loading = replace(
        computing, global_loads=local(5e6, 0.0), shared_loads=SharedRequests(requests=5e6)
    )
    assert bound(loading, "register-spills") == pytest.approx(1 / (0.2 * 0.2), rel=0.01)
    # What is computed in double precision is a float instruction too, but no proof of work here.
    double = replace(array, float_instructions={"dfma": 32 * 1e7})
    assert bound(double, "register-spills") == pytest.approx(1 / (0.2 * 0.01), rel=0.01)


def test_sectors_of_global_accesses_stay_in_l2_when_spills_go() -> None:
    spilling = replace(
        KERNEL,
        l2_busy=0.8,
        dram_busy=0.7,
        issue_busy=0.02,
        sm_busy=0.02,
        l1_busy=0.02,
        spill_requests=1e7,
        local_loads=local(1e7, 3e7),
        global_loads=local(2.5e6, 1e7),
    )
    assert bound(spilling, "register-spills") == pytest.approx(1 / (0.8 * 0.25))
    half_used = replace(
        spilling, global_loads=WarpRequests(requests=2.5e6, sectors=1e7, used_bytes=16.0)
    )
    assert bound(half_used, "register-spills") == pytest.approx(1 / (0.8 * 5 / 35))
    found = replace(spilling, l1_load_hit_rate=0.9)
    assert bound(found, "register-spills") == pytest.approx(1 / (0.8 * 1 / 31))
    stored = replace(spilling, global_stores=local(2.5e6, 1e7))
    assert bound(stored, "register-spills") == pytest.approx(1 / (0.8 * 20 / 50))
    # Without counts nobody knows what stays.
    uncounted = replace(spilling, global_loads=WarpRequests())
    assert bound(uncounted, "register-spills") > 50


# 3e7 FP64 instructions of a warp, beside floats that are a hundredth of all.
DOUBLES = replace(
    KERNEL,
    stalls={"math_pipe_throttle": 0.5},
    issue_busy=0.8,
    sm_busy=0.8,
    l1_busy=0.001,
    l2_busy=0.001,
    pipes={"fp64": 0.6, "alu": 0.3, "cbu": 0.2},
    float_instructions={"dfma": 32 * 3e7, "ffma": 32 * 1e6},
)
# Conversions that keep the pipe this busy are a sixth as many.
SIXTH = 3e7 / 6 / (1.8e6 * 132 * 0.5)


def with_conversions(busy: float) -> KernelProfile:
    return replace(DOUBLES, pipes={**DOUBLES.pipes, "xu": busy})


def test_double_functions_may_take_all_but_float_and_memory_instructions() -> None:
    functions = bound(with_conversions(0.99 * SIXTH), "implicit-double")
    assert functions == pytest.approx(1 / (0.8 * 0.01))
    plain = bound(with_conversions(1.01 * SIXTH), "implicit-double")
    assert plain == pytest.approx(1 / (0.8 / 4))


def test_a_page_without_counts_does_not_tell_functions_from_plain_arithmetic() -> None:
    page = replace(DOUBLES, float_instructions={}, fp32_of_peak=0.02, global_loads=WarpRequests())
    assert bound(page, "implicit-double") == pytest.approx(1 / 0.015, rel=0.01)
    named = replace(page, pipes={"fp64": 0.6, "xu": 0.7})
    assert bound(named, "implicit-double") == pytest.approx(1 / (0.8 / 4))


# L1 at its roof by loads of which device memory hardly sees one.
RELOADING = replace(
    KERNEL,
    issue_busy=0.5,
    sm_busy=0.7,
    l1_busy=0.9,
    dram_read=1e7,
    dram_bytes=1e7,
    global_sectors=1.6e8,
    global_sectors_ideal=1.6e8,
    global_loads=local(4e7, 1.6e8),
    l1_load_hit_rate=0.95,
    pipes={"alu": 0.3, "cbu": 0.1},
    float_instructions={"ffma": 32 * 2e7},
)


def test_a_tile_leaves_what_computes_and_a_load_of_32() -> None:
    assert bound(RELOADING, "redundant-global-loads") == pytest.approx(1 / (0.5 * (0.2 + 0.4 / 32)))
    # Integers: nobody knows which of them are addresses.
    integers = replace(RELOADING, float_instructions={"ffma": 0.0})
    assert bound(integers, "redundant-global-loads") == pytest.approx(1 / (0.5 * 0.2))
    # The FMA pipe has float work of its own.
    computing = replace(RELOADING, pipes={"fma": 0.5}, fp32_of_peak=0.3)
    assert bound(computing, "redundant-global-loads") == pytest.approx(1 / 0.3)


def test_what_l2_has_was_read_before() -> None:
    page = replace(
        RELOADING,
        stalls={"lg_throttle": 0.5},
        global_loads=WarpRequests(used_bytes=32.0),
        global_stores=WarpRequests(),
        l1_hit_rate=0.93,
        memory_pipes_busy=0.3,
        l1_busy=0.4,
        l2_busy=0.85,
        float_instructions={},
        fp32_of_peak=0.06,
        l2_hit_rate=0.9,
    )
    assert bound(page, "redundant-global-loads") == pytest.approx(1 / 0.085)
    seldom = replace(page, l2_hit_rate=0.5)
    assert bound(seldom, "redundant-global-loads") == pytest.approx(1 / 0.425)


def test_float_instructions_that_a_page_proves() -> None:
    counted = replace(KERNEL, float_instructions={"ffma": 32e6, "hadd": 32e6, "dfma": 32e6})
    assert counted.single_instructions == pytest.approx(0.02)
    page = replace(KERNEL, float_instructions={}, fp32_of_peak=0.105)
    assert page.single_instructions == pytest.approx(0.5)
    assert replace(page, capability=Capability(8, 0)).single_instructions == pytest.approx(0.25)
    assert replace(page, fp32_of_peak=0.004).single_instructions == 0.0
    assert replace(page, fp32_of_peak=None).single_instructions is None


# Half of the SMs' time is idle in a grid of 2 blocks per SM, and a third of the warps of a busy one are gone.
UNEVEN = replace(
    KERNEL,
    grid=(264, 1, 1),
    block=(512, 1, 1),
    waves=0.5,
    achieved_occupancy=0.3,
    sm_cycles=CycleSpread(least=2e5, mean=5e5, most=1e6),
)


def test_work_is_uneven_within_an_sm_too() -> None:
    assert filled_share(UNEVEN) == pytest.approx(0.5 * 0.3 / 0.5)
    assert bound(UNEVEN, "load-imbalance") == pytest.approx(1 / 0.3)
    even = replace(UNEVEN, achieved_occupancy=0.5)
    assert bound(even, "load-imbalance") == pytest.approx(2.0)
    assert filled_share(replace(UNEVEN, achieved_occupancy=0.6)) == pytest.approx(0.5)
    assert filled_share(replace(UNEVEN, achieved_occupancy=None)) == pytest.approx(0.5)
    assert filled_share(replace(UNEVEN, sm_cycles=CycleSpread())) is None


# 140 blocks of 1024 threads, of which shared memory lets one run at a time on each of 132 SMs.
TAIL = replace(
    KERNEL,
    grid=(140, 1, 1),
    block=(1024, 1, 1),
    dynamic_shared=150 * 1024,
    waves=1.06,
    theoretical_occupancy=0.5,
    achieved_occupancy=0.5,
    block_limits=BlockLimits(blocks=32, registers=2, shared_memory=1, warps=2),
    sm_cycles=CycleSpread(least=5e5, mean=5.3e5, most=1e6),
    l1_busy=0.01,
)


def test_smaller_blocks_use_what_a_large_one_leaves_of_an_sm() -> None:
    shared = 228 / 151
    assert bound(TAIL, "tail-effect") == pytest.approx(shared / 0.53)
    whole = replace(TAIL, dynamic_shared=227 * 1024)
    assert bound(whole, "tail-effect") == pytest.approx(1 / 0.53)
    emptier = replace(whole, achieved_occupancy=0.4)
    assert bound(emptier, "tail-effect") == pytest.approx(1 / (0.53 * 0.8))


FAR = replace(
    KERNEL,
    issue_busy=0.002,
    sm_busy=0.002,
    l1_busy=0.1,
    l2_busy=0.4,
    dram_busy=0.4,
    global_sectors=1.6e8,
    global_sectors_ideal=2e7,
    dram_bytes=1.6e8 * 32,
    global_loads=WarpRequests(requests=5e6, sectors=1.6e8, used_bytes=4.0),
)


def test_device_memory_may_move_more_than_the_sectors_of_far_lanes() -> None:
    assert bound(FAR, "uncoalesced-access") == pytest.approx(16.0)
    filled = replace(FAR, dram_bytes=2e7 * 32 * 10)
    assert bound(filled, "uncoalesced-access") == pytest.approx(10 * 0.9 / 0.4)
    assert bound(replace(filled, dram_busy=0.5), "uncoalesced-access") == pytest.approx(20.0)
    assert bound(replace(FAR, dram_bytes=2e7 * 32 * 7), "uncoalesced-access") == pytest.approx(16.0)


def test_aligned_rows_allow_the_tensor_instructions_of_the_peak() -> None:
    rows = replace(FAR, pipes={"tensor": 0.39}, seconds=1e-3)
    half = rows.seconds * 0.3 * 989.4e12 if rows.seconds else 0.0
    counted = replace(rows, tensor_operations={NumberType.BF16: half})
    assert bound(counted, "uncoalesced-access") == pytest.approx(1 / 0.3, rel=0.01)
    # More than the pipe was busy for cannot be.
    full = replace(rows, tensor_operations={NumberType.BF16: 2 * half})
    assert bound(full, "uncoalesced-access") == pytest.approx(1 / 0.39, rel=0.01)
    assert bound(rows, "uncoalesced-access") == pytest.approx(2 / 0.39, rel=0.01)
    ampere = findings(rows, "a100-sxm4-80gb")["uncoalesced-access"]
    assert ampere.bound == pytest.approx(1 / 0.39, rel=0.01)


def test_wider_loads_take_the_branches_of_their_loop_along() -> None:
    bytewise = replace(
        KERNEL,
        kernel="find(const unsigned char *, int *)",
        issue_busy=0.36,
        sm_busy=0.36,
        dram_busy=0.05,
        l2_busy=0.06,
        global_loads=WarpRequests(requests=2e7, sectors=2e7, used_bytes=32.0),
        pipes={"cbu": 0.16},
    )
    assert bound(bytewise, "narrow-loads") == pytest.approx(0.95 / 0.05)
    special = replace(bytewise, pipes={"xu": 0.16}, float_instructions={"ffma": 32e8})
    assert bound(special, "narrow-loads") == pytest.approx(1 / 0.16)
    # What serves no floats divides an index, which 16 bytes need once.
    divided = replace(special, float_instructions={})
    assert bound(divided, "narrow-loads") == pytest.approx(0.95 / 0.05)


def named(name: str, **facts: Any) -> KernelProfile:
    return replace(KERNEL, kernel=f"{name}(const float *, float *, int)", **facts)


def test_a_library_moves_the_same_bytes() -> None:
    sums = named("reduce_rows", dram_busy=0.4, dram_read=1e9, dram_written=1e6)
    assert bound(sums, "library-available") == pytest.approx(1 / 0.4)
    assert "device memory stays 40 % busy: 1 / 0.4" in str(findings(sums)["library-available"])


def test_a_library_multiplies_as_often_on_the_same_unit() -> None:
    product = named("matmul", issue_busy=0.4, float_instructions={"ffma": 32 * 5e7})
    in_fp32 = findings(product)["library-available"]
    assert in_fp32.usual_bound == pytest.approx(1 / (0.4 * 0.5))
    of_peak = replace(product, fp32_of_peak=0.25)
    in_fp32 = findings(of_peak)["library-available"]
    assert in_fp32.usual_bound == pytest.approx(1 / 0.25)
    assert in_fp32.bound > 1 / 0.25  # with fewer bits, on tensor cores
    on_tensor_cores = replace(of_peak, pipes={"tensor": 0.3}, capability=Capability(8, 0))
    assert bound(on_tensor_cores, "library-available") == pytest.approx(1 / 0.3)
    beside_warpgroups = replace(on_tensor_cores, capability=Capability(9, 0))
    assert bound(beside_warpgroups, "library-available") == pytest.approx(1 / (0.63 * 0.3))
    in_half = replace(product, float_instructions={"hfma": 32 * 5e7})
    assert bound(in_half, "library-available") == pytest.approx(16 / (0.4 * 0.5))


def test_reads_of_several_constants_leave_the_other_units() -> None:
    tables = replace(
        KERNEL, stalls={"mio_throttle": 0.6}, issue_busy=0.3, pipes={"adu": 0.9, "alu": 0.35}
    )
    assert bound(tables, "divergent-constant-reads") == pytest.approx(1 / 0.35)


def test_a_bound_beyond_a_thousand_is_counted_as_one() -> None:
    rows = named("reduce_rows", seconds=0.1, dram_busy=1e-5, dram_read=1e9, dram_written=1e6)
    gain = findings(rows)["library-available"].advice.gain
    assert gain is not None
    assert gain.upper_bound == 1000
    assert gain.how == "device memory stays 0.001 % busy: beyond 1,000"


@pytest.mark.parametrize("stall", sorted(set(Stall) - {Stall.SELECTED, Stall.NOT_SELECTED}))
def test_every_wait_of_the_profiler_has_words(stall: Stall) -> None:
    assert "_" not in stall_words(stall)
    assert stall_words(stall) != stall or stall in (Stall.MISC, Stall.SEVERAL)


def test_a_wait_or_a_pipe_of_a_later_profiler_keeps_its_name() -> None:
    assert stall_words("tensor_memory_load") == "tensor memory load"
    assert unit_words("tensor_memory") == "the tensor memory pipe"


def test_a_remainder_that_picks_the_lanes_of_a_tree_leaves_nothing_of_the_tree() -> None:
    dividing = replace(
        KERNEL,
        issue_busy=0.8,
        sm_busy=0.8,
        l1_busy=0.35,
        l2_busy=0.1,
        dram_busy=0.1,
        pipes={"xu": 0.55, "fma": 0.3, "alu": 0.6, "adu": 0.34},
        float_instructions={"ffma": 0.0},
        active_threads=32.0,
        unpredicated_threads=24.0,
        stalls={"wait": 0.2, "barrier": 0.13},
    )
    alone = bound(dividing, "integer-division")
    assert alone == pytest.approx(1 / 0.35)
    sharing = SharedRequests(requests=0.04 * (KERNEL.instructions or 0.0))
    tree = replace(dividing, shared_loads=sharing)
    assert bound(tree, "integer-division") == pytest.approx(10.0, rel=0.05)
    assert "__shfl_down_sync()" in findings(tree)["integer-division"].advice.action
    assert "__shfl_down_sync()" not in findings(dividing)["integer-division"].advice.action


def test_few_blocks_that_wait_for_loads_are_bounded_by_what_units_leave() -> None:
    few = replace(
        KERNEL,
        grid=(33, 1, 1),
        block=(256, 1, 1),
        issue_busy=0.02,
        sm_busy=0.02,
        l1_busy=0.01,
        l2_busy=0.02,
        dram_busy=0.025,
        registers=32,
        stalls={"long_scoreboard": 0.9},
    )
    assert bound(few, "underfilled-device") == pytest.approx(40.0)
    computing = replace(few, stalls={"wait": 0.9})
    assert bound(computing, "underfilled-device") == pytest.approx(132 * 8 / 33)


def test_no_bound_of_a_layout_conversion_says_what_leaving_it_out_wins() -> None:
    turned = replace(
        KERNEL,
        kernel="void cudnn::nchwToNhwcKernel<__half, __half, float, 0, 1, 0>(int)",
        issue_busy=0.3,
        l2_busy=0.5,
        dram_busy=0.4,
        global_sectors=8e7,
        global_sectors_ideal=2e7,
        global_loads=WarpRequests(requests=5e6, sectors=8e7, used_bytes=8.0),
        stalls={"long_scoreboard": 0.8},
    )
    found = findings(turned)["uncoalesced-access"]
    assert found.advice.gain is None
    assert "channels last" in found.advice.action
