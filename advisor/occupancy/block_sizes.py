"""Block sizes worth trying: the runtime helper's, and the guide's at equal occupancy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.occupancy import allocation
from gpuadvise.advisor.occupancy.launch import GlobalCaching
from gpuadvise.advisor.occupancy.model import occupancy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.launch import Launch

# Threads per block to start from: best practices guide, "Thread and Block Heuristics".
GUIDE_RANGE = range(128, 256 + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Block sizes for one kernel; each is a full answer of the model.

    ``helper`` is what ``cudaOccupancyMaxPotentialBlockSize`` returns: the largest block that
    keeps most threads resident. ``as_full`` lists all sizes that reach the same occupancy, the
    smallest first and a multiple of the warp each; ``guide`` those in the guide's range.
    """

    helper: Occupancy
    guide: tuple[Occupancy, ...]
    as_full: tuple[Occupancy, ...]


def suggest_block(limits: Limits, launch: Launch) -> Suggestion | None:
    """Return block sizes for the kernel of *launch*, whose own block size is not looked at.

    Shared memory is taken as constant but for its part per thread. ``None`` when no block starts.
    """
    helper = helper_block(limits, launch)
    if helper is None:
        return None
    every_size = [*sizes(limits, launch)][::-1]
    as_full = tuple(size for size in every_size if size.warps_per_sm >= helper.warps_per_sm)
    guide = tuple(size for size in as_full if _of_the_guide(limits, size.launch.threads))
    return Suggestion(helper=helper, guide=guide, as_full=as_full)


def helper_block(limits: Limits, launch: Launch) -> Occupancy | None:
    """Return the answer for the largest block that keeps most threads resident, if any starts.

    The block of *launch* is not looked at.
    """
    least = occupancy(limits, launch.with_threads(1))
    if not least.launchable:
        return None  # nor does a larger block
    best, most = 1, 0
    sizes = whole_warps(limits, launch)
    for size, blocks in zip(sizes, blocks_at_sizes(least, sizes), strict=True):
        resident = size * blocks
        if resident > most:
            best, most = size, resident
        if most == limits.max_threads_per_sm:
            break
    return occupancy(limits, launch.with_threads(best))


def best_block(limits: Limits, launch: Launch) -> int:
    """Return a block size for the kernel of *launch*: the guide's, where one does as well as any.

    Of the guide's the largest, which needs fewest blocks. Where none of them does, the smallest of
    the others: several blocks of an SM hide each other's waits. One warp where no block can
    start; clusters and grid are not looked at, for no block size mends them.
    """
    bare = replace(launch, cluster_dim=(1, 1, 1), grid_dim=None)
    suggestion = suggest_block(limits, bare)
    if suggestion is None:
        return limits.warp_size
    return (suggestion.guide[-1] if suggestion.guide else suggestion.as_full[0]).launch.threads


def _of_the_guide(limits: Limits, threads: int) -> bool:
    return threads in GUIDE_RANGE and threads % limits.warp_size == 0


def sizes(limits: Limits, launch: Launch) -> Iterator[Occupancy]:
    """Yield the answer for every block size, from the largest down, in whole warps."""
    for size in whole_warps(limits, launch):
        yield occupancy(limits, launch.with_threads(size))


def whole_warps(limits: Limits, launch: Launch) -> tuple[int, ...]:
    """Return the block sizes of whole warps that the kernel can be launched with, largest first."""
    largest = min(limits.max_threads_per_block, launch.max_threads or limits.max_threads_per_block)
    return _down_from(largest, limits.warp_size)


@lru_cache(maxsize=64)
def _down_from(largest: int, warp: int) -> tuple[int, ...]:
    aligned = range(-(-largest // warp) * warp, 0, -warp)
    return tuple(min(largest, size) for size in aligned)


def blocks_at(result: Occupancy, threads: int) -> int:
    """Return the blocks of *result*'s kernel that an SM has room for at another block size."""
    return next(blocks_at_sizes(result, (threads,)))


def blocks_at_sizes(result: Occupancy, sizes: Iterable[int]) -> Iterator[int]:
    """Yield for each of *sizes*, in threads, the blocks of *result*'s kernel that an SM has room for.

    Only warps and registers depend on the size; everything else is as in *result*, so this costs a
    tenth of the whole model. Faults of the launch are not looked at.
    """
    limits, launch = result.hardware, result.launch
    if launch.caching is not GlobalCaching.OFF or launch.dynamic_per_thread:
        for threads in sizes:
            whole = occupancy(limits, launch.with_threads(threads))
            yield min(most for most in whole.block_limits if most is not None)
        return
    _, most, _, by_shared, by_barriers = result.block_limits
    fixed = min([limit for limit in (most, by_shared, by_barriers) if limit is not None])
    slots, warp, registers = limits.max_warps_per_sm, limits.warp_size, launch.registers
    held = None if registers is None else allocation.blocks_by_warps(limits, registers)
    for threads in sizes:
        warps = -(-threads // warp)
        blocks = min(fixed, slots // warps)
        yield blocks if held is None else min(blocks, held(warps))


class Resident(NamedTuple):
    """What an SM holds of the same kernel at another block size."""

    threads: int
    blocks: int
    warps: int
    share: float


def at_sizes(result: Occupancy, warps_per_block: range) -> Iterator[Resident]:
    """Yield what an SM would hold at every block size of *warps_per_block*."""
    hardware = result.hardware
    sizes = [count * hardware.warp_size for count in warps_per_block]
    for threads, count, blocks in zip(
        sizes, warps_per_block, blocks_at_sizes(result, sizes), strict=True
    ):
        share = blocks * count / hardware.max_warps_per_sm
        yield Resident(threads=threads, blocks=blocks, warps=blocks * count, share=share)
