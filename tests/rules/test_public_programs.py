"""What public programs taught the rules, with figures measured on an H200: both edges of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from judged_profiles import findings, findings_on, priority

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.code import Observation
from gpuadvise.advisor.facts.counted_lines import CountedLine, LineCount
from gpuadvise.advisor.facts.kernel_profile import (
    CycleSpread,
    KernelProfile,
    ProfilerRule,
    SharedRequests,
    WarpRequests,
)
from gpuadvise.advisor.facts.limiter import DID_NOT_RUN, UnknownLimiter, limiter_of
from gpuadvise.advisor.profiles.launch_facts import profiled_facts

if TYPE_CHECKING:
    from gpuadvise.rules.report import Finding

NONE = WarpRequests(requests=0.0, sectors=0.0)
# A sum of 256 words per block whose threads find out by a remainder whether it is their turn.
REMAINDERS = KernelProfile(
    kernel="sums(const int *, int *, unsigned int)",
    sm_count=132,
    grid=(262_144, 1, 1),
    block=(256, 1, 1),
    registers=16,
    static_shared=0,
    dynamic_shared=2048,
    waves=248.0,
    seconds=640e-6,
    elapsed_cycles=1.267e6,
    achieved_occupancy=0.93,
    instructions=520e6,
    warp_latency=19.0,
    stalls={"wait": 0.21, "not_selected": 0.19, "barrier": 0.13},
    active_threads=31.9,
    unpredicated_threads=24.1,
    sm_busy=0.78,
    issue_busy=0.78,
    dram_busy=0.1,
    l2_busy=0.05,
    l1_busy=0.37,
    pipes={"xu": 0.6, "alu": 0.58, "fma": 0.29},
    float_instructions={"fadd": 0.0, "fmul": 0.0, "ffma": 0.0},
    global_loads=WarpRequests(requests=2.1e6, sectors=8.4e6, used_bytes=32.0),
    global_stores=WarpRequests(requests=262_144.0, sectors=262_144.0, used_bytes=4.0),
    global_reductions=NONE,
    global_atomics=NONE,
)
# A picture filtered by rows of 17 taps in shared memory.
FILTER = replace(
    REMAINDERS,
    kernel="rows(const float *, float *, int)",
    seconds=328e-6,
    elapsed_cycles=649e3,
    instructions=87e6,
    stalls={"mio_throttle": 0.74},
    unpredicated_threads=32.0,
    sm_busy=0.5,
    issue_busy=0.25,
    dram_busy=0.33,
    l1_busy=0.99,
    lsu_wavefronts_busy=0.99,
    pipes={"fma": 0.11, "lsu": 0.49},
    float_instructions={"ffma": 0.4 * 32 * 87e6},
    global_loads=WarpRequests(requests=2.6e6, sectors=10.4e6, used_bytes=32.0),
    global_stores=WarpRequests(requests=2.1e6, sectors=8.4e6, used_bytes=32.0),
    shared_loads=SharedRequests(requests=33.8e6),
)
# A filter whose weights stand in constant memory, all lanes at one address.
WEIGHTS = replace(
    REMAINDERS,
    kernel="filtered(const float *, float *, int)",
    stalls={"mio_throttle": 0.22},
    sm_busy=0.99,
    issue_busy=0.02,
    pipes={"adu": 0.99, "fma": 0.01, "alu": 0.01},
)
# A window of texels fetched around each pixel.
TEXELS = replace(
    REMAINDERS,
    kernel="denoised(unsigned int *, int, int)",
    stalls={"tex_throttle": 0.6, "long_scoreboard": 0.3},
    sm_busy=0.26,
    issue_busy=0.26,
    l1_busy=0.85,
    l1_hit_rate=0.84,
    l1_load_hit_rate=0.0,
    l2_busy=0.33,
    dram_busy=0.19,
    pipes={"tex": 0.21, "fma": 0.12},
    global_loads=NONE,
)
# Eight million sums to one address, of which each lane asks for an index first.
ONE_ADDRESS = replace(
    REMAINDERS,
    kernel="scattered(float *, const long *, const float *)",
    seconds=14.75e-3,
    elapsed_cycles=29.2e6,
    instructions=14e6,
    warp_latency=15_950.0,
    stalls={"long_scoreboard": 0.89},
    unpredicated_threads=30.8,
    sm_busy=0.002,
    issue_busy=0.001,
    dram_busy=0.001,
    l2_busy=0.009,
    l1_busy=0.002,
    pipes={"alu": 0.001},
    dram_written=2.7e6,
    global_loads=WarpRequests(requests=524_288.0, sectors=3.1e6, used_bytes=32.0),
    global_stores=NONE,
    global_reductions=WarpRequests(requests=262_144.0, sectors=8.4e6),
)


def test_special_functions_without_floats_are_integer_divisions() -> None:
    finding = findings(REMAINDERS, "h200")["integer-division"]
    assert str(finding.priority) == "medium"
    assert finding.bound == pytest.approx(1 / 0.37)


@pytest.mark.parametrize(
    "change",
    [
        {"pipes": {"xu": 0.17, "alu": 0.58, "fma": 0.29}},  # few
        {"pipes": {"xu": 0.6, "alu": 0.82, "fma": 0.04}},  # counts of bits: no products
        {"pipes": {"xu": 0.6, "alu": 0.6, "fma": 0.3, "fma_heavy": 0.35}},  # products of floats
        {"float_instructions": {"ffma": 32 * 120e6}},  # functions of floats
        {"float_instructions": {}},  # a page that counts none
        {"kernel": "void at::native::elementwise_kernel<128, 2>(int)"},  # nobody's here to change
        {"sm_busy": 0.3, "issue_busy": 0.3, "dram_busy": 0.85},  # memory is the limit
    ],
)
def test_other_work_of_special_functions_is_no_division(change: dict[str, object]) -> None:
    assert priority(replace(REMAINDERS, **change), "integer-division", "h200") is None


def test_divisions_count_beside_a_unit_that_is_busier_than_the_issue_slots() -> None:
    beside = replace(REMAINDERS, l1_busy=0.72, sm_busy=0.61, issue_busy=0.61)
    assert findings(beside, "h200")["integer-division"].bound == pytest.approx(1 / 0.72)
    fewer = replace(beside, sm_busy=0.59, issue_busy=0.59)
    assert priority(fewer, "integer-division", "h200") is None


def test_a_filter_is_not_called_a_product() -> None:
    assert "library-available" not in findings(FILTER, "h200")
    sums = replace(FILTER, global_stores=WarpRequests(requests=1.2e6, sectors=4.8e6))
    assert priority(sums, "library-available", "h200") == "medium"


def test_without_counts_the_bytes_tell_a_filter() -> None:
    page = replace(FILTER, global_loads=WarpRequests(), global_stores=WarpRequests())
    assert "library-available" not in findings(page, "h200")
    assert "library-available" in findings(replace(page, dram_busy=0.24), "h200")


def test_one_result_per_block_is_a_tree_of_sums_with_more_lanes_at_work() -> None:
    tree = replace(
        REMAINDERS,
        dynamic_shared=1024,
        stalls={"long_scoreboard": 0.34},
        unpredicated_threads=22.6,
        pipes={"adu": 0.85, "alu": 0.53},
        sm_busy=0.85,
    )
    assert priority(tree, "library-available", "h200") == "medium"
    often = WarpRequests(requests=300_000.0, sectors=300_000.0, used_bytes=4.0)
    for other in ({"unpredicated_threads": 26.0}, {"global_stores": often}):
        assert "library-available" not in findings(replace(tree, **other), "h200")


def test_constants_at_one_address_fill_their_unit_where_much_is_issued() -> None:
    assert priority(WEIGHTS, "divergent-constant-reads", "h200") == "medium"
    busy = replace(WEIGHTS, issue_busy=0.82)
    assert "divergent-constant-reads" not in findings(busy, "h200")


def test_texels_that_are_fetched_again_belong_in_a_tile() -> None:
    finding = findings(TEXELS, "h200")["redundant-global-loads"]
    assert str(finding.priority) == "medium"
    assert "texels" in finding.message
    for other in ({"l1_hit_rate": 0.65}, {"stalls": {"tex_throttle": 0.39}}):
        assert "redundant-global-loads" not in findings(replace(TEXELS, **other), "h200")


def test_no_load_takes_as_long_as_atomics_in_a_queue() -> None:
    assert priority(ONE_ADDRESS, "atomic-contention", "h200") == "medium"
    assert "latency-bound" not in findings(ONE_ADDRESS, "h200")
    # 2,015 cycles for each request are no load's, 1,970 may be.
    queue = replace(ONE_ADDRESS, warp_latency=89.0, instructions=20e6)
    assert priority(queue, "atomic-contention", "h200") == "medium"
    loads = replace(queue, warp_latency=87.0)
    assert "atomic-contention" not in findings(loads, "h200")


def test_few_bins_are_a_queue_at_any_rate_where_warps_wait_longer_than_for_loads() -> None:
    bins = replace(
        ONE_ADDRESS,
        warp_latency=2_276.0,
        stalls={"drain": 0.46, "lg_throttle": 0.2},
        elapsed_cycles=11.5e6,
        l2_busy=0.1,
        dram_written=4e3,
        global_reductions=WarpRequests(requests=2.1e6, sectors=70.9e6),
    )
    assert priority(bins, "atomic-contention", "h200") == "medium"
    assert "atomic-contention" not in findings(replace(bins, warp_latency=800.0), "h200")
    spread = replace(bins, dram_written=70.9e6 * 32 / 15)
    assert "atomic-contention" not in findings(spread, "h200")


def test_weights_of_a_few_bits_are_in_no_library() -> None:
    product = replace(
        FILTER,
        kernel="VecMatMulKernel(const float *, const int *, float *)",
        stalls={"math_pipe_throttle": 0.26},
        sm_busy=0.78,
        issue_busy=0.75,
        l1_busy=0.4,
        lsu_wavefronts_busy=0.4,
        pipes={"alu": 0.78, "fma": 0.3},
    )
    assert priority(product, "library-available", "h200") == "medium"
    for name, known in (
        ("VecQuant3MatMulKernel", False),
        ("matmul_int4", False),
        ("matmul_uint4", True),  # words of 16 bytes
        ("matmul_of_quantiles", True),
    ):
        named = replace(product, kernel=f"{name}(const float *, const int *, float *)")
        assert ("library-available" in findings(named, "h200")) is known, name


def test_a_page_that_names_neither_loads_nor_stores_says_nothing_of_how_they_coalesce() -> None:
    page = replace(
        TEXELS,
        stalls={"long_scoreboard": 0.6},
        static_shared=16_384,
        l1_hit_rate=0.0,
        l1_busy=0.4,
        global_loads=WarpRequests(),
        global_stores=WarpRequests(),
        global_reductions=WarpRequests(),
        global_atomics=WarpRequests(),
        global_sectors=4e7,
        global_sectors_ideal=1e7,
        rules=(ProfilerRule(name="UncoalescedGlobalAccess", kind="OPT", message=""),),
    )
    named = replace(page, global_loads=WarpRequests(used_bytes=8.0))
    assert priority(named, "uncoalesced-access", "h200") == "high"
    assert not {"uncoalesced-access", "wasted-throughput"} & set(findings(page, "h200"))


def test_needed_bytes_at_the_full_rate_bound_what_whole_sectors_win() -> None:
    # An array of structures, 2.14 times as slow as one array per field.
    structures = replace(
        TEXELS,
        stalls={"long_scoreboard": 0.8},
        sm_busy=0.13,
        issue_busy=0.13,
        dram_busy=0.837,
        l2_busy=0.87,
        l1_busy=0.51,
        l1_hit_rate=0.75,
        l1_load_hit_rate=0.857,
        dram_bytes=1.0476e9,
        global_sectors=134.2e6,
        global_sectors_ideal=16.78e6,
        global_loads=WarpRequests(requests=3.67e6, sectors=117.4e6, used_bytes=4.0),
        global_stores=WarpRequests(requests=524_288.0, sectors=16.77e6, used_bytes=4.0),
        pipes={"fma": 0.05},
    )
    finding = findings(structures, "h200")["uncoalesced-access"]
    assert finding.bound == pytest.approx(1.0476e9 / (16.78e6 * 32) / 0.837, rel=1e-3)
    assert finding.bound >= 2.14


def test_a_launch_that_took_no_time_has_no_limit() -> None:
    # What Nsight Compute writes of a launch that failed under it: zeros.
    zeros = {"sm_busy": 0.0, "issue_busy": 0.0, "dram_busy": 0.0, "l2_busy": 0.0, "l1_busy": 0.0}
    failed = replace(TEXELS, seconds=0.0, stalls={}, pipes={}, **zeros)
    limiter = limiter_of(profile=failed)
    assert limiter == UnknownLimiter(wanted=DID_NOT_RUN)
    assert findings(failed, "h200") == {}
    assert limiter_of(profile=replace(failed, seconds=1e-6)) != limiter


def test_a_line_of_source_has_no_bound_and_counts_only_against_the_limit() -> None:
    branch = Observation(fault="divergent-branches", file="k.cu", line=12, seen="if (tid % 2)")

    def judged(profile: KernelProfile) -> dict[str, Finding]:
        facts = profiled_facts(profile, device=find("h200"))
        return findings_on(replace(facts, observations=(branch,)))

    finding = judged(REMAINDERS)["divergent-branches"]
    assert finding.advice.location is not None
    assert finding.advice.location.line == 12
    assert finding.advice.gain is None
    at_memory = replace(REMAINDERS, sm_busy=0.3, issue_busy=0.3, dram_busy=0.92, l2_busy=0.9)
    assert "divergent-branches" not in judged(at_memory)


# Products of small matrices on a lattice, a block of 128 threads for each site.
LATTICE = replace(
    REMAINDERS,
    kernel="sites(const float *, float *, int)",
    capability=Capability(9, 0),
    grid=(331_776, 1, 1),
    block=(128, 1, 1),
    registers=26,
    dynamic_shared=0,
    waves=157.0,
    seconds=203e-6,
    elapsed_cycles=400e3,
    theoretical_occupancy=1.0,
    achieved_occupancy=0.276,
    instructions=35.9e6,
    stalls={"long_scoreboard": 0.601},
    active_threads=32.0,
    unpredicated_threads=31.7,
    sm_busy=0.195,
    issue_busy=0.171,
    dram_busy=0.189,
    l2_busy=0.248,
    l1_busy=0.248,
    pipes={"adu": 0.195, "fma": 0.099},
    float_instructions={"fadd": 71.7e6, "fmul": 71.7e6, "ffma": 71.7e6},
    global_loads=WarpRequests(requests=4.48e6, sectors=32.8e6, used_bytes=6.36),
    global_stores=WarpRequests(requests=746e3, sectors=5.97e6, used_bytes=16.0),
    sm_cycles=CycleSpread(least=279e3, mean=319e3, most=393e3),
)


def test_where_blocks_start_as_fast_as_they_can_no_sm_has_more_work_than_others() -> None:
    starting = findings(LATTICE, "h200")
    assert "load-imbalance" not in starting
    action = starting["latency-bound"].advice.action
    assert action.startswith("Blocks start as fast as the GPU can start them: launch fewer")
    slower = findings(replace(LATTICE, seconds=231e-6), "h200")
    assert "load-imbalance" in slower
    assert not any("Blocks start" in finding.advice.action for finding in slower.values())


# A tree of option prices in shared memory: half of the instructions are its arithmetic.
PRICES = replace(
    LATTICE,
    kernel="prices()",
    grid=(1024, 1, 1),
    waves=0.48,
    seconds=406e-6,
    elapsed_cycles=803e3,
    achieved_occupancy=0.38,
    instructions=250e6,
    stalls={"barrier": 0.379, "dispatch_stall": 0.1},
    sm_busy=0.59,
    issue_busy=0.59,
    dram_busy=2e-5,
    l2_busy=2e-4,
    l1_busy=0.22,
    pipes={"fma": 0.396, "alu": 0.098, "lsu": 0.158},
    fp32_of_peak=0.24,
    float_instructions={"fmul": 2.17e9, "ffma": 2.17e9},
    global_loads=NONE,
    global_stores=NONE,
    shared_loads=SharedRequests(requests=8.4e6, wavefronts=8.4e6),
    shared_stores=SharedRequests(requests=8.4e6, wavefronts=8.4e6),
    shared_wavefronts=16.8e6,
    shared_wavefronts_ideal=16.8e6,
    sm_cycles=CycleSpread(least=714e3, mean=778e3, most=800e3),
)


def test_fewer_barriers_leave_the_arithmetic_between_them() -> None:
    finding = findings(PRICES, "h200")["latency-bound"]
    assert finding.bound == pytest.approx(1 / (0.59 * 4.34e9 / 32 / 250e6), rel=1e-3)
    doubles = replace(PRICES, float_instructions={"dfma": 1e6}, pipes={"fp64": 0.5})
    assert findings(doubles, "h200")["latency-bound"].bound == pytest.approx(2.0, rel=1e-3)


# A kernel named after a sum that divides each column by its deviation; L2 keeps what it writes.
COLUMNS = replace(
    LATTICE,
    kernel="reduce_columns(float *, float *)",
    grid=(16_384, 1, 1),
    seconds=20e-6,
    stalls={"long_scoreboard": 0.65},
    dram_read=17e6,
    dram_written=7e3,
    global_loads=WarpRequests(requests=512e3, sectors=2.1e6, used_bytes=32.0),
    global_stores=WarpRequests(requests=256e3, sectors=1.05e6, used_bytes=32.0),
)


def test_a_sum_stores_little_of_what_it_loads_whatever_device_memory_gets() -> None:
    loud = findings(COLUMNS, "h200")["library-available"]
    assert str(loud.priority) == "low"
    assert "nothing else does" in loud.message
    little = replace(COLUMNS.global_stores, requests=16e3, sectors=16e3, used_bytes=4.0)
    summing = findings(replace(COLUMNS, global_stores=little), "h200")["library-available"]
    assert "the profile fits it" in summing.message


def test_a_repair_of_lines_that_are_named_does_not_tell_to_find_them() -> None:
    conflicts = replace(
        PRICES,
        shared_wavefronts=120e6,
        shared_loads=SharedRequests(requests=8.4e6, wavefronts=111e6, conflicts=103e6),
        l1_busy=0.8,
        stalls={"short_scoreboard": 0.5},
    )
    blind = findings(conflicts, "h200")["bank-conflicts"].advice.action
    assert blind.startswith("Find the access in the profile")
    lines = {LineCount.PASSES: (CountedLine(file="prices.cu", line=9, share=1.0),)}
    counted = findings(replace(conflicts, lines=lines), "h200")["bank-conflicts"]
    assert counted.advice.action.startswith("Pad the rows of the array that is accessed there")
    assert "prices.cu:9" in counted.message


# A transpose through shared memory by columns: 16.5 passes for each that is needed, 4-byte loads.
TURNED = replace(
    LATTICE,
    kernel="turned(const int *, int *)",
    grid=(128, 128, 1),
    block=(32, 32, 1),
    static_shared=4096,
    waves=62.0,
    seconds=109e-6,
    elapsed_cycles=216e3,
    achieved_occupancy=0.938,
    instructions=20.97e6,
    stalls={"long_scoreboard": 0.379, "barrier": 0.145, "drain": 0.123},
    sm_busy=0.258,
    issue_busy=0.184,
    dram_busy=0.219,
    l2_busy=0.305,
    l1_busy=0.69,
    l1_hit_rate=0.0,
    l1_load_hit_rate=0.0,
    dram_read=67e6,
    dram_written=48e6,
    dram_bytes=115e6,
    pipes={"adu": 0.258, "lsu": 0.11},
    float_instructions={"ffma": 0.0},
    global_loads=WarpRequests(requests=524e3, sectors=2.1e6, used_bytes=32.0),
    global_stores=WarpRequests(requests=524e3, sectors=2.1e6, used_bytes=32.0),
    shared_loads=SharedRequests(requests=524e3, wavefronts=524e3),
    shared_stores=SharedRequests(requests=524e3, wavefronts=16.8e6, conflicts=16.3e6),
    shared_wavefronts=17.3e6,
    shared_wavefronts_ideal=1.05e6,
    sm_cycles=CycleSpread(least=210e3, mean=213e3, most=216e3),
)


def test_wide_loads_leave_shared_memory_its_passes() -> None:
    judged = findings(TURNED, "h200")
    assert judged["narrow-loads"].bound == pytest.approx(216e3 * 132 / 17.3e6, rel=1e-3)
    assert judged["bank-conflicts"].bound > judged["narrow-loads"].bound
    padded = replace(TURNED, shared_wavefronts=1.05e6, l1_busy=0.18)
    assert findings(padded, "h200")["narrow-loads"].bound > 3
