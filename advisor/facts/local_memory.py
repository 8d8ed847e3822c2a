"""Local memory in a profile: how much of what runs goes there, and what else L2 then carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.workload import has_shared_memory, requests_to_memory
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_FOUND_IN_L1 = number(
    0.85, "spills found in L1", "share", "measured: 89 % to 99 % in four kernels", LaunchSet.TENTH
)
_L1_AT_WORK = number(0.25, "L1 at work", "share of its peak", "our judgement", LaunchSet.RECORDED)


def local_share(profile: KernelProfile) -> float | None:
    """Return requests to local memory per executed instruction; None where nobody counted."""
    ways = (profile.local_loads.requests, profile.local_stores.requests)
    counts = [count for count in ways if count is not None]
    requests = max(sum(counts), profile.spill_requests or 0.0)
    if not profile.instructions or (not counts and profile.spill_requests is None):
        return None
    if not counts and not requests and (share := _uncounted(profile)):
        return share
    return requests / profile.instructions


def _uncounted(profile: KernelProfile) -> float | None:
    """Return requests to local memory per instruction, at least, by a page that counts spills alone.

    It speaks of local memory that keeps L1 at work: then its instructions to memory go there, where L1
    has what they ask for, or but for one per sector that global accesses need.
    """
    spoken = profile.local_loads.used_bytes or profile.local_stores.used_bytes
    if not spoken or has_shared_memory(profile) or (profile.l1_busy or 0.0) < _L1_AT_WORK:
        return None
    if (profile.l1_hit_rate or 0.0) >= _FOUND_IN_L1:
        return profile.memory_instructions
    requests, needed = requests_to_memory(profile), profile.global_sectors_ideal
    if requests is None or needed is None or not profile.instructions:
        return None
    return max(0.0, requests - needed) / profile.instructions


def global_part(profile: KernelProfile) -> float:
    """Return the part of L2's sectors that global accesses need, at least; 0 where nobody counted.

    As if L1 found nothing of local memory, and of global loads what it finds now.
    """
    loads, stores = profile.global_loads, profile.global_stores
    local = (profile.local_loads.sectors or 0.0) + (profile.local_stores.sectors or 0.0)
    if loads.sectors is None or stores.sectors is None or not local:
        return 0.0
    used_of_loads, used_of_stores = (
        (SECTOR if way.used_bytes is None else way.used_bytes) / SECTOR for way in (loads, stores)
    )
    needed = loads.sectors * min(used_of_loads, 1 - (profile.l1_load_hit_rate or 0.0))
    needed += stores.sectors * used_of_stores
    return needed / (needed + local)
