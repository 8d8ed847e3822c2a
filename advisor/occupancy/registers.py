"""How many blocks the register file holds (programming guide; cuda_occupancy.h)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.limits import RegisterAllocation

if TYPE_CHECKING:
    from gpuadvise.advisor.limits import Limits


def per_warp(limits: Limits, registers: int) -> int:
    """Return the registers one warp is charged for *registers* per thread (cc 2.0 and later)."""
    unit = limits.register_allocation_unit
    if registers in limits.register_allocation_unit_special_counts:
        unit = limits.register_allocation_unit_special or unit
    return -(-limits.warp_size * registers // unit) * unit


def per_block(limits: Limits, warps: int, registers: int) -> int:
    """Return the registers allocated to a block of *warps*."""
    if limits.register_allocation is RegisterAllocation.BLOCK:
        unit, pair = limits.register_allocation_unit, limits.warp_allocation_granularity
        charged = -(-warps // pair) * pair * limits.warp_size * registers
        return -(-charged // unit) * unit
    return warps * per_warp(limits, registers)


def checked_per_block(limits: Limits, warps: int, registers: int) -> int:
    """Return the registers that the launch check counts: never fewer than are allocated.

    The check assumes that a block takes warps from all parts of the file at once.
    """
    if limits.register_allocation is RegisterAllocation.BLOCK:
        return per_block(limits, warps, registers)
    parts = check_parts(limits)
    return -(-warps // parts) * parts * per_warp(limits, registers)


def check_parts(limits: Limits) -> int:
    """Return the parts of the register file that the launch check assumes.

    A block must fit every chip of its family: cc 6.0, the only one with two parts and warps
    charged in steps of 256, is checked like its siblings with four.
    """
    parts = limits.register_subpartitions
    return 4 if (parts, limits.register_allocation_unit) == (2, 256) else parts


def blocks(limits: Limits, warps: int, registers: int) -> int:
    """Return how many blocks of *warps* the registers of one SM hold; 0 if none can start."""
    if registers > limits.max_registers_per_thread:
        return 0
    if limits.register_allocation is RegisterAllocation.BLOCK:
        return limits.registers_per_sm // per_block(limits, warps, registers)
    charge = per_warp(limits, registers)
    parts, checked = limits.register_subpartitions, check_parts(limits)
    if charge * -(-warps // checked) * checked > limits.registers_per_block:
        return 0
    return limits.registers_per_sm // parts // charge * parts // warps


def blocks_in_halves(limits: Limits, warps: int, registers: int) -> int:
    """Return how many blocks fit when each must stay in one half of the SM.

    That is the price of partitioned global caching; 0 means that no block fits a half.
    """
    parts = limits.register_subpartitions
    warps_per_part = limits.registers_per_sm // parts // per_warp(limits, registers)
    return warps_per_part * (parts // 2) // warps * 2
