"""How many blocks the shared memory holds, and how large the SM makes it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.limits import RegisterAllocation, SharedMode
from gpuadvise.advisor.occupancy.launch import CachePreference

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.launch import Launch


# What the old cache preference means as a carveout from cc 7.0 on, per cent.
_CARVEOUT_OF = {CachePreference.SHARED: 100, CachePreference.EQUAL: 50, CachePreference.L1: 0}


def allocated(limits: Limits, launch: Launch) -> int:
    """Return the bytes one block takes from its SM, the driver's reserve included."""
    unit = limits.shared_memory_allocation_unit
    used = launch.static_shared + launch.dynamic_shared + limits.shared_memory_reserved_per_block
    return -(-used // unit) * unit


def allowance(limits: Limits, launch: Launch) -> int:
    """Return the bytes a block of this kernel may use, the reserve not counted."""
    if not launch.optin:
        return limits.shared_memory_per_block
    most = launch.max_dynamic_shared
    dynamic = launch.dynamic_shared if most is None else most
    reserve = limits.shared_memory_reserved_per_block
    if launch.static_shared + reserve + dynamic > limits.shared_memory_per_block:
        return limits.shared_memory_per_block_optin
    return limits.shared_memory_per_block


def fits(limits: Limits, launch: Launch, block: int) -> bool:
    """Return whether a block that takes *block* bytes may start at all.

    Static memory beyond the default is refused by the compiler, whatever the opt-in says.
    """
    if launch.static_shared > limits.shared_memory_per_block:
        return False
    most = launch.max_dynamic_shared
    if most is not None and launch.dynamic_shared > most:
        return False
    return block <= allowance(limits, launch) + limits.shared_memory_reserved_per_block


def capacity(limits: Limits, launch: Launch, block: int) -> int:
    """Return the shared memory that the SM is switched to for blocks of *block* bytes.

    A preference is a hint: the SM takes a larger size when a block would not fit.
    """
    wanted, sizes = preferred(limits, launch), limits.shared_memory_configs
    if wanted >= block and wanted in sizes:
        return wanted
    if limits.shared_memory_config_mode is not SharedMode.CARVEOUT:
        return sizes[0]
    least = max(wanted, block)
    return next((size for size in sizes if size >= least), sizes[-1])


def preferred(limits: Limits, launch: Launch) -> int:
    """Return the bytes per SM that the launch's carveout or cache preference asks for."""
    sizes = limits.shared_memory_configs
    match limits.shared_memory_config_mode:
        case SharedMode.CARVEOUT:
            return _percent(launch) * limits.shared_memory_per_sm // 100
        case SharedMode.CACHE_CONFIG:
            return sizes[_cache_index(launch.cache, len(sizes))]
        case SharedMode.FIXED:
            return sizes[0]
        case other:
            assert_never(other)


def _percent(launch: Launch) -> int:
    """Return the carveout asked for; an explicit one wins over the older preference."""
    if launch.carveout is not None:
        return launch.carveout
    if launch.cache is CachePreference.NONE:
        return 100
    return _CARVEOUT_OF[launch.cache]


def _cache_index(cache: CachePreference, sizes: int) -> int:
    if cache is CachePreference.L1:
        return sizes - 1
    # Two sizes (cc 2.x) have no middle: "equal" keeps the larger.
    return 1 if cache is CachePreference.EQUAL and sizes > 2 else 0


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
    resident, largest = _warps_held(limits, registers)
    return resident // warps if warps <= largest else 0


def blocks_by_warps(limits: Limits, registers: int) -> Callable[[int], int]:
    """Return what `blocks` says of one register count, for many numbers of warps."""
    by_block = limits.register_allocation is RegisterAllocation.BLOCK
    if by_block or registers > limits.max_registers_per_thread:
        return lambda warps: blocks(limits, warps, registers)
    resident, largest = _warps_held(limits, registers)
    return lambda warps: resident // warps if warps <= largest else 0


def resident_warps(limits: Limits, registers: int) -> int:
    """Return how many warps the registers of one SM hold, where each is charged by itself."""
    return _warps_held(limits, registers)[0]


# Block sizes are tried by the dozen at one register count, and kernels have the same counts again.
@lru_cache(maxsize=1024)
def _warps_held(limits: Limits, registers: int) -> tuple[int, int]:
    """Return the warps that one SM holds, and those of the largest block that passes the launch check."""
    charge = per_warp(limits, registers)
    parts, checked = limits.register_subpartitions, check_parts(limits)
    resident = limits.registers_per_sm // parts // charge * parts
    return resident, limits.registers_per_block // charge // checked * checked


def blocks_in_halves(limits: Limits, warps: int, registers: int) -> int:
    """Return how many blocks fit when each must stay in one half of the SM.

    That is the price of partitioned global caching; 0 means that no block fits a half.
    """
    parts = limits.register_subpartitions
    warps_per_part = limits.registers_per_sm // parts // per_warp(limits, registers)
    return warps_per_part * (parts // 2) // warps * 2
