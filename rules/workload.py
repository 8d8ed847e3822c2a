"""What a profiled launch does: what it waits for, what it asks of memory, and how long it takes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import SHORT, LatencyBound
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile, WarpRequests
    from gpuadvise.advisor.facts.limiter import Limiter

# Of what warps wait for, by their own requests to global memory.
MEMORY_WAITS = (Stall.LONG_SCOREBOARD, Stall.LG_THROTTLE, Stall.DRAIN)


def is_short(profile: KernelProfile) -> bool:
    """Return whether the launch is known to take less than 20 us, of which its start is a part."""
    return profile.seconds is not None and 0 < profile.seconds < SHORT


def is_long(profile: KernelProfile) -> bool:
    """Return whether the launch is known to take 20 us or more."""
    return (profile.seconds or 0.0) >= SHORT


def waits_for(profile: KernelProfile, *stalls: Stall, share: float) -> bool:
    """Return whether the longest wait of a warp is one of *stalls* and takes *share* of its time (0-1) or more."""
    wait = profile.top_stall
    return wait is not None and wait[0] in stalls and wait[1] >= share


def has_shared_memory(profile: KernelProfile) -> bool:
    """Return whether blocks have shared memory, whatever they do with it."""
    return bool(profile.static_shared or profile.dynamic_shared)


def l1_hits(profile: KernelProfile) -> float | None:
    """Return the share (0-1) of loads that L1 has: of global ones, or of all where the page tells no more."""
    return profile.l1_load_hit_rate or profile.l1_hit_rate


def blocks_of(profile: KernelProfile) -> int:
    """Return the blocks of the grid; 0 where nobody tells."""
    return math.prod(profile.grid) if profile.grid else 0


def global_requests(profile: KernelProfile) -> float:
    """Return the counted loads and stores of global memory, in requests of warps."""
    return (profile.global_loads.requests or 0.0) + (profile.global_stores.requests or 0.0)


def bytes_per_load(profile: KernelProfile) -> float:
    """Return the bytes that a warp uses of an average global load; 0 where nobody counted them."""
    loads = profile.global_loads
    return (loads.sectors_per_request or 0.0) * (loads.used_bytes or 0.0)


def atomic_kinds(profile: KernelProfile) -> tuple[WarpRequests, WarpRequests]:
    """Return the atomics of global memory, without a result and with one."""
    return profile.global_reductions, profile.global_atomics


# Sectors that stores fill in part are put together in L2, which is half busy where that costs time: measured
# on an H100 and an H200, 55 % and 75 % where transposing stores were slow, 45 % where they were not.
L2_ROOM = number(
    0.5,
    "room in L2 for stores",
    "share",
    "measured on an H100 and an H200: 45 % where such stores cost nothing, 55 % and 75 % where they did",
    LaunchSet.RECORDED,
)


def waits_for_loads_alone(profile: KernelProfile | None, limiter: Limiter | None) -> bool:
    """Return whether stores take no time of their own: no warp waits for them, and L2 has room."""
    return (
        profile is not None
        and isinstance(limiter, LatencyBound)
        and limiter.stall == Stall.LONG_SCOREBOARD
        and (profile.l2_busy or 1.0) < L2_ROOM
    )


def shared_memory_share(profile: KernelProfile, passes: float | None = None) -> float | None:
    """Return the share of the time that *passes* of shared memory (default: all) take L1.

    An SM makes one pass a cycle. None where the report does not tell.
    """
    count = profile.shared_wavefronts if passes is None else passes
    if count is None or not profile.elapsed_cycles or not profile.sm_count:
        return None
    return min(1.0, count / (profile.elapsed_cycles * profile.sm_count))


def requests_to_memory(profile: KernelProfile) -> float | None:
    """Return the instructions to memory of any kind; None where the page does not tell.

    An SM's pipe takes one in a cycle, so that its share of the cycles counts them.
    """
    cycles, busy = profile.elapsed_cycles, profile.memory_pipes_busy
    return cycles * busy * profile.sm_count if cycles and busy and profile.sm_count else None


CHAINED = number(
    0.22,
    "loads of chains whose addresses are loaded",
    "share of instructions",
    "measured in eight kernels that walk lists or chains on an H100 and H200s: 0.24 to 0.47",
    LaunchSet.SEVENTH,
)
_CHAINED_WAIT = number(
    0.95,
    "wait for such loads",
    "share of a warp's time",
    "measured in eight such kernels: 0.967 to 0.99",
    LaunchSet.SEVENTH,
)
_ONE_WORD = number(
    4.5,
    "bytes used of a sector by such loads, at most",
    "bytes",
    "measured in eight such kernels: 4 to 4.3. Indices that are read in order beside what they point to use more",
    LaunchSet.SEVENTH,
)
CHAINED_HITS = number(
    0.6,
    "such loads that L1 has, at most",
    "share",
    "measured in eight such kernels: 0 to 0.49, for a node has its link beside its value; 0.82 or more where threads walk rows",
    LaunchSet.SEVENTH,
)
_APART = number(
    4.0, "sectors per request of lanes that each walk a chain", "sectors", "our judgement"
)


def follows_chains(profile: KernelProfile) -> bool | None:
    """Return whether the address of a load seems to be what the one before brought: lists, trees, chains.

    Hardly an instruction stands between loads, each uses a word of a sector of which L1 has nothing else
    that is asked for, and warps wait for nothing but them. None where the page does not tell.
    """
    wait = profile.top_stall
    if wait is not None and not waits_for(profile, Stall.LONG_SCOREBOARD, share=_CHAINED_WAIT):
        return False
    loads, hits = profile.global_loads, l1_hits(profile)
    instructions = profile.instructions or 0.0
    counted = loads.requests is not None and instructions > 0
    every = (loads.requests or 0.0) / instructions if counted else None
    signs = (
        every is None or every >= CHAINED,
        loads.used_bytes is None or 0 < loads.used_bytes <= _ONE_WORD,
        loads.sectors_per_request is None or loads.sectors_per_request >= _APART,
        hits is None or hits <= CHAINED_HITS,
    )
    if not all(signs):
        return False
    return None if None in (every, loads.used_bytes, hits, wait) else True
