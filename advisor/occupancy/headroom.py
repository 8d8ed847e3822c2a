"""What a kernel may still take without losing a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy import allocation
from gpuadvise.advisor.occupancy.budget import dynamic_shared_budget
from gpuadvise.advisor.occupancy.launch import GlobalCaching
from gpuadvise.advisor.occupancy.model import occupancy

if TYPE_CHECKING:
    from gpuadvise.advisor.occupancy.answer import Occupancy


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom:
    """The most a kernel may take, each alone, at the same blocks per SM.

    ``registers`` per thread, ``dynamic_shared`` bytes per block; ``None`` when the launch is
    impossible or its register count not known.
    """

    registers: int | None
    dynamic_shared: int | None


def headroom(result: Occupancy) -> Headroom:
    """Return what *result*'s kernel may take without losing a block."""
    if not result.launchable:
        return Headroom(registers=None, dynamic_shared=None)
    return Headroom(
        registers=free_registers(result),
        dynamic_shared=dynamic_shared_budget(result.hardware, result.launch, result.blocks_per_sm),
    )


def free_registers(result: Occupancy) -> int | None:
    """Return the most registers per thread at the same blocks per SM; None when not known."""
    count = result.launch.registers
    if count is None or not result.launchable:
        return None
    while count < result.hardware.max_registers_per_thread:
        if _blocks(result, count + 1) < result.blocks_per_sm:
            break
        count += 1
    return count


def _blocks(result: Occupancy, count: int) -> int:
    """Return the blocks that stay with *count* registers, as far as registers decide it."""
    if result.launch.caching is GlobalCaching.OFF:
        return allocation.blocks(result.hardware, result.warps_per_block, count)
    return occupancy(result.hardware, result.launch.but(registers=count)).blocks_per_sm
