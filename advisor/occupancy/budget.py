"""The other way round: what a kernel may take so that a number of blocks stays resident."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.limits import RegisterAllocation
from gpuadvise.advisor.occupancy import allocation
from gpuadvise.advisor.occupancy.model import occupancy

if TYPE_CHECKING:
    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.launch import Launch


def register_budget(limits: Limits, threads: int, blocks: int) -> int | None:
    """Return the most registers per thread with which the file holds *blocks* of *threads*.

    The compiler derives the budget of ``__launch_bounds__(threads, blocks)`` so. ``None`` when
    no register count does it. Other resources are not looked at.
    """
    warps = -(-threads // limits.warp_size)
    if _regular(limits):
        most = _closed_form(limits, warps, blocks)
        return most if most > 0 else None
    counts = range(limits.max_registers_per_thread, 0, -1)
    return next((n for n in counts if allocation.blocks(limits, warps, n) >= blocks), None)


def _regular(limits: Limits) -> bool:
    """Return whether the charge of a warp is plain rounding (cc 3.0 and later)."""
    per_warp = limits.register_allocation is RegisterAllocation.WARP
    return per_warp and limits.register_allocation_unit_special is None


def _closed_form(limits: Limits, warps: int, blocks: int) -> int:
    parts, checked = limits.register_subpartitions, allocation.check_parts(limits)
    warps_per_part = -(-blocks * warps // parts)
    checked_warps = -(-warps // checked) * checked
    per_warp = min(
        limits.registers_per_sm // parts // warps_per_part,
        limits.registers_per_block // checked_warps,
    )
    unit = limits.register_allocation_unit
    return min(limits.max_registers_per_thread, per_warp // unit * unit // limits.warp_size)


def dynamic_shared_budget(limits: Limits, launch: Launch, blocks: int) -> int | None:
    """Return the most dynamic shared memory, in bytes, with which *blocks* stay resident.

    All resources are looked at. ``None`` when not even 0 bytes do it.
    """
    block = block_bytes_budget(limits, launch, blocks)
    if block is None:
        return None
    room = block - launch.static_shared - limits.shared_memory_reserved_per_block
    if launch.max_dynamic_shared is not None:
        room = min(room, launch.max_dynamic_shared)
    if room < 0 or occupancy(limits, replace(launch, dynamic_shared=room)).blocks_per_sm < blocks:
        return None
    return room


def block_bytes_budget(limits: Limits, launch: Launch, blocks: int) -> int | None:
    """Return the most bytes a block may take of its SM, reserve included, for *blocks* of them.

    For each size the SM can be switched to, the largest block that fits often enough; the SM
    must then really be switched to a size that large. (The count may rise where a block outgrows
    the small setting of cc 3.x, so this is no search by bisection.)
    """
    unit, reserve = limits.shared_memory_allocation_unit, limits.shared_memory_reserved_per_block
    most = limits.shared_memory_per_block
    if launch.optin:
        most = limits.shared_memory_per_block_optin
    largest = None
    for size in limits.shared_memory_configs:
        block = min(size // blocks, most + reserve) // unit * unit
        holds = block and allocation.capacity(limits, launch, block) // block >= blocks
        if holds and (largest is None or block > largest):
            largest = block
    return largest


@dataclass(frozen=True, slots=True, kw_only=True)
class Wider:
    """A build with more registers per thread, and what an SM then holds."""

    registers: int
    threads: int  # that the bounds promise
    after: Occupancy

    @property
    def bounds(self) -> str:
        """What lets the compiler use them."""
        return f"__launch_bounds__({self.threads}, {self.after.blocks_per_sm})"


def wider(result: Occupancy, wanted: int | None = None) -> Wider | None:
    """Return the step up: *wanted* registers, or what one block fewer leaves; None at the end.

    Registers that the blocks leave free come first, for they cost nothing.
    """
    launch, hardware = result.launch, result.hardware
    most = hardware.max_registers_per_thread
    if not launch.registers or launch.registers >= most or not result.launchable:
        return None
    blocks = result.blocks_per_sm
    threads = launch.threads  # bounds for more would leave room for fewer blocks, or be ignored
    enough = launch.registers + 1 if wanted is None else min(wanted, most)
    while blocks:
        registers = register_budget(hardware, threads, blocks) or 0
        if registers >= enough:
            after = occupancy(hardware, launch.but(registers=min(registers, most)))
            return Wider(registers=min(registers, most), threads=threads, after=after)
        blocks -= 1
    return None
