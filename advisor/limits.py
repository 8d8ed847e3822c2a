"""What one compute capability allows: the numbers the occupancy model rests on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RegisterAllocation(StrEnum):
    """What a register allocation unit is rounded over."""

    BLOCK = "block"  # cc 1.x
    WARP = "warp"  # cc 2.0 and later


class SharedMode(StrEnum):
    """How an SM comes by its shared-memory capacity."""

    FIXED = "fixed"  # cc 1.x, 5.x, 6.x: one capacity
    CACHE_CONFIG = "cache_config"  # cc 2.x, 3.x: cudaFuncSetCacheConfig
    CARVEOUT = "carveout"  # cc 7.0 and later: preferred carveout percentage


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one compute capability; bytes, 32-bit registers, counts per SM or block.

    Field names are the keys of ``catalogue/capabilities.toml``, where each is sourced and
    explained. ``None`` means the capability does not have it, or nobody documents it.
    """

    warp_size: int
    max_threads_per_block: int
    max_block_dim: tuple[int, int, int]
    max_grid_dim: tuple[int, int, int]
    max_warps_per_sm: int
    max_threads_per_sm: int
    max_blocks_per_sm: int
    registers_per_sm: int
    registers_per_block: int
    max_registers_per_thread: int
    register_allocation: RegisterAllocation
    register_allocation_unit: int
    register_allocation_unit_special: int | None  # cc 2.x: for the counts below
    register_allocation_unit_special_counts: tuple[int, ...]
    register_subpartitions: int
    warp_allocation_granularity: int
    shared_memory_per_sm: int
    shared_memory_per_block: int
    shared_memory_per_block_optin: int
    shared_memory_reserved_per_block: int
    shared_memory_allocation_unit: int
    shared_memory_configs: tuple[int, ...]  # bytes, in the order of the TOML's _kib list
    shared_memory_config_mode: SharedMode
    shared_memory_banks: int
    shared_memory_bank_width: int
    warp_schedulers: int
    arithmetic_latency_cycles: int | None
    named_barriers_per_block: int
    barriers_per_sm: int | None
    barrier_limit_applied: bool  # NVIDIA's header counts barriers from cc 9.0 on
    max_cluster_size_portable: int | None  # None: no clusters
    max_cluster_size_nonportable: int | None
    max_blocks_per_sm_in_clusters: int | None = None  # of a launch with clusters; None: as of any
    partitioned_global_caching: bool
    virtual_resources_per_sm: int | None  # counted by NVIDIA's header from CUDA 13 on
    max_resident_grids: int | None
    unified_l1_shared: int | None  # bytes of the memory that L1 and shared memory divide
    l1_texture_cache: int | None  # bytes, where L1 is apart from shared memory
    local_memory_per_thread: int
    constant_memory: int
    constant_cache_per_sm: int

    def __hash__(self) -> int:
        """Return the hash of what tells capabilities apart: all fields take ten times as long."""
        return hash((self.registers_per_sm, self.max_warps_per_sm, self.shared_memory_per_sm))
