"""Which counters a recording of a launch lacks: absent, or without a number (NaN)."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile


class CounterGroup(StrEnum):
    """What counters count; units by the names that limits give them."""

    DRAM = "dram"
    L2 = "l2"
    L1_SHARED = "l1/shared"
    MEMORY = "memory"  # the busiest unit of the memory system
    PIPES = "pipes"
    ISSUE = "issue"
    STALLS = "stalls"
    OCCUPANCY = "occupancy"
    INSTRUCTIONS = "instructions"
    TIME = "time"


# Fields of a profile by the counters that they come from.
FIELDS: dict[CounterGroup, tuple[str, ...]] = {
    CounterGroup.DRAM: ("dram_busy", "dram_read", "dram_written", "memory_clock"),
    CounterGroup.L2: (
        "l2_busy",
        "l2_hit_rate",
        "global_sectors",
        "global_sectors_ideal",
        "host_sectors_read",
    ),
    CounterGroup.L1_SHARED: (
        "l1_busy",
        "lsu_wavefronts_busy",
        "bank_reads_busy",
        "bank_writes_busy",
        "l1_hit_rate",
        "l1_load_hit_rate",
        "shared_wavefronts",
        "shared_wavefronts_ideal",
        "shared_atomics_busy",
        "global_loads",
        "global_stores",
        "local_loads",
        "local_stores",
        "global_reductions",
        "global_atomics",
    ),
    CounterGroup.MEMORY: ("memory_busy", "memory_access_busy", "memory_request_busy"),
    CounterGroup.PIPES: ("pipes", "sm_busy", "memory_pipes_busy"),
    CounterGroup.ISSUE: ("issue_busy", "issued_ipc", "eligible_warps"),
    CounterGroup.STALLS: ("stalls", "warp_latency"),
    CounterGroup.OCCUPANCY: ("achieved_occupancy", "theoretical_occupancy", "active_warps"),
    CounterGroup.INSTRUCTIONS: (
        "instructions",
        "executed_ipc",
        "active_threads",
        "unpredicated_threads",
        "float_instructions",
        "tensor_operations",
        "spill_requests",
        "shared_atomics",
    ),
    CounterGroup.TIME: ("seconds", "elapsed_cycles", "sm_clock"),
}


def missing_counters(profile: KernelProfile | None) -> tuple[CounterGroup, ...]:
    """Return the groups some of whose counters a recording lacks, or has without a number."""
    if profile is None or not profile.missing:
        return ()
    return tuple(group for group, names in FIELDS.items() if not profile.missing.isdisjoint(names))
