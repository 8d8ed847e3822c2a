"""Every rule of the product, in the order of the guide's chapters: the only list."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.rules.model import Rule

_SOURCE = "gpuadvise.rules.source"
# Those that only a source can answer stand in the folder of its language, there.
_MODULES = (
    "unprofiled_workload",
    "debug_build",
    "sequential_remainder",
    "unprofitable_offload",
    "idle_gaps",
    "frequent_synchronization",
    "hidden_graphs",
    "host_round_trip",
    "launch_bound",
    "uneven_ranks",
    "library_available",
    "tree_reduction",
    "untiled_product",
    "low_effective_bandwidth",
    "mixed_bandwidth_units",
    "ecc_overhead",
    "wasted_throughput",
    "transfer_bound_run",
    "pageable_transfers",
    "slow_pinned_copies",
    "serial_transfers",
    "small_transfers",
    "integrated_gpu_copies",
    "excess_pinned_memory",
    "degraded_link",
    "blocking_copies",
    "default_stream_use",
    "unprefetched_managed_memory",
    "reread_mapped_memory",
    "uncoalesced_access",
    "scattered_atomics",
    "dependent_loads",
    "unaligned_words",
    "narrow_loads",
    "narrow_accesses",
    "unpadded_rows",
    "redundant_global_loads",
    "unstaged_reuse",
    "small_tiles",
    "refetched_texels",
    "bank_conflicts",
    "atomic_contention",
    "register_spills",
    "divergent_constant_reads",
    "untextured_reads",
    "global_memory_latency",
    "repeated_allocations",
    "shared_memory_carveout",
    "unpinned_l2_reuse",
    "unfused_pass",
    "synchronous_staging",
    "manual_tile_copies",
    "partial_warp",
    "unhidden_latency",
    "latency_bound",
    "low_occupancy",
    "surplus_occupancy",
    "tiny_blocks",
    "unusual_block_size",
    "lone_resident_block",
    "underfilled_device",
    "tail_effect",
    "load_imbalance",
    "slower_version",
    "register_limited_occupancy",
    "shared_memory_limited_occupancy",
    "impossible_launch",
    "exceeded_launch_bounds",
    "overstated_launch_bounds",
    "lone_small_kernel",
    "unsupported_cluster",
    "competing_contexts",
    "uncovered_elements",
    "integer_division",
    "implicit_double",
    "cuda.slow_math",
    "cuda.general_math_functions",
    "unused_tensor_cores",
    "unused_tf32",
    "fp32_products",
    "fp64_products",
    "layout_conversions",
    "scarce_fp64",
    "odd_gemm_shape",
    "default_precision_flags",
    "cuda.narrow_integer_arithmetic",
    "divergent_branches",
    "cuda.rolled_loops",
    "cuda.unsigned_loop_counters",
    "cuda.divergent_barriers",
    "memory_bound",
    "compute_bound",
    "far_from_roof",
    "missing_device_code",
    "missing_ptx",
    "outdated_driver",
    "startup_jit",
    "cuda.unchecked_errors",
    "mixed_generations",
    "device_visibility",
    "debug_environment",
    "narrow_target",
    "unsanitized_build",
    "persistence_mode_off",
    "ecc_errors",
    "pending_recovery",
    "xid_errors",
    "inactive_nvlinks",
    "nvlink_errors",
    "throttled_clocks",
    "lowered_power_limit",
    "restricted_compute_mode",
    "hot_device",
    "busy_device",
    "mig_slices",
    "cuda.legacy_warp_intrinsics",
    "cuda.unsynchronized_timers",
    "cuda.misplaced_events",
    "cuda.default_stream_work",
    "cuda.scalar_half_arithmetic",
    "cuda.narrow_elements",
    "cuda.unrestricted_pointers",
    "python.unpinned_loaders",
    "python.blocking_moves",
    "python.synchronizing_reads",
    "python.full_precision_matmuls",
    "python.host_built_tensors",
    "python.synchronizations_in_loops",
    "python.unsynchronized_timing",
)

if TYPE_CHECKING:
    RULES: tuple[Rule, ...]
    # The rules for which a launch's shape and time are evidence enough.
    SHAPE_RULES: tuple[str, ...]


def __getattr__(name: str) -> object:
    """Load all rules for the first who asks for RULES or SHAPE_RULES."""
    if name not in ("RULES", "SHAPE_RULES"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gpuadvise.rules.relations import related

    rules = related([_rule_in(module) for module in _MODULES])
    shape = tuple(rule.id for rule in rules if rule.shape_decides)
    globals().update(RULES=rules, SHAPE_RULES=shape)
    return globals()[name]


@cache
def rule_of(name: str) -> Rule:
    """Return the rule whose id is *name*, without loading the others; raises KeyError."""
    return _rule_in(_MODULE_OF[name])


_MODULE_OF = {module.rpartition(".")[2].replace("_", "-"): module for module in _MODULES}


def _rule_in(module: str) -> Rule:
    folder = _SOURCE if "." in module else __name__
    rule: Rule = import_module(f"{folder}.{module}").RULE
    return rule
