"""Gathers by index that L2 serves: nothing of them can be coalesced, but what the indices say may be ordered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.workload import l1_hits
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_LEAST_USED = number(
    6.0,
    "bytes used of a sector by loads of which some are gathers, at least",
    "bytes",
    "arithmetic: 7 for one gather of 4 bytes beside one load along a warp; loads of one pattern use a word of 1 to 4 bytes",
    LaunchSet.NINTH,
)
_MOST_USED = number(
    14.0,
    "bytes used of a sector by loads of which some are gathers, at most",
    "bytes",
    "arithmetic: 12 for one gather beside three loads along a warp; more are streams with an offset",
    LaunchSet.NINTH,
)
_READ_PER_USE = number(
    0.85,
    "bytes that device memory reads, of gathers that L2 serves",
    "per byte used",
    "measured in 27 gathers by index of nine sets: 0.16 to 0.78; loads across rows read each byte once: 0.94 to 1",
    LaunchSet.NINTH,
)
_LEAST_READ = number(
    0.05,
    "bytes that device memory reads beside gathers that L2 serves, at least",
    "per byte used",
    "our judgement: with less the kernel reads again what it wrote",
    LaunchSet.NINTH,
)
_SERVED_BY_L1 = number(
    0.55,
    "loads that L1 has, of gathers that L2 serves",
    "share",
    "measured in those: 0 to 0.49; passes of transforms 0.6, rows of a thread more",
    LaunchSet.NINTH,
)
_OF_STORES = number(
    0.5,
    "bytes that stores use of a sector beside gathers, or they are few",
    "share",
    "our judgement: what stores waste is no gather",
    LaunchSet.NINTH,
)
_FEW = number(0.1, "sectors of stores", "share of all", "our judgement", LaunchSet.NINTH)


def gathers_from_l2(profile: KernelProfile) -> bool:
    """Return whether loads by index, beside others along a warp, use sectors in part, and L2 serves them.

    What a walk across rows uses comes from device memory once; the words of indices come again while L2 has them.
    """
    used, read = profile.global_loads.used_bytes, _read_per_use(profile)
    return (
        used is not None
        and _LEAST_USED <= used <= _MOST_USED
        and (l1_hits(profile) or 0.0) < _SERVED_BY_L1
        and read is not None
        and _LEAST_READ <= read <= _READ_PER_USE
        and not _wastes_stores(profile)
    )


def _read_per_use(profile: KernelProfile) -> float | None:
    """Return the bytes that device memory reads per byte that loads use; both ways together where a page tells no more."""
    read, used = profile.dram_read, profile.global_loads.bytes_used
    if read is None or used is None:
        read, ideal = profile.dram_bytes, profile.global_sectors_ideal
        used = None if ideal is None else ideal * SECTOR
    return read / used if read is not None and used else None


def _wastes_stores(profile: KernelProfile) -> bool:
    stores, loads = profile.global_stores, profile.global_loads
    if stores.sectors is None or loads.sectors is None or stores.used_bytes is None:
        return False
    many = stores.sectors >= _FEW * (stores.sectors + loads.sectors)
    return many and stores.used_bytes < _OF_STORES * SECTOR
