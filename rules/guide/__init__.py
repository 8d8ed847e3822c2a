"""Every rule of the product, in the order of the guide's chapters: the only list."""

from __future__ import annotations

from gpuadvise.rules.guide import (
    impossible_launch,
    lone_resident_block,
    lone_small_kernel,
    low_occupancy,
    overstated_launch_bounds,
    partial_warp,
    register_limited_occupancy,
    shared_memory_limited_occupancy,
    surplus_occupancy,
    tiny_blocks,
    uncovered_elements,
    underfilled_device,
    unhidden_latency,
    unprofiled_workload,
    unsupported_cluster,
    unusual_block_size,
)

RULES = (
    unprofiled_workload.RULE,
    partial_warp.RULE,
    unhidden_latency.RULE,
    low_occupancy.RULE,
    surplus_occupancy.RULE,
    tiny_blocks.RULE,
    unusual_block_size.RULE,
    lone_resident_block.RULE,
    underfilled_device.RULE,
    register_limited_occupancy.RULE,
    shared_memory_limited_occupancy.RULE,
    impossible_launch.RULE,
    overstated_launch_bounds.RULE,
    lone_small_kernel.RULE,
    unsupported_cluster.RULE,
    uncovered_elements.RULE,
)
