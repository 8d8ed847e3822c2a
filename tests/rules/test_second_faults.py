"""Faults beside others, near a roof, in libraries' kernels and in what one repair wins: both edges of each."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judged_profiles import findings, priority

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.kernel_profile import (
    CycleSpread,
    KernelProfile,
    ProfilerRule,
    SharedRequests,
    WarpRequests,
)
from gpuadvise.advisor.facts.library_kernels import (
    could_use_tf32,
    in_double_precision,
    in_single_precision,
    is_fused_attention,
    loads_single_halves,
)
from gpuadvise.advisor.facts.limit_words import limit_sentence
from gpuadvise.advisor.facts.limiter import AtRoof, limiter_of
from gpuadvise.advisor.facts.timeline import TracedProduct, TracedRun
from gpuadvise.advisor.memory.number_types import NumberType
from gpuadvise.rules.advice import Advice
from gpuadvise.rules.engine import run
from gpuadvise.rules.gain_bounds import admits
from gpuadvise.rules.guide import RULES, rule_of
from gpuadvise.rules.model import Family

NONE = WarpRequests(requests=0.0, sectors=0.0)
# A kernel that streams: loads wait, memory is half busy, whole sectors of 16 bytes per thread.
STREAM = KernelProfile(
    kernel="stream(const float4 *, float4 *, int)",
    capability=Capability(9, 0),
    sm_count=132,
    grid=(32768, 1, 1),
    block=(256, 1, 1),
    registers=24,
    static_shared=0,
    dynamic_shared=0,
    waves=31.0,
    seconds=100e-6,
    elapsed_cycles=170_000.0,
    achieved_occupancy=0.8,
    instructions=5e6,
    warp_latency=60.0,
    stalls={"long_scoreboard": 0.8},
    active_threads=32.0,
    unpredicated_threads=32.0,
    sm_busy=0.2,
    issue_busy=0.2,
    dram_busy=0.5,
    l2_busy=0.5,
    l1_busy=0.2,
    l1_load_hit_rate=0.0,
    l1_hit_rate=0.0,
    l2_hit_rate=0.3,
    dram_read=60e6,
    dram_written=60e6,
    dram_bytes=120e6,
    global_sectors=4e6,
    global_sectors_ideal=4e6,
    global_loads=WarpRequests(requests=131_072.0, sectors=16 * 131_072.0, used_bytes=32.0),
    global_stores=WarpRequests(requests=131_072.0, sectors=16 * 131_072.0, used_bytes=32.0),
    local_loads=NONE,
    local_stores=NONE,
    global_reductions=NONE,
    global_atomics=NONE,
    shared_loads=SharedRequests(requests=0.0, wavefronts=0.0),
    shared_stores=SharedRequests(requests=0.0, wavefronts=0.0),
    shared_atomics=0.0,
)
TENSOR = "unused-tensor-cores"
BYTE_PAIRS = WarpRequests(requests=524_288.0, sectors=2 * 524_288.0, used_bytes=32.0)
# Another layout of 2-byte numbers, through shared memory: one store and one load there per element.
LAYOUT = replace(
    STREAM,
    kernel="to_channels_last(const __half *, __half *)",
    static_shared=2112,
    dram_busy=0.5,
    l2_busy=0.7,
    stalls={"long_scoreboard": 0.5},
    global_loads=BYTE_PAIRS,
    global_stores=BYTE_PAIRS,
    shared_loads=SharedRequests(requests=524_288.0, wavefronts=524_288.0),
    shared_stores=SharedRequests(requests=524_288.0, wavefronts=524_288.0),
)


def words(requests: float) -> WarpRequests:
    """Return *requests* of whole warps for words of 4 bytes."""
    return WarpRequests(requests=requests, sectors=4 * requests, used_bytes=32.0)


# A sum per block, by 8,388,608 threads that load a word each and meet in shared memory.
WORD_EACH = replace(
    STREAM,
    kernel="sums_of_segments(const float *, float *)",
    static_shared=1024,
    stalls={"long_scoreboard": 0.35, "short_scoreboard": 0.28},
    instructions=18e6,
    sm_busy=0.7,
    issue_busy=0.55,
    l1_busy=0.8,
    dram_busy=0.28,
    l2_busy=0.3,
    global_loads=words(262_144.0),
    global_stores=NONE,
    shared_loads=SharedRequests(requests=3e6),
    shared_stores=SharedRequests(requests=1.8e6),
)
# A product of a library in FP32 on ordinary units.
SINGLE = replace(
    STREAM,
    kernel="sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3",
    block=(128, 1, 1),
    registers=255,
    dynamic_shared=33_792,
    waves=2.9,
    seconds=500e-6,
    stalls={"short_scoreboard": 0.14},
    instructions=4e8,
    sm_busy=0.84,
    issue_busy=0.84,
    pipes={"fma": 0.73},
    float_instructions={"ffma": 0.87 * 32 * 4e8},
    fp32_of_peak=0.73,
    dram_busy=0.05,
    l2_busy=0.3,
    l1_busy=0.4,
    shared_loads=SharedRequests(requests=2e7),
)
# Shared memory of which 6 blocks fit, where loads are waited for near the roof of device memory.
NEAR = replace(
    STREAM, block=(128, 1, 1), registers=32, dynamic_shared=33_280, waves=41.0, grid=(32768, 1, 1),
    dram_busy=0.64, l2_busy=0.68, stalls={"long_scoreboard": 0.65},
)  # fmt: skip
# A table of 96 KiB per block: two blocks fit, and the grid is made to that measure.
TABLE = replace(
    STREAM, dynamic_shared=98_304, grid=(264, 1, 1), waves=1.0, dram_busy=0.2, l2_busy=0.3,
    stalls={"long_scoreboard": 0.9},
)  # fmt: skip
# A stencil of 25 points at the roof of L1, which asks for each byte 25 times.
STENCIL = replace(
    STREAM,
    kernel="wave(const float *, float *)",
    stalls={"long_scoreboard": 0.36, "lg_throttle": 0.2},
    instructions=36e6,
    l1_busy=0.66,
    l2_busy=0.6,
    dram_busy=0.35,
    l1_load_hit_rate=0.62,
    l1_hit_rate=0.6,
    global_loads=WarpRequests(requests=10.7e6, sectors=43e6, used_bytes=29.0),
    global_sectors=45e6,
    global_sectors_ideal=42e6,
)
UNCOUNTED_STENCIL = replace(
    STENCIL,
    memory_pipes_busy=0.56,
    dram_read=None,
    dram_written=None,
    l1_load_hit_rate=None,
    global_loads=WarpRequests(used_bytes=29.0),
    global_stores=WarpRequests(),
    local_loads=WarpRequests(),
    local_stores=WarpRequests(),
)
# Attention by tiles of 16 x 16, whose tensor instructions load what each of them needs.
SMALL_TILES = replace(
    STREAM,
    kernel="attention(const __half *, const __half *, float *)",
    dynamic_shared=6656,
    stalls={"short_scoreboard": 0.49},
    sm_busy=0.4,
    issue_busy=0.4,
    l1_busy=0.8,
    l2_busy=0.2,
    dram_busy=0.02,
    elapsed_cycles=150_000.0,
    pipes={"tensor": 0.1},
    tensor_operations={NumberType.FP16: 4096e6},
    shared_wavefronts=5.1e6,
    shared_wavefronts_ideal=5.1e6,
)
# Stores that fill sectors in part, while warps wait for loads.
PADDED = replace(
    STREAM,
    l2_busy=0.45,
    dram_busy=0.4,
    global_sectors=4e6,
    global_sectors_ideal=2.6e6,
    global_stores=WarpRequests(requests=131_072.0, sectors=16 * 131_072.0, used_bytes=19.0),
)
# A tile whose columns conflict, at the roof of L1.
TILE = replace(
    STREAM,
    static_shared=8192,
    stalls={"short_scoreboard": 0.3},
    l1_busy=0.8,
    l2_busy=0.6,
    dram_busy=0.55,
    shared_wavefronts=14e6,
    shared_wavefronts_ideal=2e6,
)
LOCAL = replace(
    STREAM,
    kernel="nearest(const float2 *, float *)",
    memory_pipes_busy=0.2,
    issue_busy=0.3,
    sm_busy=0.3,
    l1_busy=0.3,
    l1_hit_rate=0.97,
    spill_requests=0.0,
    local_loads=WarpRequests(used_bytes=2.0),
    local_stores=WarpRequests(),
    global_loads=WarpRequests(),
    global_stores=WarpRequests(),
    global_sectors=None,
    global_sectors_ideal=None,
)
# As many instructions to memory as nine in ten sectors or more cannot be: 4.5 million.
FEW_GLOBAL = replace(
    STREAM,
    memory_pipes_busy=0.2,
    global_sectors=0.44e6,
    global_sectors_ideal=0.1e6,
    global_loads=WarpRequests(requests=20_000.0, sectors=0.22e6, used_bytes=8.0),
    global_stores=WarpRequests(requests=20_000.0, sectors=0.22e6, used_bytes=8.0),
)
COPIES = replace(
    STREAM,
    global_loads=WarpRequests(requests=0.25e6, sectors=4e6, used_bytes=0.0),
    global_stores=NONE,
    global_sectors=4e6,
    global_sectors_ideal=1e6,
)
COPIES_UNNAMED = replace(
    STREAM,
    dynamic_shared=18_432,
    rules=(ProfilerRule(name="SOLBottleneck", kind="OPT", message=""),),
    l2_busy=0.6,
    global_loads=WarpRequests(),
    global_stores=WarpRequests(used_bytes=16.0),
    global_sectors=4e6,
    global_sectors_ideal=2.05e6,
)
# Loads use 8.3 and stores 10.7 bytes of a sector, and no warp waits for stores.
HALF_WARPS = replace(
    COPIES_UNNAMED,
    dynamic_shared=0,
    l2_busy=0.2,
    global_loads=WarpRequests(used_bytes=8.3),
    global_stores=WarpRequests(used_bytes=10.7),
    global_sectors_ideal=1.4e6,
)
# A page without counts at the roof of device memory, which moves the 64 MB that are needed.
MERGED = replace(
    STREAM,
    dram_busy=0.8,
    dram_bytes=79e6,
    global_loads=WarpRequests(),
    global_stores=WarpRequests(used_bytes=10.7),
    global_sectors=4e6,
    global_sectors_ideal=2e6,
)
UNEVEN = replace(
    STREAM,
    stalls={"wait": 0.44},
    issue_busy=0.52,
    dram_busy=0.01,
    waves=0.5,
    seconds=600e-6,
    sm_cycles=CycleSpread(mean=82.0, most=100.0),
)
WORDS = WarpRequests(requests=524_288.0, sectors=4 * 524_288.0, used_bytes=32.0)
# Numbers of one byte by threads that each look for one.
HALVES = replace(
    STREAM,
    stalls={"long_scoreboard": 0.52},
    issue_busy=0.59,
    instructions=22e6,
    global_loads=BYTE_PAIRS,
)
FEW_BYTES = WarpRequests(requests=10.7e6, sectors=43e6, used_bytes=15.0)
# Rows of a sparse matrix, column by column: what is gathered finds its neighbours in L1.
COLUMNS = replace(
    STREAM,
    kernel="ell(const int *, const float *, const float *, float *)",
    dram_busy=0.7,
    l1_load_hit_rate=0.75,
    l1_hit_rate=0.75,
    global_loads=WarpRequests(requests=1.2e6, sectors=13e6, used_bytes=11.4),
)


def conversions(share: float) -> dict[str, float]:
    """Return counts of *share* multiply-adds per instruction of 5e6, and two conversions for each."""
    return {"ffma": share * 32 * 5e6, "hadd": 2 * share * 32 * 5e6}


# A product by tiles of 16 x 16 at the roof of shared memory.
CONVERTED = replace(
    STREAM,
    kernel="my_gemm(const __half *, const __half *, float *)",
    static_shared=1024,
    stalls={"mio_throttle": 0.21},
    l1_busy=0.9,
    dram_busy=0.01,
    l2_busy=0.24,
    pipes={"fma": 0.43},
    float_instructions=conversions(0.144),
    fp32_of_peak=0.13,
    global_loads=BYTE_PAIRS,
    shared_loads=SharedRequests(requests=1.2e6),
)


@pytest.mark.parametrize(
    ("profile", "rule", "expected"),
    [
        # What passes through shared memory once still streams; a tile that is used again does not.
        (LAYOUT, "narrow-loads", "medium"),
        (replace(LAYOUT, shared_loads=SharedRequests(requests=0.8e6)), "narrow-loads", None),
        (replace(LAYOUT, dram_busy=0.64), "narrow-loads", "medium"),
        (replace(LAYOUT, dram_busy=0.66, l2_busy=0.7), "narrow-loads", None),
        (replace(LAYOUT, shared_loads=SharedRequests(), shared_atomics=524_288.0,
                 shared_stores=SharedRequests()), "narrow-loads", "medium"),
        # One word per thread, added up in its block: at issue slots that other loads leave nothing to win.
        (WORD_EACH, "narrow-loads", "medium"),
        (replace(WORD_EACH, instructions=26e6), "narrow-loads", "medium"),
        (replace(WORD_EACH, instructions=27e6), "narrow-loads", None),
        (replace(WORD_EACH, global_loads=words(288_000.0)), "narrow-loads", "medium"),
        (replace(WORD_EACH, global_loads=words(290_000.0)), "narrow-loads", None),
        (replace(WORD_EACH, stalls={"barrier": 0.35}), "narrow-loads", None),
        (replace(WORD_EACH, instructions=12e6, shared_loads=SharedRequests(requests=0.0),
                 shared_stores=SharedRequests(requests=0.0)), "narrow-loads", "low"),
        # A library's FP32 product, and when TF32 is no answer.
        (SINGLE, "unused-tensor-cores", "medium"),
        (replace(SINGLE, seconds=19e-6), "unused-tensor-cores", "low"),
        (replace(SINGLE, seconds=21e-6), "unused-tensor-cores", "medium"),
        (replace(SINGLE, kernel="my_product(float *)"), "unused-tensor-cores", "medium"),
        (replace(SINGLE, pipes={"fma": 0.1, "tensor": 0.4}), "unused-tensor-cores", None),
        # The last wave of such a product: another unit shortens it as well.
        (replace(SINGLE, waves=1.5, sm_busy=0.5, issue_busy=0.5, pipes={"fma": 0.4},
                 sm_cycles=CycleSpread(mean=75.0, most=100.0)), "unused-tensor-cores", "medium"),
        # Warps near the roof of device memory.
        (NEAR, "low-occupancy", "medium"),
        (replace(NEAR, dram_busy=0.74), "low-occupancy", "medium"),
        (replace(NEAR, dram_busy=0.76), "low-occupancy", None),
        (replace(NEAR, stalls={"long_scoreboard": 0.59}), "low-occupancy", None),
        (replace(NEAR, issue_busy=0.61), "low-occupancy", None),
        # A grid made to measure grows with what fits; one of fewer blocks does not.
        (TABLE, "low-occupancy", "medium"),
        (replace(TABLE, grid=(263, 1, 1)), "low-occupancy", None),
        # The wait for loads, weighed by what it can win.
        (STREAM, "latency-bound", "medium"),
        (replace(STREAM, seconds=10.1e-6), "latency-bound", "medium"),
        (replace(STREAM, seconds=9.9e-6), "latency-bound", "low"),
        (replace(STREAM, dram_busy=0.56), "latency-bound", "medium"),
        (replace(STREAM, dram_busy=0.58, stalls={"long_scoreboard": 0.79}), "latency-bound", "low"),
        (replace(STREAM, dram_busy=0.58), "latency-bound", "medium"),
        (replace(STREAM, dram_busy=0.7), "latency-bound", "medium"),
        (replace(STREAM, dram_busy=0.72), "latency-bound", None),
        (replace(STREAM, dram_busy=0.7, stalls={"long_scoreboard": 0.79}), "latency-bound", None),
        (replace(STREAM, dram_busy=0.7, issue_busy=0.61), "latency-bound", None),
        (replace(STREAM, dram_busy=0.4, l2_busy=0.72), "latency-bound", "medium"),
        (replace(STREAM, dram_busy=0.58, l2_busy=0.72), "latency-bound", "low"),
        (replace(STREAM, dram_busy=0.51, stalls={"long_scoreboard": 0.69}), "latency-bound", "low"),
        # Bytes that the caches serve again and again.
        (STENCIL, "redundant-global-loads", "medium"),
        (replace(STENCIL, dram_read=420e6), "redundant-global-loads", None),
        (replace(STENCIL, dram_read=410e6), "redundant-global-loads", "medium"),
        # what L1 has of sectors used in part may be their other words
        (replace(STENCIL, global_loads=FEW_BYTES, l1_load_hit_rate=0.69, dram_read=60e6),
         "redundant-global-loads", None),
        (replace(STENCIL, global_loads=FEW_BYTES, l1_load_hit_rate=0.71, dram_read=60e6),
         "redundant-global-loads", "medium"),
        (replace(STENCIL, global_loads=FEW_BYTES, l1_load_hit_rate=0.71, dram_read=70e6),
         "redundant-global-loads", None),
        (replace(STENCIL, global_loads=replace(FEW_BYTES, used_bytes=17.0), l1_load_hit_rate=0.71),
         "redundant-global-loads", "medium"),
        (replace(STENCIL, global_loads=replace(FEW_BYTES, used_bytes=19.0)),
         "redundant-global-loads", None),
        (replace(STENCIL, global_loads=replace(FEW_BYTES, used_bytes=21.0)),
         "redundant-global-loads", "medium"),
        (replace(COLUMNS, dram_read=50e6), "redundant-global-loads", None),
        (replace(COLUMNS, dram_read=49e6), "redundant-global-loads", "medium"),
        (replace(STENCIL, l1_busy=0.59), "redundant-global-loads", None),
        # As many bytes pass shared memory as loads bring, 128 a time: a tile.
        (replace(STENCIL, shared_wavefronts_ideal=9.7e6), "redundant-global-loads", "medium"),
        (replace(STENCIL, shared_wavefronts_ideal=9.8e6), "redundant-global-loads", None),
        # Asynchronous copies fill a tile as well; what a thread keeps for itself is no tile's.
        (replace(STENCIL, global_loads=replace(FEW_BYTES, used_bytes=0.0)), "redundant-global-loads",
         None),
        (replace(STENCIL, local_loads=WarpRequests(requests=11e6)), "redundant-global-loads", None),
        # Beside issue slots that are busier than L1.
        (replace(STENCIL, issue_busy=0.67), "redundant-global-loads", "medium"),
        (replace(STENCIL, issue_busy=0.67, l1_busy=0.61), "redundant-global-loads", "medium"),
        (replace(STENCIL, issue_busy=0.67, l1_busy=0.59, l2_busy=0.59, stalls={"lg_throttle": 0.2}),
         "redundant-global-loads", None),
        (replace(STENCIL, issue_busy=0.67, dram_busy=0.61), "redundant-global-loads", None),
        # A page that has the sectors which all accesses need, and the bytes that device memory moved.
        (UNCOUNTED_STENCIL, "redundant-global-loads", "medium"),
        (replace(UNCOUNTED_STENCIL, dram_bytes=440e6), "redundant-global-loads", "medium"),
        (replace(UNCOUNTED_STENCIL, dram_bytes=455e6), "redundant-global-loads", None),
        (replace(UNCOUNTED_STENCIL, static_shared=1024), "redundant-global-loads", None),
        (replace(UNCOUNTED_STENCIL, local_loads=WarpRequests(used_bytes=2.0)),
         "redundant-global-loads", None),
        # Products on tensor cores that load both operands of each instruction anew: 5 of 6 passes.
        (SMALL_TILES, "redundant-global-loads", "medium"),
        (replace(SMALL_TILES, shared_wavefronts_ideal=4.9e6), "redundant-global-loads", None),
        (replace(SMALL_TILES, shared_wavefronts=25e6), "redundant-global-loads", None),
        (replace(SMALL_TILES, l1_busy=0.59), "redundant-global-loads", None),
        (replace(SMALL_TILES, tensor_operations={NumberType.TF32: 4096e6}), "redundant-global-loads",
         None),
        # Wasteful stores for which nothing waits, and for which L2 has no room.
        (PADDED, "uncoalesced-access", None),
        (replace(PADDED, l2_busy=0.51), "uncoalesced-access", "high"),
        (replace(PADDED, stalls={"lg_throttle": 0.5}), "uncoalesced-access", "high"),
        # Conflicts beside L2 and device memory at their roofs, for which warps wait at least as long.
        (TILE, "bank-conflicts", "medium"),
        (replace(TILE, l2_busy=0.76, dram_busy=0.61), "bank-conflicts", "medium"),
        (replace(TILE, l2_busy=0.76, dram_busy=0.61, stalls={"short_scoreboard": 0.3,
                 "long_scoreboard": 0.31}), "bank-conflicts", "low"),
        (replace(TILE, l2_busy=0.74, dram_busy=0.59), "bank-conflicts", "medium"),
        # Arrays in local memory, where a page speaks of them and counts spills alone.
        (LOCAL, "register-spills", "high"),
        (replace(LOCAL, l1_hit_rate=0.84), "register-spills", None),
        (replace(LOCAL, l1_hit_rate=0.5, global_sectors_ideal=4e6), "register-spills", "high"),
        (replace(LOCAL, l1_hit_rate=0.5, global_sectors_ideal=4.3e6), "register-spills", "low"),
        (replace(LOCAL, l1_hit_rate=0.5, global_sectors_ideal=4.5e6), "register-spills", None),
        # Sectors in excess that are hardly any of the requests to memory.
        (FEW_GLOBAL, "uncoalesced-access", None),
        (replace(FEW_GLOBAL, global_sectors=0.46e6), "uncoalesced-access", "high"),
        # Asynchronous copies, whose used bytes pages count as 0.
        (COPIES, "uncoalesced-access", "high"),
        (COPIES, "wasted-throughput", None),
        (replace(COPIES, global_sectors_ideal=3.6e6), "uncoalesced-access", None),
        # A page that names stores alone, which would have to move 95 % of all sectors: copies to shared memory.
        (COPIES_UNNAMED, "uncoalesced-access", None),
        (COPIES_UNNAMED, "wasted-throughput", None),
        (replace(COPIES_UNNAMED, global_sectors_ideal=2.11e6), "uncoalesced-access", "high"),
        (replace(COPIES_UNNAMED, dynamic_shared=0), "uncoalesced-access", "high"),
        # Less excess than loads or stores alone have: no part of it can be told to be one's.
        (HALF_WARPS, "uncoalesced-access", "high"),
        (replace(HALF_WARPS, global_sectors_ideal=1.36e6), "uncoalesced-access", None),
        # Sectors in excess that device memory does not move.
        (MERGED, "wasted-throughput", None),
        (MERGED, "uncoalesced-access", None),
        (replace(MERGED, dram_bytes=81e6), "uncoalesced-access", "high"),
        # Blocks of which some run for longer, be it in one wave or in several.
        (UNEVEN, "load-imbalance", "medium"),
        (replace(UNEVEN, sm_cycles=CycleSpread(mean=84.0, most=100.0)), "load-imbalance", None),
        (replace(UNEVEN, waves=3.9), "load-imbalance", "medium"),
        (replace(UNEVEN, seconds=19e-6), "load-imbalance", None),
        (replace(UNEVEN, issue_busy=0.61), "load-imbalance", None),
        # One or two bytes at a time, whose addresses keep schedulers busy.
        (HALVES, "narrow-loads", "medium"),
        (replace(HALVES, issue_busy=0.69), "narrow-loads", "medium"),
        (replace(HALVES, issue_busy=0.71), "narrow-loads", None),
        (replace(HALVES, issue_busy=0.69, stalls={"long_scoreboard": 0.49}), "narrow-loads", None),
        (replace(HALVES, global_loads=WORDS), "narrow-loads", "low"),
        (replace(HALVES, global_loads=WORDS, issue_busy=0.69), "narrow-loads", None),
        # Half of the warps, where no further block follows.
        (replace(HALVES, waves=0.9, achieved_occupancy=0.49), "narrow-loads", None),
        (replace(HALVES, waves=0.9, achieved_occupancy=0.51), "narrow-loads", "medium"),
        (replace(HALVES, waves=9.0, achieved_occupancy=0.41), "narrow-loads", "medium"),
        (replace(HALVES, waves=9.0, achieved_occupancy=0.39), "narrow-loads", None),
        # A product of 16-bit numbers that are turned into 32 bits on the way.
        (CONVERTED, "unused-tensor-cores", "medium"),
        (CONVERTED, "library-available", None),
        (replace(CONVERTED, float_instructions=conversions(0.142)), "unused-tensor-cores", None),
        (replace(CONVERTED, global_loads=WORDS), "unused-tensor-cores", None),
        (replace(CONVERTED, global_loads=WORDS, float_instructions=conversions(0.21)),
         "unused-tensor-cores", None),  # in FP32, low and said by library-available
        (replace(LOCAL, l1_busy=0.24), "register-spills", None),
        (replace(LOCAL, static_shared=1024), "register-spills", None),
        (replace(LOCAL, local_loads=WarpRequests()), "register-spills", None),
    ],
)  # fmt: skip
def test_edges(profile: KernelProfile, rule: str, expected: str | None) -> None:
    assert priority(profile, rule) == expected


def test_tf32_is_offered_where_it_is_faster() -> None:
    assert priority(SINGLE, "unused-tensor-cores", "a100-sxm4-80gb") == "medium"
    assert priority(SINGLE, "unused-tensor-cores", "rtx-4090") is None
    assert priority(SINGLE, "unused-tensor-cores", "v100-sxm2-32gb") is None


@pytest.mark.parametrize(
    ("name", "single", "tf32"),
    [
        ("ampere_sgemm_128x64_nn", True, True),
        (
            "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(T1::Params)",
            True,
            True,
        ),
        ("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw", True, True),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16", False, False),
        ("cutlass_80_tensorop_s1688gemm_128x128", False, False),
        ("void implicit_convolve_sgemm<float, float, 128>(int)", True, False),
        ("my_sgemm(float *)", True, False),
        ("matmul_kernel", False, True),
        ("matmul(float *)", False, False),
    ],
)
def test_names_of_single_precision(name: str, single: bool, tf32: bool) -> None:
    assert in_single_precision(name) == single
    assert could_use_tf32(name) == tf32


@pytest.mark.parametrize(
    ("name", "double", "unaligned"),
    [
        ("cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1", True, False),
        ("sm90_xmma_gemm_f64f64_f64f64_f64_nt_n_tilesize64x64x16_stage4", True, False),
        ("volta_dgemm_64x64_nn", True, False),
        (
            "void cudnn::cnn::wgrad_alg0_engine<128, 5, false>(int, double const*, double*)",
            True,
            False,
        ),
        (
            "void cudnn::cnn::wgrad_alg0_engine<128, 5, false>(int, float const*, double)",
            False,
            False,
        ),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize64x64x32", False, False),
        ("cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nt_align1", False, True),
        ("cutlass_75_tensorop_f16_s1688gemm_f16_128x128_tn_align2::Params", False, True),
        ("cutlass_80_tensorop_bf16_s16816gemm_bf16_256x64_32x4_tn_align8", False, False),
        ("cutlass_80_simt_sgemm_256x128_8x4_nn_align1", False, False),
    ],
)
def test_names_of_double_precision_and_of_unaligned_rows(
    name: str, double: bool, unaligned: bool
) -> None:
    assert in_double_precision(name) == double
    assert loads_single_halves(name) == unaligned


@pytest.mark.parametrize(
    ("name", "is_fused"),
    [
        ("void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(Flash_fwd_params)", True),
        (
            "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel)",
            True,
        ),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128", True),
        ("void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, c10::BFloat16>", False),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", False),
    ],
)
def test_names_of_fused_attention(name: str, is_fused: bool) -> None:
    assert is_fused_attention(name) == is_fused


def products(*shapes: tuple[int, int, int, int]) -> tuple[TracedProduct, ...]:
    return tuple(
        TracedProduct(rows=m, inner=k, columns=n, batch=batch, dtype="bfloat16", seconds=0.02)
        for batch, m, k, n in shapes
    )


@pytest.mark.parametrize(
    ("shapes", "rules"),
    [
        # Queries with keys, and scores with values: the odd side is the sequence.
        ([(96, 3137, 64, 3137), (96, 3137, 3137, 64)], ["unfused-attention"]),
        (
            [(8, 1, 128, 4096), (8, 1, 4096, 128)],
            ["odd-gemm-shape"],
        ),  # one query: no scores to speak of
        ([(1, 4096, 64, 4096), (1, 4096, 4096, 64)], ["odd-gemm-shape"]),  # weights
        ([(8, 4096, 1024, 4096), (8, 4096, 4096, 1024)], ["odd-gemm-shape"]),  # experts
        ([(96, 3137, 64, 3137)], ["odd-gemm-shape"]),
        # So many rows of a batch and a sequence are nobody's stride.
        ([(1, 25089, 768, 3072)], ["odd-gemm-shape"]),
    ],
)
def test_attention_is_told_by_its_two_products(
    shapes: list[tuple[int, int, int, int]], rules: list[str]
) -> None:
    run = TracedRun(span_seconds=0.1, unaligned_seconds=0.03, products=products(*shapes))
    told = {rule: rule_of(rule).check(run) for rule in ("unfused-attention", "odd-gemm-shape")}
    assert [rule for rule, verdict in told.items() if isinstance(verdict, Advice)] == rules
    if rules == ["odd-gemm-shape"]:
        advice = told["odd-gemm-shape"]
        assert isinstance(advice, Advice)
        assert ("3137 x 64 by 64 x 3137" in advice.message) == (shapes == [(96, 3137, 64, 3137)])
        assert "25089" not in advice.message


@pytest.mark.parametrize(
    ("line", "rule", "priority"),
    [
        (
            TracedRun(span_seconds=0.1, busy_seconds=0.1, double_precision_seconds=0.0101),
            "fp64-products",
            "medium",
        ),
        (TracedRun(span_seconds=0.1, double_precision_seconds=0.0099), "fp64-products", None),
        (TracedRun(span_seconds=0.1, layout_seconds=0.0101), "layout-conversions", "medium"),
        (TracedRun(span_seconds=0.1, layout_seconds=0.0099), "layout-conversions", None),
        (TracedRun(span_seconds=0.1, unaligned_seconds=0.0051), "odd-gemm-shape", "low"),
        (TracedRun(span_seconds=0.1, unaligned_seconds=0.03), "odd-gemm-shape", "medium"),
        (TracedRun(span_seconds=0.1, unaligned_seconds=0.0049), "odd-gemm-shape", None),
        (TracedRun(span_seconds=0.1, elementwise_seconds=0.0301), "memory-bound", "medium"),
        (TracedRun(span_seconds=0.1, elementwise_seconds=0.0299), "memory-bound", "low"),
        (TracedRun(span_seconds=0.1, elementwise_seconds=0.0099), "memory-bound", None),
    ],
)
def test_slow_kernels_of_a_run_by_their_names(
    line: TracedRun, rule: str, priority: str | None
) -> None:
    report = run(RULES, Facts(device=find("h100-sxm"), timeline=line))
    assert next((f.priority for f in report.findings if f.rule.id == rule), None) == priority


def test_a_wait_that_wins_more_than_the_louder_fault_stays() -> None:
    lanes = replace(
        STREAM, active_threads=15.0, unpredicated_threads=15.0, issue_busy=0.36, sm_busy=0.36
    )
    both = findings(replace(lanes, dram_busy=0.2, l2_busy=0.2))
    assert {"divergent-branches", "latency-bound"} <= set(both)
    assert both["latency-bound"].bound >= 1.25 * both["divergent-branches"].bound
    alone = findings(replace(lanes, dram_busy=0.45, l2_busy=0.5))
    assert "divergent-branches" in alone
    assert "latency-bound" not in alone


COLUMNS = replace(
    STREAM,
    stalls={"lg_throttle": 0.8},
    l1_busy=0.95,
    dram_busy=0.01,
    l2_busy=0.2,
    l1_load_hit_rate=0.9,
    global_sectors=40e6,
    global_sectors_ideal=4e6,
    global_loads=WarpRequests(requests=2e6, sectors=32e6, used_bytes=4.0),
)


def test_a_bound_counts_all_that_one_repair_saves() -> None:
    # 16 lines per request, each found again 9 times of 10: a tile saves both.
    longer = replace(COLUMNS, seconds=10 * (COLUMNS.seconds or 0.0))
    assert findings(longer)["uncoalesced-access"].bound > 100
    uncounted = replace(
        COLUMNS, global_loads=WarpRequests(used_bytes=4.0), global_stores=WarpRequests()
    )
    assert findings(uncounted)["uncoalesced-access"].bound > 32
    # An array that is indexed by a variable costs its addresses and loops too.
    counted = replace(
        LOCAL, stalls={"long_scoreboard": 0.6}, dram_busy=0.01, l2_busy=0.6, issue_busy=0.36,
        local_loads=WarpRequests(requests=0.5e6), local_stores=WarpRequests(requests=0.3e6),
    )  # fmt: skip
    arrays = findings(counted)["register-spills"].bound
    spills = findings(replace(counted, spill_requests=0.8e6))["register-spills"].bound
    assert arrays > spills > 2.7
    # Blocks of half a warp: full warps need half of the instructions, and share what L1 has.
    halves = replace(STREAM, block=(16, 1, 1), dram_busy=0.06, l2_busy=0.45, l1_busy=0.44)
    assert findings(halves)["tiny-blocks"].bound == pytest.approx(4.0)
    many = replace(halves, grid=(200_000, 1, 1))
    # Blocks of 256 threads are a sixteenth: what device memory moves bounds the gain before that.
    assert findings(many)["tiny-blocks"].bound == pytest.approx(10.0)


def test_a_page_without_counts_tells_multiply_adds_by_the_peak() -> None:
    said = (ProfilerRule(name="SOLFPRoofline", kind="INF", message=""),)
    page = replace(
        SINGLE, float_instructions={}, pipes={}, rules=said, fp32_of_peak=0.36, issue_busy=0.8
    )
    assert page.multiply_adds == pytest.approx(0.45)
    assert replace(page, capability=Capability(8, 0)).multiply_adds == pytest.approx(0.225)
    assert replace(page, rules=()).multiply_adds is None
    other = ProfilerRule(name="FPInstructions", kind="OPT", message="")
    assert replace(page, rules=(*said, other)).multiply_adds is None
    assert replace(page, memory_pipes_busy=0.8).memory_instructions == pytest.approx(0.25)
    assert page.memory_instructions is None


def test_stores_have_no_part_in_sectors_that_loads_explain() -> None:
    page = replace(
        STREAM,
        stalls={"lg_throttle": 0.5},
        l1_hit_rate=0.6,
        l1_load_hit_rate=None,
        global_loads=WarpRequests(used_bytes=18.0),
        global_stores=WarpRequests(used_bytes=4.0),
        global_sectors=5.4e6,
        global_sectors_ideal=3.1e6,
    )
    assert "uncoalesced-access" not in findings(page)
    assert "uncoalesced-access" in findings(replace(page, global_sectors_ideal=2.7e6))


def test_the_caches_of_code_and_constants_are_said_earlier() -> None:
    code = replace(STREAM, stalls={"no_instruction": 0.31}, dram_busy=0.1, l2_busy=0.1)
    assert priority(code, "latency-bound") == "medium"
    assert priority(replace(code, stalls={"imc_miss": 0.31}), "latency-bound") == "medium"
    assert priority(replace(code, stalls={"no_instruction": 0.29}), "latency-bound") is None
    assert priority(replace(code, stalls={"wait": 0.39}), "latency-bound") is None


def test_half_precision_products_name_the_library_beside_the_tensor_cores() -> None:
    found = findings(CONVERTED)["unused-tensor-cores"]
    assert found.advice.also == ("library-available",)
    # 16 times the FP32 peak, of which 13 % are reached; L2 and what is left bound it first.
    assert 30 < found.bound < 16 / 0.13
    single = findings(replace(CONVERTED, global_loads=WORDS, float_instructions=conversions(0.21)))
    assert single["library-available"].advice.also == ("unused-tensor-cores",)


def test_half_precision_sums_are_other_operations_than_conversions() -> None:
    assert CONVERTED.multiply_adds == pytest.approx(0.144)
    sums = replace(CONVERTED, float_instructions={"hfma": 2e7, "ffma": 1e7, "hadd": 2e7})
    assert sums.multiply_adds is None
    assert replace(sums, float_instructions={"hfma": 2e7, "hadd": 1e6}).multiply_adds is not None


def test_bytes_that_stay_on_the_chip_are_a_fault_beside_uncoalesced_ones() -> None:
    state = replace(
        STREAM,
        stalls={"long_scoreboard": 0.93},
        l2_busy=0.85,
        dram_busy=0.01,
        dram_read=1e6,
        l2_hit_rate=0.99,
        global_sectors=17.8e6,
        global_sectors_ideal=5.9e6,
        global_loads=WarpRequests(requests=0.84e6, sectors=10.1e6, used_bytes=10.7),
    )
    both = findings(state)
    assert {"uncoalesced-access", "redundant-global-loads"} <= set(both)
    assert both["redundant-global-loads"].bound >= 1.25 * both["uncoalesced-access"].bound
    assert "redundant-global-loads" not in findings(replace(state, pipes={"fp64": 0.3}))


@pytest.mark.parametrize(("used_bytes", "reused"), [(7.9, False), (8.1, True)])
def test_words_that_lie_alone_in_sectors_are_no_tile(used_bytes: float, reused: bool) -> None:
    jumps = replace(
        STREAM,
        stalls={"long_scoreboard": 0.93},
        l2_busy=0.85,
        dram_busy=0.01,
        l2_hit_rate=0.97,
        dram_read=20e6,
        global_loads=WarpRequests(requests=0.5e6, sectors=10e6, used_bytes=used_bytes),
    )
    assert ("redundant-global-loads" in findings(jumps)) == reused


def test_conflicts_at_the_roof_of_l1_are_no_loads_from_l2() -> None:
    tiles = replace(
        STREAM,
        stalls={"long_scoreboard": 0.46},
        l1_busy=0.84,
        l2_busy=0.33,
        dram_busy=0.04,
        l2_hit_rate=0.94,
        elapsed_cycles=1e6,
        shared_wavefronts_ideal=14e6,
        shared_wavefronts=14e6 + 54e6,
    )
    assert priority(tiles, "redundant-global-loads") == "medium"
    conflicts = replace(tiles, shared_wavefronts=14e6 + 57e6)
    assert priority(conflicts, "redundant-global-loads") is None


def test_conflicts_of_atomics_are_not_padded() -> None:
    counters = replace(TILE, shared_atomics=5e5)
    assert "copy of the counters" in findings(counters)["bank-conflicts"].advice.action
    loads = replace(counters, shared_loads=SharedRequests(requests=6e5, wavefronts=6e5))
    assert "pad" in findings(loads)["bank-conflicts"].advice.action


def test_narrow_loads_are_no_second_word_on_spills_and_mixed_waits() -> None:
    mixed = replace(LAYOUT, stalls={"long_scoreboard": 0.39, "barrier": 0.3})
    assert priority(mixed, "narrow-loads") is None
    assert priority(replace(mixed, stalls={"long_scoreboard": 0.41}), "narrow-loads") == "medium"
    words = replace(
        STREAM,
        global_loads=WarpRequests(requests=524_288.0, sectors=4 * 524_288.0, used_bytes=32.0),
    )
    assert priority(words, "narrow-loads") == "medium"
    spilling = replace(
        words,
        spill_requests=1e6,
        local_loads=WarpRequests(requests=1e6, sectors=4e6, used_bytes=32.0),
    )
    assert priority(spilling, "register-spills") == "high"
    assert priority(spilling, "narrow-loads") is None


def test_sectors_beside_conflicts_stay_where_they_win_clearly_more() -> None:
    both = replace(
        TILE,
        l2_busy=0.3,
        dram_busy=0.1,
        shared_wavefronts=6e6,
        global_sectors=20e6,
        global_sectors_ideal=2e6,
        global_loads=WarpRequests(requests=5e5, sectors=16e6, used_bytes=4.0),
    )
    found = findings(both)
    assert {"uncoalesced-access", "bank-conflicts"} <= set(found)
    assert found["uncoalesced-access"].bound >= 1.25 * found["bank-conflicts"].bound


def test_a_page_that_counts_local_requests_alone_shows_spills() -> None:
    counted = replace(STREAM, local_loads=WarpRequests(requests=1e6, sectors=4e6, used_bytes=32.0))
    assert counted.spill_requests is None
    assert priority(counted, "register-spills") == "high"
    assert priority(STREAM, "register-spills") is None


@pytest.mark.parametrize(
    ("profile", "for_loads"),
    [
        (replace(STREAM, dram_busy=0.74), 0.8),
        (replace(STREAM, dram_busy=0.75), None),
        (replace(STREAM, dram_busy=0.74, stalls={"long_scoreboard": 0.6}), 0.6),
        (replace(STREAM, dram_busy=0.74, stalls={"long_scoreboard": 0.59}), None),
        (replace(STREAM, dram_busy=0.74, stalls={"barrier": 0.8}), None),
        (replace(STREAM, dram_busy=0.74, sm_busy=0.61), None),
        (replace(STREAM, dram_busy=0.74, l2_busy=0.79), 0.8),
        (replace(STREAM, dram_busy=0.74, l2_busy=0.8), None),
    ],
)
def test_more_loads_under_way_help_below_what_loads_reach(
    profile: KernelProfile, for_loads: float | None
) -> None:
    limiter = limiter_of(profile)
    assert limiter == AtRoof(unit="dram", share=profile.dram_busy or 0.0, for_loads=for_loads)
    assert ("more loads under way" in limit_sentence(limiter)) == (for_loads is not None)
    assert admits(limiter, Family.RESIDENCY) == (for_loads is not None)


# Sums of many threads in few sectors, by a page that counts sectors in all and names none of loads and stores.
UNCOUNTED_SUMS = replace(
    STREAM,
    stalls={"lg_throttle": 0.6},
    l2_busy=0.7,
    dram_busy=0.05,
    dram_read=None,
    dram_written=None,
    dram_bytes=64e6,
    global_sectors=16e6,
    global_sectors_ideal=8e6,
    global_loads=WarpRequests(),
    global_stores=WarpRequests(),
    global_reductions=WarpRequests(),
    global_atomics=WarpRequests(),
    rules=(ProfilerRule(name="SOLBottleneck", kind="OPT", message=""),),
)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (UNCOUNTED_SUMS, "medium"),
        (replace(UNCOUNTED_SUMS, dram_bytes=65e6), None),
        (replace(UNCOUNTED_SUMS, global_sectors_ideal=8.1e6), None),
        (replace(UNCOUNTED_SUMS, l2_busy=0.49), None),
        (replace(UNCOUNTED_SUMS, l2_busy=0.5), "medium"),
        (replace(UNCOUNTED_SUMS, stalls={"lg_throttle": 0.39}), None),
        (replace(UNCOUNTED_SUMS, stalls={"lg_throttle": 0.4}), "medium"),
        (replace(UNCOUNTED_SUMS, static_shared=1024), None),
        (replace(UNCOUNTED_SUMS, global_loads=WarpRequests(used_bytes=8.0)), None),
        (replace(UNCOUNTED_SUMS, global_stores=WarpRequests(used_bytes=8.0)), None),
        (replace(UNCOUNTED_SUMS, global_sectors=None), None),
        (replace(UNCOUNTED_SUMS, rules=()), None),
    ],
)
def test_sectors_that_no_load_or_store_explains_are_of_atomics(
    profile: KernelProfile, expected: str | None
) -> None:
    assert priority(profile, "atomic-contention") == expected
