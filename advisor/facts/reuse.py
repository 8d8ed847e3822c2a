"""How often a launch asks its caches for the same bytes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import (
    AT_ROOF,
    L2_AT_ROOF,
    NEARLY_BUSY,
    AtRoof,
    IssueBound,
    LatencyBound,
)
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.streaming import FROM_DRAM, REQUESTS
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import (
    bytes_per_load,
    global_requests,
    has_shared_memory,
    l1_hits,
    waits_for,
)
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

FOUND = number(0.7, "loads found in L1", "share", "our judgement", LaunchSet.RECORDED)
# Bytes that loads use, for each that device memory reads, where L1 or L2 is the limit: profilers empty the
# caches before a launch, so that each needed byte comes from there once. A row read in three passes, or the
# taps of a filter; two passes are TWICE, which caches hide.
READS = number(
    3.0,
    "bytes asked of the caches",
    "bytes per byte read from device memory",
    "our judgement: a row in three passes; caches hide two",
    LaunchSet.FOURTH,
)
_PASS = number(
    128.0,
    "bytes that a pass of shared memory moves",
    "bytes",
    "programming guide: 32 banks of 4 bytes",
)
_WHOLE = number(
    16.0,
    "bytes used of a sector, before reuse counts",
    "bytes",
    "our judgement: with fewer, coalescing comes first",
    LaunchSet.FOURTH,
)
# Gathers: what L1 has of a sector used in part is often its other words, which a tile does not save.
_STRUCTURES = number(
    20.0,
    "bytes used of a sector that L1 hardly has",
    "bytes",
    "measured: 18 of gathers of 16 bytes by a list of indices, 25 to 30 of stencils and passes over rows",
    LaunchSet.SEVENTH,
)
_PARTS_READ = number(
    10.0,
    "bytes asked of the caches, by sectors used in part",
    "bytes per byte read from device memory",
    "measured: 4.5 of neighbour lists, 16 to 1000 of products and filters along the wrong axis",
    LaunchSet.SEVENTH,
)
_SCATTERED = number(
    2.0,
    "bytes used of a sector by lanes that read anywhere",
    "bytes",
    "measured: 1.3 of rays through a map of bytes, 4 and more of products and filters along the wrong axis",
    LaunchSet.TENTH,
)
_OFTEN = number(
    0.1,
    "loads of a window, beside busy issue slots",
    "share of instructions",
    "measured on an H100 and an H200: 0.105 to 0.31 in six filters and scans that won 1.4 to 14 times by keeping it, 0.08 at most in good ones",
    LaunchSet.EIGHTH,
)
_MANY_READS = number(
    30.0,
    "bytes asked of L1 by such loads",
    "bytes per byte read from device memory",
    "measured: 49 to 150 in these, 5 to 9 in small filters",
    LaunchSet.EIGHTH,
)
FOR_LOADS = number(
    1 / 3,
    "wait for loads beside issue slots",
    "share of a warp's time",
    "measured: 0.39 to 0.66 in two norms, a softmax and two filters that read each byte 3 to 18 times (H100, H200)",
    LaunchSet.SIXTH,
)
HALF_ISSUED = number(
    0.55,
    "issue slots of a kernel that waits",
    "share",
    "our judgement: somewhat below what counts as their roof",
    LaunchSet.SIXTH,
)
_OWN_BYTES = number(
    32.0,
    "bytes of a request, one of each lane",
    "bytes",
    "with fewer, lanes share what they load",
    LaunchSet.SIXTH,
)
_HALF_WORDS = number(
    70.0,
    "bytes of a request by words of two bytes",
    "bytes",
    "64, and what rounding adds",
    LaunchSet.SIXTH,
)


def asked_again(profile: KernelProfile, limiter: Limiter | None) -> float | None:
    """Return the bytes that loads ask of a busy cache per byte of device memory, where that is often and no tile's."""
    reads = reads_at_roof(profile, limiter)
    return reads if reads is not None and reads >= READS and _by_loads(profile, reads) else None


def reads_at_roof(profile: KernelProfile, limiter: Limiter | None) -> float | None:
    """Return the bytes that loads use for each that device memory reads, where that keeps a cache busy; else None.

    A page without counts has the sectors that all accesses need, and the bytes that device memory moved.
    """
    if not _at_roof(profile, limiter):
        return None
    loads, needed = profile.global_loads, profile.global_sectors_ideal
    if loads.requests is None and needed and profile.dram_bytes:
        return needed * SECTOR / profile.dram_bytes
    return counted_reads(profile)


