"""Every rule of the product, in the order of the guide's chapters: the only list."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.rules.model import Rule

_SOURCE = "gpuadvise.rules.source"
_LANGUAGES = ("cuda.", "python.")
# By topic; those that only a source can answer stand in the folder of its language, there.
_MODULES = (
    "application.unprofiled_workload",
    "measurement.debug_build",
    "application.sequential_remainder",
    "application.unprofitable_offload",
    "application.idle_gaps",
    "application.frequent_synchronization",
    "measurement.hidden_graphs",
    "application.host_round_trip",
    "execution.launch_bound",
    "execution.short_launch",
    "application.uneven_ranks",
    "application.exposed_communication",
    "application.costly_operators",
    "application.library_available",
    "execution.tree_reduction",
    "instructions.untiled_product",
    "measurement.low_effective_bandwidth",
    "measurement.mixed_bandwidth_units",
    "measurement.ecc_overhead",
    "measurement.wasted_throughput",
    "transfers.transfer_bound_run",
    "transfers.pageable_transfers",
    "transfers.slow_pinned_copies",
    "transfers.serial_transfers",
    "cuda.values_read_in_loops",
    "cuda.unfused_kernels",
    "cuda.element_wise_copies",
    "transfers.small_transfers",
    "transfers.integrated_gpu_copies",
    "transfers.excess_pinned_memory",
    "transfers.degraded_link",
    "transfers.blocking_copies",
    "cuda.copied_back_buffers",
    "transfers.default_stream_use",
    "transfers.unprefetched_managed_memory",
    "transfers.reread_mapped_memory",
    "transfers.host_memory_reads",
    "memory.uncoalesced_access",
    "memory.scattered_atomics",
    "memory.dependent_loads",
    "memory.unaligned_words",
    "memory.unfused_attention",
    "memory.narrow_loads",
    "memory.narrow_accesses",
    "memory.unpadded_rows",
    "memory.redundant_global_loads",
    "memory.unstaged_reuse",
    "memory.small_tiles",
    "memory.refetched_texels",
    "memory.bank_conflicts",
    "memory.atomic_contention",
    "memory.repeated_atomics",
    "memory.shared_atomic_contention",
    "memory.register_spills",
    "memory.local_arrays",
    "cuda.indexed_local_arrays",
    "memory.divergent_constant_reads",
    "memory.untextured_reads",
    "memory.global_memory_latency",
    "memory.repeated_allocations",
    "memory.growing_memory",
    "memory.shared_memory_carveout",
    "memory.unpinned_l2_reuse",
    "memory.unfused_pass",
    "memory.synchronous_staging",
    "memory.manual_tile_copies",
    "execution.partial_warp",
    "execution.unhidden_latency",
    "execution.latency_bound",
    "execution.low_occupancy",
    "execution.surplus_occupancy",
    "execution.tiny_blocks",
    "cuda.data_sized_blocks",
    "cuda.truncated_grids",
    "cuda.unbatched_launches",
    "execution.unusual_block_size",
    "execution.lone_resident_block",
    "execution.underfilled_device",
    "execution.few_blocks_per_sm",
    "execution.tail_effect",
    "execution.load_imbalance",
    "execution.serial_last_block",
    "execution.slower_version",
    "execution.register_limited_occupancy",
    "execution.shared_memory_limited_occupancy",
    "execution.impossible_launch",
    "execution.exceeded_launch_bounds",
    "execution.overstated_launch_bounds",
    "execution.lone_small_kernel",
    "execution.unsupported_cluster",
    "execution.competing_contexts",
    "execution.uncovered_elements",
    "instructions.integer_division",
    "instructions.costly_functions",
    "instructions.implicit_double",
    "cuda.slow_math",
    "cuda.general_math_functions",
    "cuda.invariant_divisors",
    "cuda.printing_kernels",
    "cuda.accumulators_in_memory",
    "cuda.atomics_in_loops",
    "cuda.generator_states_in_memory",
    "cuda.repeated_loads",
    "cuda.serial_reductions",
    "cuda.barriers_in_reductions",
    "cuda.implicit_warp_synchrony",
    "cuda.missing_barriers",
    "instructions.unused_tensor_cores",
    "instructions.unused_tf32",
    "instructions.fp32_products",
    "instructions.fp64_products",
    "instructions.layout_conversions",
    "instructions.scarce_fp64",
    "instructions.odd_gemm_shape",
    "instructions.default_precision_flags",
    "cuda.narrow_integer_arithmetic",
    "control_flow.divergent_branches",
    "control_flow.masked_lanes",
    "cuda.rolled_loops",
    "cuda.unsigned_loop_counters",
    "cuda.divergent_barriers",
    "roofline.memory_bound",
    "roofline.compute_bound",
    "roofline.far_from_roof",
    "deployment.missing_device_code",
    "deployment.missing_ptx",
    "deployment.outdated_driver",
    "deployment.startup_jit",
    "cuda.unchecked_errors",
    "deployment.mixed_generations",
    "deployment.device_visibility",
    "deployment.debug_environment",
    "deployment.narrow_target",
    "deployment.unsanitized_build",
    "device_state.persistence_mode_off",
    "device_state.ecc_errors",
    "device_state.pending_recovery",
    "device_state.xid_errors",
    "device_state.inactive_nvlinks",
    "device_state.nvlink_errors",
    "device_state.throttled_clocks",
    "device_state.lowered_power_limit",
    "device_state.restricted_compute_mode",
    "device_state.hot_device",
    "device_state.busy_device",
    "device_state.mig_slices",
    "cuda.volatile_arrays",
    "cuda.parameters_in_memory",
    "cuda.uniform_math",
    "python.unused_gradients",
    "cuda.legacy_warp_intrinsics",
    "cuda.unsynchronized_timers",
    "cuda.misplaced_events",
    "cuda.default_stream_work",
    "cuda.scalar_half_arithmetic",
    "cuda.narrow_elements",
    "cuda.interleaved_records",
    "cuda.unrestricted_pointers",
    "cuda.unguarded_indices",
    "python.unpinned_loaders",
    "python.blocking_moves",
    "python.synchronizing_reads",
    "python.validated_distributions",
    "python.undonated_buffers",
    "python.broadcast_distances",
    "python.one_hot_losses",
    "python.full_precision_matmuls",
    "python.host_built_tensors",
    "python.synchronizations_in_loops",
    "python.unsynchronized_timing",
    "python.numpy_round_trips",
    "python.array_copies_in_loops",
    "python.implicit_kernel_copies",
    "python.written_out_attention",
    "python.unfused_optimizers",
    "python.zero_filled_gradients",
    "python.per_parameter_updates",
    "python.full_size_constants",
    "python.unfused_activations",
    "python.separate_projections",
    "python.split_batches",
    "python.data_parallel_threads",
    "python.serial_kernels",
    "python.rebuilt_constants",
    "python.unregistered_tensors",
    "python.materialized_repeats",
    "python.widened_uploads",
    "python.uncached_generation",
    "python.hand_written_nms",
    "python.per_item_datasets",
    "python.host_side_features",
    "python.unoverlapped_reductions",
    "python.eager_inference",
    "python.serial_saves",
    "python.checkpoints_in_each_step",
    "python.unsearched_convolutions",
    "python.eager_training",
    "python.pageable_async_copies",
    "python.hidden_synchronizations",
    "python.loaders_without_workers",
    "python.kept_graphs",
    "python.evaluation_with_gradients",
    "python.emptied_caches",
    "python.host_random_numbers",
    "python.repeated_uploads",
    "python.recomputed_results",
    "python.restarted_workers",
    "python.host_counted_indices",
    "python.growing_tensors",
)

if TYPE_CHECKING:
    RULES: tuple[Rule, ...]
    # The rules for which a launch's shape and time are evidence enough.
    SHAPE_RULES: tuple[str, ...]


def __getattr__(name: str) -> object:
    """Make all rules for the first who asks for RULES or SHAPE_RULES."""
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


@cache
def _rule_in(module: str) -> Rule:
    """Return the rule of *module*, which is loaded when what the catalogue leaves out is asked for."""
    from gpuadvise.rules.guide.catalogue import entries, rule_from

    path = _path(module)
    known = entries().get(module)
    rule: Rule = import_module(path).RULE if known is None else rule_from(known, path)
    return rule


def from_modules() -> dict[str, Rule]:
    """Return every rule as its module declares it, by the name in the list: all are loaded."""
    return {module: import_module(_path(module)).RULE for module in _MODULES}


def _path(module: str) -> str:
    return f"{_SOURCE if module.startswith(_LANGUAGES) else __name__}.{module}"
