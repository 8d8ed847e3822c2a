"""How many blocks the shared memory holds, and how large the SM makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.limits import SharedMode
from gpuadvise.advisor.occupancy.launch import CachePreference

if TYPE_CHECKING:
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