def counted_reads(profile: KernelProfile) -> float | None:
    """Return the bytes that loads use for each that device memory reads, where a page counts both; else None."""
    used = profile.global_loads.bytes_used
    return used / profile.dram_read if used is not None and profile.dram_read else None


def _at_roof(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether L1 or L2 is at its roof, or issue slots with what loads need, with room in device memory."""
    l2, dram = profile.l2_busy or 0.0, profile.dram_busy or 0.0
    if isinstance(limiter, LatencyBound):
        return (profile.issue_busy or 0.0) >= HALF_ISSUED and _issues_loads(profile)
    if _filled_by_loads(profile, limiter):
        return True
    if isinstance(limiter, IssueBound):
        at_roof = max(profile.l1_busy or 0.0, l2) >= AT_ROOF or _issues_loads(profile)
        return at_roof and dram < AT_ROOF
    if not isinstance(limiter, AtRoof):
        return False
    if dram >= AT_ROOF and (profile.dram_written or 0.0) > (profile.dram_read or math.inf):
        return False  # what is stored keeps both busy, whatever loads find in L1
    beside = limiter.unit == Unit.DRAM and l2 >= L2_AT_ROOF and dram < NEARLY_BUSY
    return beside or limiter.unit in (Unit.L1_SHARED, Unit.LSU, Unit.L2)


def _filled_by_loads(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether busy issue slots go to loads that L1 has: a window that each thread reads anew, word by word."""
    by_instructions = isinstance(limiter, IssueBound) or (
        isinstance(limiter, AtRoof) and limiter.unit in (Unit.ALU, Unit.FMA)
    )
    loads = profile.global_loads.requests or 0.0
    return (
        by_instructions
        and (profile.issue_busy or 0.0) >= AT_ROOF
        and loads >= _OFTEN * (profile.instructions or math.inf)
        and (counted_reads(profile) or 0.0) >= _MANY_READS
        and (l1_hits(profile) or 0.0) >= FOUND
    )


def _issues_loads(profile: KernelProfile) -> bool:
    """Return whether loads of many words, with their addresses, are a notable part of what is issued and waited for."""
    l2, dram, used = profile.l2_busy or 0.0, profile.dram_busy or 0.0, bytes_per_load(profile)
    if used <= _HALF_WORDS and l2 <= FROM_DRAM * dram:
        return False  # narrow-loads says what helps
    return (
        waits_for(profile, Stall.LONG_SCOREBOARD, share=FOR_LOADS)
        and global_requests(profile) >= REQUESTS * (profile.instructions or 0.0)
        and used >= _OWN_BYTES
    )


def _by_loads(profile: KernelProfile, reads: float) -> bool:
    """Return whether what loads ask of the caches is neither a tile's, nor left of sectors used in part.

    What L1 has of such sectors may be their other words: there the bytes must be read more often.
    """
    held = (l1_hits(profile) or 0.0) >= FOUND
    used = profile.global_loads.used_bytes or 0.0
    in_parts = held and reads >= _PARTS_READ and used >= _SCATTERED
    again = used >= (_WHOLE if held else _STRUCTURES) or in_parts
    return again and not _staged(profile) and not _local(profile)


def _local(profile: KernelProfile) -> bool:
    """Return whether a thread's own memory is asked as often as global memory, or registers are spilled."""
    local = (profile.local_loads.requests or 0.0) + (profile.local_stores.requests or 0.0)
    return names_local_memory(profile) or local > (profile.global_loads.requests or 0.0)


def _staged(profile: KernelProfile) -> bool:
    """Return whether as many bytes pass shared memory as loads bring: a tile is stored there and loaded.

    Where a page does not count loads, all shared memory is taken for a tile.
    """
    loads = profile.global_loads
    if loads.requests is None:
        return has_shared_memory(profile)
    brought = (loads.sectors or 0.0) * (loads.used_bytes or 0.0)
    copied = brought == 0  # pages count no used bytes for copies straight to shared memory
    return copied or (profile.shared_wavefronts_ideal or 0.0) * _PASS >= brought


def names_local_memory(profile: KernelProfile) -> bool:
    """Return whether registers are spilled, or loads of local memory use sectors in part."""
    return bool(profile.spill_requests or profile.local_loads.used_bytes)
