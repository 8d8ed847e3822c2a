"""Atomics that queue for few addresses, and those that lie apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.beyond_device import reads_beyond_device_memory
from gpuadvise.advisor.facts.levels import MOST_SECTORS
from gpuadvise.advisor.facts.library_kernels import adds_by_atomics
from gpuadvise.advisor.facts.limiter import LatencyBound
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.workload import MEMORY_WAITS, atomic_kinds, blocks_of, global_requests
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

# L2 takes about one atomic sector per cycle for one address.
QUEUED = number(
    1.0,
    "in a queue",
    "operations per cycle",
    "measured on an H100 and an H200: 0.2 to 0.8 on few addresses, 1.6 to 26 on many",
    LaunchSet.RECORDED,
)
_QUEUED_AT_SOME = number(
    6.0,
    "in several queues, of a few hundred neighbouring words",
    "operations per cycle",
    "measured: 1.4 for histograms of 256 bins on an H100, 5.3 for 1,024 on an H200",
    LaunchSet.SIXTH,
)
UPDATED_AGAIN = number(
    16.0,
    "atomics per sector written",
    "",
    "our judgement: a block that adds up first sends one of them. Measured are 64 to 150,000 on few addresses, 1 to 6 where each has its own",
    LaunchSet.RECORDED,
)
_FEWEST_QUEUED = number(
    0.2,
    "in a queue at least",
    "operations per cycle",
    "our judgement: with fewer the kernel waits for something else",
    LaunchSet.RECORDED,
)
_FEWEST_BESIDE_LOADS = number(
    0.5,
    "in a queue at least, beside waits for loads",
    "operations per cycle",
    "our judgement: loads keep warps in this wait as well",
    LaunchSet.RECORDED,
)
_FREQUENT = number(
    0.015, "frequent atomics", "share of instructions", "our judgement", LaunchSet.SEVENTH
)
_IDLE = number(
    0.3,
    "busiest unit where atomics queue",
    "share of its peak",
    "our judgement: queues leave all units below 12 %",
    LaunchSet.RECORDED,
)
_STILL = number(
    0.15,
    "busiest unit that counts as still",
    "share of its peak",
    "our judgement",
    LaunchSet.RECORDED,
)
_NO_LOAD = number(
    2000.0,
    "wait that no load explains",
    "cycles per instruction",
    "a load from idle memory takes 600 to 1,000, and comes with others",
    LaunchSet.FOURTH,
)
_LONG_WAIT = number(
    300.0,
    "wait for a queue",
    "cycles per instruction",
    "measured: 370 to 35,000 where atomics queue; loads that take as long keep a unit 29 % busy",
    LaunchSet.FOURTH,
)
# Loads of a few warps, each at the address that the one before brought, take 300 cycles as well; of half of the warps
# that fit they would keep a unit busy.
_LONG_WAIT_OF_MANY = number(
    200.0,
    "wait of many warps for a queue",
    "cycles per instruction",
    "measured: 220 to 35,000 where atomics queue, with every unit below 12 %",
    LaunchSet.SIXTH,
)
_LONG_WAIT_OF_ADDS = number(
    80.0,
    "wait for a queue in a library's kernel that adds by atomics",
    "cycles per instruction",
    "measured: 100 and 120 in sums of many rows to a few, 15 to 19 where they are many",
    LaunchSet.TENTH,
)
_MANY_HELD = number(0.5, "many warps", "achieved occupancy", "our judgement", LaunchSet.SIXTH)
_MEMORY_STILL = number(
    0.05,
    "device memory nearly still",
    "share of its peak",
    "our judgement: only atomics then keep warps in the waits for stores",
    LaunchSet.RECORDED,
)
_QUEUES = (*MEMORY_WAITS, Stall.MIO_THROTTLE)
_STORE_WAITS = (Stall.DRAIN, Stall.LG_THROTTLE)
STARTS = number(
    0.8e9,
    "blocks started",
    "blocks per second",
    "half of the most that an H200 starts: 1.43 per ns of a kernel that fills a few words per block",
    LaunchSet.SIXTH,
)


def atomics_in_queue(profile: KernelProfile) -> float | None:
    """Return the atomics that memory takes per cycle where they wait for few addresses, else None.

    Sectors are counted where the page has them: a warp whose lanes share an address, or whose
    compiler adds up first, sends one. Without them a request is as many as a warp has lanes.
    """
    kinds = atomic_kinds(profile)
    requests = sum(kind.requests or 0.0 for kind in kinds)
    if not requests or not profile.elapsed_cycles:
        return None
    sectors = sum(kind.sectors or 0.0 for kind in kinds)
    rate = (sectors or requests * WARP_SIZE) / profile.elapsed_cycles
    waits, busiest = profile.top_stall, max(profile.unit_shares.values(), default=0.0)
    if busiest < _IDLE and _waits_beyond_requests(profile):
        return rate
    too_long = (profile.warp_latency or 0.0) >= _NO_LOAD and busiest < _STILL
    frequent = too_long or requests >= _FREQUENT * (profile.instructions or 0.0)
    if not frequent and (rate < _FEWEST_BESIDE_LOADS or not _may_be_waited_for(profile)):
        return None
    beside_loads = waits is not None and waits[0] == Stall.LONG_SCOREBOARD and not too_long
    if busiest < _STILL and _waits_longer_than_loads(profile):
        beside_loads = False
    least = _FEWEST_BESIDE_LOADS if beside_loads else _FEWEST_QUEUED
    few_sectors = busiest < _STILL and (updates_per_sector(profile) or 0.0) >= UPDATED_AGAIN
    most = _QUEUED_AT_SOME if few_sectors else QUEUED
    if few_sectors and too_long:
        most = rate  # whatever their number, nothing else makes a warp wait that long
    return rate if least <= rate <= most and busiest < _IDLE else None


def _waits_beyond_requests(profile: KernelProfile) -> bool:
    """Return whether a warp waits longer for each request than any load takes, beside sectors that get many atomics."""
    requests = global_requests(profile) + sum(k.requests or 0.0 for k in atomic_kinds(profile))
    waits, cycles = profile.top_stall, profile.warp_latency
    if waits is None or waits[0] not in _QUEUES or not requests or not cycles:
        return False
    each = cycles * waits[1] * (profile.instructions or 0.0) / requests
    return each >= _NO_LOAD and (updates_per_sector(profile) or 0.0) >= UPDATED_AGAIN


def _may_be_waited_for(profile: KernelProfile) -> bool:
    """Return whether atomics give results, or warps wait so long that these must fill a queue before loads."""
    reductions, atomics = (kind.requests for kind in atomic_kinds(profile))
    return (atomics or 0.0) >= (reductions or 0.0) or _waits_longer_than_loads(profile)


def _waits_longer_than_loads(profile: KernelProfile) -> bool:
    """Return whether the longest wait of a warp is too long for loads that leave memory idle."""
    waits = profile.top_stall
    return waits is not None and (profile.warp_latency or 0.0) * waits[1] >= _long_wait(profile)


def updates_per_sector(profile: KernelProfile) -> float | None:
    """Return the atomics that each sector gets before it is written to device memory, at least."""
    kinds = atomic_kinds(profile)
    sectors = sum(kind.sectors or 0.0 for kind in kinds)
    if not sectors or profile.dram_written is None:
        return None
    return sectors * SECTOR / max(profile.dram_written, SECTOR)


_USED = number(
    0.8,
    "sectors needed of those that scattered atomics move",
    "share",
    "our judgement",
    LaunchSet.FIFTH,
)


def are_scattered_atomics(profile: KernelProfile) -> bool:
    """Return whether atomics move most of the sectors of global accesses, and use them in part."""
    kinds = atomic_kinds(profile)
    sectors, moved = sum(kind.sectors or 0.0 for kind in kinds), profile.global_sectors or 0.0
    needed = profile.global_sectors_ideal
    accesses = profile.global_loads.used_bytes or profile.global_stores.used_bytes
    return (
        not accesses
        and needed is not None
        and needed < _USED * moved
        and sectors >= MOST_SECTORS * moved > 0
    )


def waits_for_atomics(profile: KernelProfile) -> bool:
    """Return whether atomics queue for few addresses, by their number or by what the wait looks like.

    A page that does not count them shows waits that are too long for loads that leave memory idle.
    """
    if any(kind.requests is not None for kind in atomic_kinds(profile)):
        return atomics_in_queue(profile) is not None
    waits, busiest = profile.top_stall, max(profile.unit_shares.values(), default=1.0)
    if busiest >= _STILL:
        return False
    if waits is None:
        return (profile.warp_latency or 0.0) >= _NO_LOAD
    return waits[0] in MEMORY_WAITS and _waits_longer_than_loads(profile)


def _long_wait(profile: KernelProfile) -> float:
    """Return the cycles per instruction from which a wait is too long for loads that leave memory idle."""
    held = profile.achieved_occupancy
    if adds_by_atomics(profile.kernel):
        return _LONG_WAIT_OF_ADDS
    return _LONG_WAIT_OF_MANY if held is not None and held >= _MANY_HELD else _LONG_WAIT


def _only_starts(profile: KernelProfile) -> bool:
    """Return whether blocks come about as fast as a GPU starts them: they end when their stores are out."""
    return blocks_of(profile) >= STARTS * (profile.seconds or math.inf)


def queue_unseen(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether a page without counts of atomics shows waits that only they explain."""
    return (
        isinstance(limiter, LatencyBound)
        and not _only_starts(profile)
        and not reads_beyond_device_memory(profile)
        and all(kind.requests is None for kind in atomic_kinds(profile))
        and (
            (limiter.stall in _STORE_WAITS and limiter.busy < _MEMORY_STILL)
            or waits_for_atomics(profile)
        )
    )
