"""The occupancy of one launch: warps, blocks, registers, shared memory and barriers.

Equal to NVIDIA's ``cuda_occupancy.h`` for every capability that header knows; see
docs/occupancy.md for the sources and for what was compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy import allocation
from gpuadvise.advisor.occupancy.answer import Occupancy
from gpuadvise.advisor.occupancy.launch import GlobalCaching

if TYPE_CHECKING:
    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.launch import Launch


def occupancy(limits: Limits, launch: Launch) -> Occupancy:
    """Return how many blocks of *launch* one SM of these *limits* holds, and what limits them.

    An impossible launch is an answer too: 0 blocks, and a fault that says why.
    """
    warps = -(-launch.threads // limits.warp_size)
    by_registers, halved = _register_limit(limits, launch, warps)
    by_shared, block_bytes, capacity = shared_limit(limits, launch)
    block_limits = (
        _warp_limit(limits, launch, warps, halved),
        most_blocks(limits, launch),
        by_registers,
        by_shared,
        _barrier_limit(limits, launch),
    )
    blocks = min([most for most in block_limits if most is not None])
    if _wants_checks(limits, launch) and _forbidden(limits, launch):
        blocks = 0
    count = launch.registers
    return Occupancy(
        launch=launch,
        hardware=limits,
        blocks_per_sm=blocks,
        block_limits=block_limits,
        registers_per_block=None if count is None else allocation.per_block(limits, warps, count),
        shared_memory_per_block=block_bytes,
        carveout_bytes=capacity,
    )


def blocks_without_clusters(result: Occupancy) -> int:
    """Return the blocks per SM of *result*'s launch without its clusters, which is what the driver counts."""
    alone = result.launch.but(cluster_dim=(1, 1, 1))
    return occupancy(result.hardware, alone).blocks_per_sm


def most_blocks(limits: Limits, launch: Launch) -> int:
    """Return the slots for blocks of one SM, of which a launch with clusters may take fewer."""
    in_clusters = limits.max_blocks_per_sm_in_clusters
    if in_clusters is None or launch.cluster_dim == (1, 1, 1):
        return limits.max_blocks_per_sm
    return in_clusters


def _register_limit(limits: Limits, launch: Launch, warps: int) -> tuple[int | None, bool]:
    """Return the limit, and whether blocks must keep to one half of the SM."""
    caching = launch.caching is not GlobalCaching.OFF and limits.partitioned_global_caching
    count = launch.registers
    if count is None:
        return None, caching
    whole = allocation.blocks(limits, warps, count)
    if not caching or not whole:
        return whole, caching
    halves = allocation.blocks_in_halves(limits, warps, count)
    if halves or launch.caching is GlobalCaching.STRICT:
        return halves, True
    return whole, False


def _warp_limit(limits: Limits, launch: Launch, warps: int, halved: bool) -> int:
    if launch.threads > limits.max_threads_per_block:
        return 0
    if halved:
        return limits.max_warps_per_sm // 2 // warps * 2
    return limits.max_warps_per_sm // warps


def shared_limit(limits: Limits, launch: Launch) -> tuple[int | None, int, int]:
    """Return the limit, the bytes of one block, and the SM's capacity."""
    block = allocation.allocated(limits, launch)
    capacity = allocation.capacity(limits, launch, block)
    if not allocation.fits(limits, launch, block):
        return 0, block, capacity
    return capacity // block if block else None, block, capacity


def _barrier_limit(limits: Limits, launch: Launch) -> int | None:
    have = limits.barriers_per_sm
    if have is None or not limits.barrier_limit_applied or not launch.barriers:
        return None
    return have // launch.barriers


def _wants_checks(limits: Limits, launch: Launch) -> bool:
    """Return whether something that sets no limit on blocks may still forbid the launch."""
    return bool(
        _beyond(launch.block_dim, limits.max_block_dim)
        or _beyond(launch.grid_dim, limits.max_grid_dim)
        or launch.threads > (launch.max_threads or launch.threads)
        or launch.cluster_dim != (1, 1, 1)
        or launch.barriers > limits.named_barriers_per_block
    )


def _beyond(dims: tuple[int, int, int] | None, allowed: tuple[int, int, int]) -> bool:
    return dims is not None and (
        dims[0] > allowed[0] or dims[1] > allowed[1] or dims[2] > allowed[2]
    )


def _forbidden(limits: Limits, launch: Launch) -> bool:
    from gpuadvise.advisor.occupancy.checks import first_fault  # few launches want the checks

    return first_fault(limits, launch) is not None
