"""Kernels that stream data from device memory, and what keeps them from its bandwidth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.atomics import waits_for_atomics
from gpuadvise.advisor.facts.levels import LONG_WAIT, MEMORY_BY_WORDS
from gpuadvise.advisor.facts.limiter import AT_ROOF, AtRoof, IssueBound, LatencyBound
from gpuadvise.advisor.facts.load_width import ONE_WORD
from gpuadvise.advisor.facts.shared_memory import shared_memory_share
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import (
    MEMORY_WAITS,
    atomic_kinds,
    blocks_of,
    global_requests,
    is_short,
    l1_hits,
    waits_for,
)
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

MEMORY_BUSY_OF_WAITS = number(
    0.76,
    "memory busy, beside a wait for loads alone",
    "share",
    "measured on an H100 and an H200: 4-byte words at 72 % to 75 %, 16-byte words at 85 % to 93 %",
    LaunchSet.SIXTH,
)
ONLY_LOADS = number(
    0.8,
    "wait for loads alone",
    "share of a warp's time",
    "our judgement: hardly anything else is left to shorten",
    LaunchSet.SEVENTH,
)
# With one or two bytes at a time most instructions find out where those lie, and 16 bytes need an eighth of
# them: that counts even at what Nsight Compute calls a limit, where warps wait for loads half of their time.
ADDRESSES = number(
    0.7,
    "issue slots, for one or two bytes",
    "share",
    "our judgement: 16 bytes at once need an eighth of the addresses",
    LaunchSet.RECORDED,
)
HALF = number(
    0.5,
    "wait for loads, for one or two bytes",
    "share of a warp's time",
    "our judgement",
    LaunchSet.RECORDED,
)
# Loads and stores of all instructions, from which on they and their addresses are a fifth of them: each brings up
# to 6 along, and 16-byte words need a quarter of both. Softmax and a norm of rows by 4-byte words became 1.5 to 2.2
# times as fast by wider ones beside issue slots at 62 % to 80 %.
REQUESTS = number(
    0.033,
    "loads and stores",
    "share of instructions",
    "with the addresses of each a fifth of them; launches on an H200 that wider words made 1.5 to 2.2 times as fast",
    LaunchSet.FIFTH,
)
ALONG = number(
    6,
    "instructions that come with a load or store",
    "",
    "its address and a loop's counter: our judgement",
    LaunchSet.FIFTH,
)
STREAMING = number(
    0.02,
    "requests to global memory",
    "per instruction",
    "a kernel that moves data has more: our judgement",
    LaunchSet.RECORDED,
)
STAGED = number(
    0.1,
    "requests to shared memory of a kernel that stages nothing",
    "per global one",
    "our judgement",
    LaunchSet.RECORDED,
)
PASSED_ON = number(
    1.25,
    "shared requests",
    "per global load or store",
    "1 where each element is stored there and loaded once; a quarter more for the rest",
    LaunchSet.RECORDED,
)
STAGED_BUSY = number(
    0.65,
    "memory busy, through shared memory",
    "share",
    "transpositions of 4-byte words reach 73 % on an H200",
    LaunchSet.RECORDED,
)
PER_WORD = number(
    100.0,
    "instructions per word",
    "of a warp whose threads load one word each, and add it up",
    "measured on an H100 and an H200: 64 to 78 in five kernels",
    LaunchSet.FOURTH,
)
FROM_DRAM = number(
    1.8,
    "L2's share per DRAM's where data stream",
    "",
    "measured: 1.1 to 1.5, more where they stay in L2",
    LaunchSet.RECORDED,
)
ENOUGH_WARPS = number(
    0.4,
    "achieved occupancy",
    "share",
    "our judgement: with fewer warps more loads per thread come before wider ones",
    LaunchSet.RECORDED,
)
ENOUGH_AT_ONCE = number(0.5, "theoretical occupancy", "share", "our judgement", LaunchSet.RECORDED)
# What a launch of 8 to 20 us writes mostly stays in L2 when it ends, and its start is a part of its time.
BRIEFEST = number(
    8e-06,
    "briefest launch",
    "s",
    "our judgement: below it the launch itself takes the time",
    LaunchSet.SIXTH,
)
FROM_DRAM_IN_BRIEF = number(
    2.5,
    "L2's share per DRAM's in a launch below 20 us",
    "",
    "measured: 1.8 in a map of a million elements",
    LaunchSet.SIXTH,
)
AT_WORK = number(
    0.3,
    "device memory at work in a launch below 20 us",
    "share of its peak",
    "our judgement",
    LaunchSet.SIXTH,
)
_MOST_IN_L1 = number(
    0.5, "loads that L1 serves, at most", "share of loads", "our judgement", LaunchSet.FIFTH
)
ATOMICS = number(
    0.25,
    "atomics",
    "share of requests to global memory",
    "our judgement: half as many atomics as loads keep L2 longer than the loads",
    LaunchSet.FIFTH,
)


def wider_loads_may_help(limiter: Limiter, profile: KernelProfile) -> bool:
    """Return whether fewer and wider loads can lift the limit, and neither atomics nor more warps come first."""
    if _few_warps(profile) or waits_for_atomics(profile) or _many_atomics(profile):
        return False
    match limiter:
        case IssueBound():
            for_loads = waits_for(profile, Stall.LONG_SCOREBOARD, share=HALF)
            return many_requests(profile) or (for_loads and limiter.share < ADDRESSES)
        case LatencyBound():
            return limiter.stall in MEMORY_WAITS
        case AtRoof():
            return limiter.unit in (Unit.DRAM, Unit.L1_SHARED, Unit.LSU, Unit.ADU, Unit.L2)
        case _:
            return False


def _few_warps(profile: KernelProfile) -> bool:
    """Return whether more loads per thread come first: few warps, or half of them where no block follows."""
    all_at_once = profile.waves is not None and profile.waves < 1
    enough = ENOUGH_AT_ONCE if all_at_once else ENOUGH_WARPS
    return (profile.achieved_occupancy or 1.0) < enough


def _many_atomics(profile: KernelProfile) -> bool:
    """Return whether atomics are so many of the requests that the width of loads is not the matter."""
    atomics = sum(kind.requests or 0.0 for kind in atomic_kinds(profile))
    return atomics >= ATOMICS * (atomics + global_requests(profile)) > 0


def requests_share(profile: KernelProfile) -> float:
    """Return the loads and stores of global memory per instruction."""
    return global_requests(profile) / profile.instructions if profile.instructions else 0.0


def many_requests(profile: KernelProfile) -> bool:
    """Return whether loads and stores, with their addresses, are a notable part of the instructions.

    Those that L1 serves are the taps of a filter: neighbours keep them in registers, no wider word does.
    """
    return (l1_hits(profile) or 0.0) <= _MOST_IN_L1 and requests_share(profile) >= REQUESTS


def streams_from_dram(profile: KernelProfile) -> bool:
    """Return whether a kernel mostly moves data from device memory, which wider loads would keep busier."""
    if not draws_on_dram(profile) or loads_word_per_thread(profile):
        return draws_on_dram(profile)
    loads = profile.global_loads.requests or 0.0
    ways = (profile.shared_loads, profile.shared_stores)
    shared = sum(way.requests or 0.0 for way in ways) + (profile.shared_atomics or 0.0)
    if shared > STAGED * loads and not _waits_beside_shared_memory(profile):
        return False
    moves_data = global_requests(profile) >= STREAMING * (profile.instructions or 0.0)
    return moves_data and shared <= PASSED_ON * global_requests(profile)


def loads_word_per_thread(profile: KernelProfile) -> bool:
    """Return whether each thread of a block that meets in shared memory waits for one word.

    That costs the block's start, addresses and a part of the sum. Four words per thread are added in
    registers first, and cost a quarter of that each.
    """
    threads = blocks_of(profile) * math.prod(profile.block or ())
    return (
        bool(profile.shared_loads.requests)
        and waits_for(profile, Stall.LONG_SCOREBOARD, share=0.0)
        and 0 < (profile.global_loads.requests or 0.0) * WARP_SIZE <= ONE_WORD * threads
        and (profile.instructions or 0.0) * WARP_SIZE <= PER_WORD * threads
    )


def adds_words_up(profile: KernelProfile) -> bool:
    """Return whether blocks add up one word per thread: with four each, a quarter goes through shared memory."""
    loads, stores = profile.global_loads.requests or 0.0, profile.global_stores.requests or 0.0
    return loads_word_per_thread(profile) and 2 * stores <= loads


def _waits_beside_shared_memory(profile: KernelProfile) -> bool:
    """Return whether a kernel that goes through shared memory waits for memory, and not for that."""
    l1, wait = profile.l1_busy or 0.0, profile.top_stall
    if wait is not None and wait[1] < LONG_WAIT:
        return False
    passes = shared_memory_share(profile) or 0.0
    return (profile.dram_busy or 0.0) < STAGED_BUSY and not (l1 >= AT_ROOF and passes > l1 / 2)


def draws_on_dram(profile: KernelProfile) -> bool:
    """Return whether what L2 passes on comes from device memory, which could be busier by wider loads alone."""
    dram, short = profile.dram_busy or 0.0, is_short(profile)
    only_loads = waits_for(profile, Stall.LONG_SCOREBOARD, share=ONLY_LOADS)
    return (
        dram < (MEMORY_BUSY_OF_WAITS if only_loads else MEMORY_BY_WORDS)
        and (profile.l2_busy or 0.0) <= (FROM_DRAM_IN_BRIEF if short else FROM_DRAM) * (dram or 1.0)
        and (not short or ((profile.seconds or 0.0) >= BRIEFEST and dram >= AT_WORK))
    )
