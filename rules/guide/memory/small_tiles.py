"""Tiles so small that operands are fetched again for each few results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.levels import LONG_WAIT
from gpuadvise.advisor.facts.limiter import NEARLY_BUSY, AtRoof, UnknownLimiter
from gpuadvise.advisor.facts.reuse import FOUND, asked_again
from gpuadvise.advisor.facts.shared_memory import busy_with_conflicts
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import l1_hits, relieved, waits_for
from gpuadvise.advisor.memory.number_types import NumberType
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Undecided, Verdict, undecided
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

# What L1 misses and L2 has: each sector is asked for 10 times after it came from device memory,
# for a profiler empties the caches before each launch.
FOUND_IN_L2 = number(
    0.9,
    "found in L2",
    "share",
    "our judgement: 10 reads of each sector, where caches were emptied before",
    LaunchSet.RECORDED,
)
L2_BUSY = number(
    0.3,
    "L2 at work for loads that come again",
    "share of its peak",
    "our judgement",
    LaunchSet.RECORDED,
)
DRAM_IDLE = number(
    0.05, "device memory nearly idle", "share of its peak", "our judgement", LaunchSet.RECORDED
)
_GATHERED = number(
    8.0,
    "bytes used of a sector of which L2 has the rest",
    "bytes",
    "measured: 4.0 to 4.3 of random jumps, chains and rows of a sparse product; 10.7 of state that each step reads",
    LaunchSet.SEVENTH,
)
# Passes of shared memory per operation on tensor cores from which on hardly an operand stays in registers: an
# instruction of 16 x 8 x 16 halves (4,096 operations) takes 512 and 256 bytes, which are 6 passes. Measured are
# 6 to 8 with tiles of 16 x 16 to 32 x 32, and 1 with tiles of 128 x 128.
_INSTRUCTION = 16 * 16 * 16
ANEW = number(
    5,
    "passes of shared memory",
    "per 4,096 tensor operations in 16 bits",
    "an instruction of 16 x 8 x 16 takes 6; measured are 1 with large tiles",
    LaunchSet.FIFTH,
)
_OWN_INSTRUCTIONS = number(
    2.0, "work of Hopper's own tensor instructions per older one", "", "data sheets: twice the rate"
)
_TILE = number(
    8.0, "loads that a tile of 8 x 8 results per thread replaces with one", "", "arithmetic"
)
_CARRIES_LOADS = (Unit.L1_SHARED, Unit.LSU, Unit.L2)


def check(profile: KernelProfile, limiter: Limiter) -> Verdict:
    """Advise larger tiles where L2, or shared memory, brings the same operands again and again."""
    if asked_again(profile, limiter) is not None:
        return PASSED
    from_l2 = _reads_from_l2(profile, limiter)
    if isinstance(from_l2, Undecided):
        return from_l2
    if from_l2:
        return _read_again(profile)
    passes = operands_anew(profile, limiter)
    return PASSED if passes is None else _through_fragments(profile, passes)


def _reads_from_l2(profile: KernelProfile, limiter: Limiter) -> bool | Undecided:
    """Return whether L1 and L2 are busy with bytes that hardly come from device memory."""
    if isinstance(limiter, UnknownLimiter):
        return undecided("profile.compute_throughput")
    if not isinstance(limiter, AtRoof) and profile.l1_busy is None:
        return undecided("profile.l1_throughput")
    used, hit = profile.global_loads.used_bytes or 0.0, l1_hits(profile)
    if not isinstance(limiter, AtRoof) or limiter.unit not in _CARRIES_LOADS:
        return False
    if 0 < used < _GATHERED or (hit or 0.0) >= FOUND or profile.spill_requests:
        return False
    if limiter.unit != Unit.L2 and busy_with_conflicts(profile, limiter.share):
        return False
    if not waits_for(profile, Stall.LONG_SCOREBOARD, Stall.LG_THROTTLE, share=LONG_WAIT):
        return False if profile.stalls else undecided("profile.stalls")
    in_l2, l2, dram = profile.l2_hit_rate, profile.l2_busy, profile.dram_busy
    if in_l2 is None or l2 is None or dram is None or hit is None:
        return undecided("profile.l1_hit_rate", "profile.l2_hit_rate", "profile.l2_throughput")
    return in_l2 >= FOUND_IN_L2 and l2 >= L2_BUSY and dram <= DRAM_IDLE


def _read_again(profile: KernelProfile) -> Advice:
    hit_rate, dram = profile.l2_hit_rate or 0.0, profile.dram_busy or 0.0
    times = 1 / (1 - min(hit_rate, 0.999))
    relief = relieved(profile, 1e6, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.L2, Unit.ADU)
    if any(profile.tensor_operations.values()):  # all else works out where operands lie
        relief |= relieved(profile, _TILE, Unit.FMA, Unit.ALU)
        relief |= relieved(profile, _OWN_INSTRUCTIONS, Unit.TENSOR)
    return Advice(
        message=(
            f"L2 has {show_share(hit_rate)} of what blocks load, and device memory is {show_share(dram)} "
            f"busy: each sector is read about {show_number(times)} times from L2, while warps wait for it."
        ),
        action=(
            "Let a block compute a larger tile (64 x 64 or 128 x 128 results of a product, with 4 to 8 "
            "warps), so that what it loads once serves more results; in Triton, raise BLOCK_M and BLOCK_N."
        ),
        evidence=(
            profiled("L2 hit rate", hit_rate, "share"),
            profiled("L2 busy", profile.l2_busy or 0.0, "share"),
            profiled("device memory busy", dram, "share"),
        ),
        relief=relief | relieved(profile, _TILE, Unit.ISSUE, Unit.COMPUTE),
    )


def operands_anew(profile: KernelProfile, limiter: Limiter | None) -> float | None:
    """Return the passes of shared memory per operation on tensor cores where hardly an operand is used twice; else None."""
    counts = profile.tensor_operations
    if not counts or not isinstance(limiter, AtRoof) or (profile.dram_busy or 0.0) >= NEARLY_BUSY:
        return None
    halves = sum(counts.get(kind) or 0.0 for kind in (NumberType.FP16, NumberType.BF16))
    others = sum(count or 0.0 for count in counts.values()) - halves
    at_l1 = limiter.unit in (Unit.L1_SHARED, Unit.LSU)
    if not halves or others or not at_l1 or busy_with_conflicts(profile, profile.l1_busy or 0.0):
        return None
    passes = (profile.shared_wavefronts_ideal or 0.0) / halves
    return passes if passes * _INSTRUCTION >= ANEW else None


def _through_fragments(profile: KernelProfile, passes: float) -> Advice:
    busy = profile.l1_busy or 0.0
    relief = relieved(profile, 1e6, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.ADU)
    relief |= relieved(profile, _TILE, Unit.ISSUE, Unit.COMPUTE, Unit.L2, Unit.DRAM)
    return Advice(
        message=(
            f"Shared memory takes {show_number(passes * 4096)} passes per 4,096 operations on tensor cores, where an "
            f"instruction's own operands are 6, and L1 is {show_share(busy)} busy: hardly an operand is used twice."
        ),
        action=(
            "Let a warp compute a larger tile (32 x 64 results or more, 64 x 64 to 128 x 128 per block of 4 to 8 warps), "
            "so that what it loads once serves several instructions; in Triton, raise BLOCK_M and BLOCK_N."
        ),
        evidence=(
            derived("shared-memory passes per 4,096 tensor operations", passes * 4096, "passes"),
            profiled("L1 busy", busy, "share"),
        ),
        relief=relief | relieved(profile, _OWN_INSTRUCTIONS, Unit.TENSOR),
    )


def _tile(in_l2: float, dram: float = 0.02) -> dict[str, object]:
    return {
        "gpu": "h200",
        "profile": {
            "l1_throughput": 0.9,
            "l2_throughput": 0.5,
            "dram_throughput": dram,
            "l1_hit_rate": 0.3,
            "l2_hit_rate": in_l2,
            "stalls": {"long_scoreboard": 6, "wait": 2},
        },
    }


RULE = Rule(
    id="small-tiles",
    formerly="redundant-global-loads",
    title="Compute larger tiles",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.REUSE,
    why="A tile twice as wide and as high computes four times as much with twice the operands.",
    when=(
        "L1 or L2 is at its roof, warps wait for loads 40 % of their time, L2 has 90 % of what they load and device memory "
        "is idle; or L1 is, device memory is less than 75 % busy, and products of halves on tensor cores load operands from shared memory for each instruction."
    ),
    citations=guide("10.2.3.2", "9.2.2.2"),
    silenced_by=("uncoalesced-access",),
    author_only=True,
    check=check,
    examples=Examples(
        fires=_tile(0.96), quiet=_tile(0.96, dram=0.3), edges=(_tile(0.9), _tile(0.89))
    ),
)
