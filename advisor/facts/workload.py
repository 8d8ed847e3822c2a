"""What a profiled launch does: what it waits for, what it asks of memory, how long it takes, and what fewer of it leave."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import SHORT, active_share
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile, WarpRequests

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


def requests_to_memory(profile: KernelProfile) -> float | None:
    """Return the instructions to memory of any kind; None where the page does not tell.

    An SM's pipe takes one in a cycle, so that its share of the cycles counts them.
    """
    cycles, busy = profile.elapsed_cycles, profile.memory_pipes_busy
    return cycles * busy * profile.sm_count if cycles and busy and profile.sm_count else None


def dram_bytes_per_request(profile: KernelProfile) -> float | None:
    """Return the bytes of DRAM traffic per instruction that the SMs' pipes to memory took, at least."""
    requests = requests_to_memory(profile)
    return None if requests is None or profile.dram_bytes is None else profile.dram_bytes / requests


def shared_requests(profile: KernelProfile) -> float:
    """Return the counted loads and stores of shared memory, in requests of warps."""
    return (profile.shared_loads.requests or 0.0) + (profile.shared_stores.requests or 0.0)


def at_work(profile: KernelProfile, share: float) -> float:
    """Return the *share* of an SM's time that one of its units is busy, of the time that the SM works."""
    return min(1.0, share / (active_share(profile) or 1.0))


def relieved(profile: KernelProfile, factor: float, *units: str) -> dict[str, float]:
    """Return how busy *units* are for the same time with *factor* times less to do."""
    shares = profile.unit_shares
    return {unit: shares[unit] / factor for unit in units if unit in shares}


def sm_units(profile: KernelProfile) -> tuple[str, ...]:
    """Return the units of the SM, by name."""
    return tuple(
        unit for unit in profile.unit_shares if unit not in (Unit.DRAM, Unit.L2, Unit.MEMORY)
    )
