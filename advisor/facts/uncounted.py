"""What a page tells of accesses and instructions that it does not count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.levels import COALESCED, MEMORY_BY_WORDS, MOST_OF_THE_TIME
from gpuadvise.advisor.facts.load_width import ONE_WORD, WORD, takes_bytes, takes_widest_words
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.streaming import draws_on_dram
from gpuadvise.advisor.facts.workload import (
    dram_bytes_per_request,
    has_shared_memory,
    requests_to_memory,
    waits_for,
)
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

LEAST_BUSY = number(
    0.1, "device memory at work", "share of its peak", "our judgement", LaunchSet.RECORDED
)
_MOST_FOUND = number(
    0.75,
    "loads that L1 serves of bytes taken one after the other",
    "share",
    "3 of the 4 bytes of a word are found",
    LaunchSet.RECORDED,
)
_SHARED_WORDS = number(
    0.1,
    "loads that L1 serves beside words that a whole warp reads",
    "share",
    "measured on an H100 and an H200: 0.1 to 0.5 with narrow loads beside, 0.02 to 0.04 with wide ones, which need few such words",
    LaunchSet.SEVENTH,
)
_ALL_SECTORS = number(
    0.95,
    "sectors that are not all stores'",
    "share",
    "our judgement: a kernel that fills shared memory loads something",
    LaunchSet.FOURTH,
)
_HARDLY = number(
    0.1,
    "sectors of global accesses per request to memory",
    "",
    "a request moves one or more, so that nine of ten go elsewhere",
    LaunchSet.RECORDED,
)


def looks_narrow(profile: KernelProfile) -> bool:
    """Return whether a kernel streams by words of 4 bytes or less, as far as its pipes and bytes tell."""
    per_request, launch, dram = (
        dram_bytes_per_request(profile),
        profile.launch,
        profile.dram_busy or 0.0,
    )
    if per_request is None or launch is None or profile.spill_requests:
        return False
    if takes_widest_words(profile):
        return False
    words = ONE_WORD if dram < MEMORY_BY_WORDS else 1
    return (
        waits_for(profile, Stall.LONG_SCOREBOARD, share=MOST_OF_THE_TIME)
        and not has_shared_memory(profile)
        and dram >= LEAST_BUSY
        and 0 < per_request <= WORD * WARP_SIZE * words
        and _uses_whole_sectors(profile)
        and draws_on_dram(profile)
    )


def _uses_whole_sectors(profile: KernelProfile) -> bool:
    """Return whether all loads use the sectors they move, or miss some for their offset alone.

    Where the page names unused bytes but no sectors in excess, some loads are of another kind.
    """
    used, sectors = profile.global_loads.used_bytes, profile.global_sectors
    if used is None or (sectors is None and takes_bytes(profile)):
        return sectors is None or sectors == profile.global_sectors_ideal
    if used <= SECTOR / 2:  # what a byte leaves, the next finds in L1
        used /= 1 - min(profile.l1_hit_rate or 0.0, _MOST_FOUND)
    if sectors is None:  # none in excess: some loads are of one word for a whole warp
        return (profile.l1_hit_rate or 0.0) >= _SHARED_WORDS
    return used >= COALESCED


def names_no_access(profile: KernelProfile) -> bool:
    """Return whether sectors in excess are of atomics or copies to shared memory.

    A page without counts names the loads and stores that use sectors in part, where there are any; but not
    the copies, whose excess stores would explain only if no load moved a sector.
    """
    loads, stores = profile.global_loads.used_bytes, profile.global_stores.used_bytes
    if not profile.is_without_counts or loads is not None:
        return False
    if stores is None:
        return True
    if not has_shared_memory(profile) or not profile.global_sectors:
        return False
    excess = 1 - (profile.global_sectors_ideal or 0.0) / profile.global_sectors
    return stores < SECTOR and excess >= _ALL_SECTORS * (1 - stores / SECTOR)


def hardly_global(profile: KernelProfile) -> bool:
    """Return whether hardly a request to memory can be a global one, by the sectors that those move."""
    requests, moved = requests_to_memory(profile), profile.global_sectors
    return requests is not None and moved is not None and moved < _HARDLY * requests
