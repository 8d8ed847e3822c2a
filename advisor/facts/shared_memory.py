"""Shared memory in a profile: the passes that L1 makes for it, those of conflicts, and the waits for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import AT_ROOF, L2_AT_ROOF, AtRoof
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import at_work
from gpuadvise.advisor.memory.word_size import WARP_SIZE

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

_WAITS = (Stall.SHORT_SCOREBOARD, Stall.MIO_THROTTLE)


def shared_memory_share(profile: KernelProfile, passes: float | None = None) -> float | None:
    """Return the share of the time that *passes* of shared memory (default: all) take L1.

    An SM makes one pass a cycle. None where the report does not tell.
    """
    count = profile.shared_wavefronts if passes is None else passes
    if count is None or not profile.elapsed_cycles or not profile.sm_count:
        return None
    return min(1.0, count / (profile.elapsed_cycles * profile.sm_count))


def busy_with_conflicts(profile: KernelProfile, share: float) -> bool:
    """Return whether bank conflicts alone are half of L1's *share*."""
    conflicts = (profile.shared_wavefronts or 0.0) - (profile.shared_wavefronts_ideal or 0.0)
    return (shared_memory_share(profile, conflicts) or 0.0) > share / 2


def shared_memory_waits(profile: KernelProfile) -> float | None:
    """Return the share of a warp's time in which it waits for shared memory; None where others hide it.

    Warps of one block also wait for each other at barriers. A page that names the longest wait alone, or
    an L1 that is busy while the SM works, does not tell.
    """
    block = profile.block or (0, 0, 0)
    if len(profile.stalls) <= 1 or at_work(profile, profile.l1_busy or 1.0) >= AT_ROOF:
        return None
    kinds = (*_WAITS, Stall.BARRIER) if math.prod(block) > WARP_SIZE else _WAITS
    return sum(profile.stalls.get(kind, 0.0) for kind in kinds)


def conflict_share(profile: KernelProfile, efficiency: float) -> float:
    """Return the share of its working time that an SM makes passes that conflicts add; 1 where nobody counted.

    *efficiency* (0-1) of all passes are needed.
    """
    shared = shared_memory_share(profile)
    return 1.0 if shared is None else at_work(profile, shared * (1 - efficiency))


def without_conflicts(profile: KernelProfile, efficiency: float) -> dict[str, float]:
    """Return how busy L1 is without the passes that conflicts add: *efficiency* (0-1) of them are needed."""
    share = profile.unit_shares.get(Unit.L1_SHARED)
    shared = shared_memory_share(profile)
    if share is None:
        return {}
    left = max(0.0, share - (share if shared is None else shared) * (1 - efficiency))
    return {Unit.L1_SHARED: left, Unit.MEMORY: left}


def memory_limits_as_well(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether L2 and device memory are at their roofs as well, and warps rather wait for these: no padding lifts them."""
    at_l1 = isinstance(limiter, AtRoof) and limiter.unit not in (Unit.DRAM, Unit.L2)
    l2, dram = profile.l2_busy or 0.0, profile.dram_busy or 0.0
    for_shared = sum(profile.stalls.get(kind, 0.0) for kind in _WAITS)
    waits_elsewhere = for_shared <= profile.stalls.get(Stall.LONG_SCOREBOARD, 0.0)
    return at_l1 and l2 >= L2_AT_ROOF and dram >= AT_ROOF and waits_elsewhere
