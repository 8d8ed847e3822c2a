"""Sectors of global accesses: what is moved, what threads need, and what whole ones leave of each unit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.limiter import BY_LOADS, AtRoof, LatencyBound
from gpuadvise.advisor.facts.load_width import ONE_WORD, WORD
from gpuadvise.advisor.facts.shared_memory import shared_memory_share
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import l1_hits, relieved
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.peaks import peak
from gpuadvise.advisor.quantity import show_bytes, show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile, WarpRequests
    from gpuadvise.advisor.facts.limiter import Limiter

USED = number(
    0.8,
    "bytes used / moved",
    "share",
    "guide 10.2.1: a misaligned warp moves 5 sectors for 4, which caches mostly hide",
)
NOTABLE_PART = number(
    0.1,
    "part of the sectors that is worth a word",
    "share of all",
    "our judgement",
    LaunchSet.RECORDED,
)
NOTABLE_HITS = number(
    0.005,
    "loads that L1 serves, worth a word",
    "share of loads",
    "less does not show in a figure of three digits",
)
FAR_APART = number(
    2.0,
    "time of a sector far from the next, per time of a neighbouring one",
    "",
    "measured on an H200: at stride 32 it reaches 6.5 % of its rate where sectors alone allow 12.5 %",
    LaunchSet.RECORDED,
)
_SECTOR_WORDS = number(8.0, "words of a sector", "", "guide 10.2.1: 32 bytes")
_MOST_HITS = number(
    0.95,
    "loads that L1 serves, as far as the bound counts",
    "share",
    "so that no gain is without bound",
)
_OLD_INSTRUCTIONS = number(
    2.0,
    "pipe time of tensor instructions before Hopper's",
    "",
    "measured on an H100: unaligned rows keep the pipe 34 % busy at 16 % of its peak",
    LaunchSet.FOURTH,
)
_HOPPER = number(9, "Hopper", "major compute capability", "programming guide")
OF_SUMS = number(
    16.0,
    "bytes loaded per byte stored, of a kernel that adds up",
    "",
    "our judgement",
    LaunchSet.FIFTH,
)
SCATTERED = number(
    0.5,
    "loads through indices that come again",
    "share",
    "our judgement: half of them",
    LaunchSet.FIFTH,
)
UNSPLIT = number(
    0.25,
    "sectors that are loads', where a page does not tell",
    "share",
    "a stencil of 7 points loads 7 words and stores 1",
    LaunchSet.FIFTH,
)
_BY_HALF = number(
    2.0, "bytes moved for each that is used, beside such hits", "", "our judgement", LaunchSet.SIXTH
)
_MOSTLY = number(0.7, "loads that L1 has", "share", "our judgement", LaunchSet.SIXTH)
_WORD_SIZES = (1, 2, 4, 8, 16)
_FULL = number(0.75, "lanes of a warp at work", "share", "our judgement", LaunchSet.RECORDED)
_ROUNDED = number(0.01, "bytes of a word, with what rounding takes", "share", "our judgement")
_LITTLE_MORE = number(1.25, "bytes read per byte of a stream", "", "our judgement")


# Sectors that stores fill in part are put together in L2, which is half busy where that costs time: measured
# on an H100 and an H200, 55 % and 75 % where transposing stores were slow, 45 % where they were not.
L2_ROOM = number(
    0.5,
    "room in L2 for stores",
    "share",
    "measured on an H100 and an H200: 45 % where such stores cost nothing, 55 % and 75 % where they did",
    LaunchSet.RECORDED,
)


def waits_for_loads_alone(profile: KernelProfile | None, limiter: Limiter | None) -> bool:
    """Return whether stores take no time of their own: no warp waits for them, and L2 has room."""
    return (
        profile is not None
        and isinstance(limiter, LatencyBound)
        and limiter.stall == Stall.LONG_SCOREBOARD
        and (profile.l2_busy or 1.0) < L2_ROOM
    )


def ways_that_count(profile: KernelProfile | None) -> list[tuple[str, WarpRequests]]:
    """Return loads and stores that matter: a tenth of all sectors, or whatever a text names."""
    if profile is None:
        return []
    both = [("loads", _loads(profile)), ("stores", profile.global_stores)]
    known = [(way, requests) for way, requests in both if requests.used_bytes]
    whole = sum(requests.sectors or 0.0 for _, requests in known)
    stores = _stored_part(profile)
    return [
        (way, requests)
        for way, requests in known
        if (
            requests.sectors >= NOTABLE_PART * whole
            if requests.sectors is not None
            else stores is None or (stores if way == "stores" else 1 - stores) >= NOTABLE_PART
        )
    ]


def _loads(profile: KernelProfile) -> WarpRequests:
    """Return the loads, with what asynchronous copies to shared memory use, which pages count as 0.

    It follows from the sectors of both ways, less those of stores.
    """
    loads, stores = profile.global_loads, profile.global_stores
    moved, needed = profile.global_sectors, profile.global_sectors_ideal
    if loads.used_bytes != 0 or not loads.requests or moved is None or needed is None:
        return loads
    stored = stores.sectors or 0.0
    by_loads = needed - stored * (stores.used_bytes or 0.0) / SECTOR
    if moved <= stored or by_loads <= 0:
        return loads
    return replace(loads, used_bytes=min(SECTOR, SECTOR * by_loads / (moved - stored)))


def _stored_part(profile: KernelProfile) -> float | None:
    """Return the part of the sectors that stores move, where a page has no counts; None: not known.

    The sectors in excess are those of both ways: what loads alone explain leaves stores no part.
    """
    loads, stores = profile.global_loads.used_bytes, profile.global_stores.used_bytes
    if not loads or not stores or not profile.global_sectors or loads == stores:
        return None
    excess = 1 - (profile.global_sectors_ideal or 0.0) / profile.global_sectors
    of_loads, of_stores = 1 - loads / SECTOR, 1 - stores / SECTOR
    part = (excess - of_loads) / (of_stores - of_loads)
    # Beyond both, as in warps that are not full, the excess is not the two's alone.
    return part if -NOTABLE_PART <= part <= 1 + NOTABLE_PART else None


def _busy_with_shared_memory(profile: KernelProfile | None, share: float) -> bool:
    """Return whether passes of shared memory take most of L1's *share*, and sectors do not."""
    passes = shared_memory_share(profile) if profile else None
    return passes is not None and passes > share / 2


def moved_per_needed(
    profile: KernelProfile | None, ways: list[tuple[str, WarpRequests]], limiter: Limiter | None
) -> tuple[float, str]:
    """Return bytes moved / needed of the worse direction, and how that was worked out.

    Behind L1, unless L1 is the limit; where DRAM is the limit, what it moved, and at its full rate: whole
    sectors keep it busier.
    """
    if isinstance(limiter, AtRoof) and limiter.unit == Unit.DRAM and profile is not None:
        needed = (profile.global_sectors_ideal or 0.0) * SECTOR
        if needed and profile.dram_bytes is not None:
            return _moved_by_dram(profile.dram_bytes, needed, limiter.share)
    at_l1 = (
        isinstance(limiter, AtRoof)
        and limiter.unit in (Unit.L1_SHARED, Unit.LSU, Unit.MEMORY)
        and not _busy_with_shared_memory(profile, limiter.share)
    )
    moved = [
        _moved_by(way, requests, profile, at_l1=at_l1)
        for way, requests in ways
        if not (way == "stores" and waits_for_loads_alone(profile, limiter))
    ]
    return max(moved, default=(1.0, "no sector is moved in vain"))


def _moved_by_dram(moved: float, needed: float, busy: float) -> tuple[float, str]:
    """Return *moved* / *needed* bytes of device memory, at its full rate where the difference counts."""
    ratio = max(1.0, moved / needed)
    sizes = f"{show_bytes(round(moved))} / {show_bytes(round(needed))}"
    if ratio < 1 / USED:
        return ratio, f"DRAM bytes / needed bytes = {sizes}"
    return ratio / busy, f"DRAM bytes / needed bytes / DRAM busy = {sizes} / {show_share(busy)}"


def _moved_by(
    way: str, requests: WarpRequests, profile: KernelProfile | None, *, at_l1: bool
) -> tuple[float, str]:
    """Return bytes moved / needed of one direction; *at_l1*: L1 is the limit."""
    used = requests.used_bytes or SECTOR
    hit = 0.0 if at_l1 or way == "stores" or profile is None else (l1_hits(profile) or 0.0)
    factor = SECTOR / used
    if _side_by_side(requests, profile):
        return 1.0, f"{way} move no more sectors than a full warp's neighbouring words have"
    if requests.sectors_per_request:  # a request that moves one sector cannot move fewer
        factor = min(factor, max(1.0, requests.sectors_per_request))
    how = f"{way} move {SECTOR} bytes for {show_number(used)} used"
    lines = requests.sectors_per_request or (WARP_SIZE if used <= _SECTOR_WORDS else 0.0)
    # L1 looks a request's lines up one after the other; where half of each sector is used, wide words and
    # neighbouring rows make as many.
    if at_l1 and lines > factor and used < SECTOR / 2:
        factor = min(lines, WARP_SIZE)
        how = f"{way} look up {show_number(factor)} lines of L1 per request, 1 would do"
        if way == "loads" and (again := _found_again(profile)) > 1:
            factor *= again
            how += f", times {show_number(again)} requests for a line that a tile asks for once"
    words = factor > 1 and used <= WORD * ONE_WORD and not at_l1
    if words and (hit < 1 / 2 or _reads_beyond_words(profile, factor * (1 - hit))):
        factor, how = _far_apart(profile, factor, how)
    elif hit:
        factor *= 1 - hit
        if hit >= NOTABLE_HITS:
            how += f", times the {show_share(1 - hit)} that L1 does not hold"
    return factor, how


def _side_by_side(requests: WarpRequests, profile: KernelProfile | None) -> bool:
    """Return whether lanes take neighbouring words, and some of each warp take no part.

    What they leave of a sector another request of the warp takes, or none: the branch is what leaves it.
    """
    sectors, lanes = requests.sectors_per_request, profile.active_threads if profile else None
    if not sectors or lanes is None:
        return False
    return sectors <= WARP_SIZE / _SECTOR_WORDS and lanes < _FULL * WARP_SIZE


def _reads_beyond_words(profile: KernelProfile | None, factor: float) -> bool:
    """Return whether device memory moves more than *factor* times what threads need: lanes lie far apart there."""
    needed = (profile.global_sectors_ideal or 0.0) * SECTOR if profile else 0.0
    return profile is not None and 0 < factor * needed < (profile.dram_bytes or 0.0)


def _far_apart(profile: KernelProfile | None, factor: float, how: str) -> tuple[float, str]:
    """Return the bytes moved / needed of lanes far apart in device memory, which moves these more slowly.

    Where it moves more than their sectors, for it reads what a store leaves of one, at its full rate.
    """
    needed = (profile.global_sectors_ideal or 0.0) * SECTOR if profile else 0.0
    moved = (profile.dram_bytes or 0.0) if profile else 0.0
    slower = FAR_APART
    if profile and needed and moved > factor * needed:
        factor = moved / needed
        how = (
            f"DRAM bytes / needed bytes = {show_bytes(round(moved))} / {show_bytes(round(needed))}"
        )
        slower = max(FAR_APART, BY_LOADS / (profile.dram_busy or BY_LOADS))
    return factor * slower, f"{how}, times {show_number(slower)} for lanes far apart in DRAM"


def of_neighbours(profile: KernelProfile | None, factor: float, limiter: Limiter | None) -> bool:
    """Return whether L1 is busy with loads of which it has most, and whose sectors are used by half or more.

    Rows of neighbours that begin anywhere in a sector: what keeps them for the next result mends both.
    """
    at_l1 = isinstance(limiter, AtRoof) and limiter.unit in (Unit.L1_SHARED, Unit.LSU)
    return (
        at_l1
        and profile is not None
        and factor <= _BY_HALF
        and (l1_hits(profile) or 0.0) >= _MOSTLY
    )


def _found_again(profile: KernelProfile | None) -> float:
    """Return how often L1 has what loads ask for after it came once: a tile asks for it once."""
    hit = (l1_hits(profile) or 0.0) if profile else 0.0
    return 1 / (1 - min(hit, _MOST_HITS))


def with_whole_sectors(profile: KernelProfile, factor: float, device: Device) -> dict[str, float]:
    """Return what is left to the units that carry sectors; L1 carries shared memory as well."""
    left = relieved(
        profile,
        factor,
        Unit.DRAM,
        Unit.L2,
        Unit.MEMORY,
        Unit.LSU,
        Unit.ADU,
        Unit.ISSUE,
        Unit.ALU,
        Unit.XU,
    )
    shares = profile.unit_shares
    if Unit.DRAM in shares:
        left[Unit.DRAM] = max(left[Unit.DRAM], shares[Unit.DRAM] * _needed_of_dram(profile, device))
    if Unit.FMA in shares:  # it works out addresses too, which whole rows need once
        left[Unit.FMA] = max(profile.fp32_of_peak or 0.0, shares[Unit.FMA] / factor)
    if Unit.L1_SHARED in shares:
        # Copies to shared memory pass it with what they load, so that passes may exceed L1's share.
        shared = min(shared_memory_share(profile) or 0.0, shares[Unit.L1_SHARED])
        unshared = shares[Unit.L1_SHARED] - shared
        left[Unit.L1_SHARED] = shared + unshared / factor
    if Unit.TENSOR in shares:
        left[Unit.TENSOR] = min(
            shares[Unit.TENSOR], _tensor_work(profile, device, shares[Unit.TENSOR])
        )
    return left


def _needed_of_dram(profile: KernelProfile, device: Device) -> float:
    """Return the part of the bytes that device memory moves which threads need within the launch, at least.

    Words that are loaded again, in passes or by neighbours of a stencil, may come from a cache after the
    repair: where a kernel stores much, no more loads count than stores; where it does not, all of them if
    each lane streams words of its own. What L2 can hold at the end is written later.
    """
    loads, stores = profile.global_loads, profile.global_stores
    read, written, both = profile.dram_read, profile.dram_written, profile.dram_bytes
    if not both:
        return 0.0
    if read is None or written is None or loads.sectors is None or stores.sectors is None:
        needed = (profile.global_sectors_ideal or 0.0) * SECTOR
        return min(needed, both) * UNSPLIT / both
    loaded = loads.sectors * (loads.used_bytes or 0.0)
    stored = stores.sectors * (stores.used_bytes or 0.0)
    delivered = min(read, loaded)
    if stored * OF_SUMS >= loaded:
        delivered = min(delivered, stored)
    elif not _streams(profile, loaded):
        delivered *= SCATTERED
    later = device.l2_bytes or 0
    return min(1.0, (delivered + min(written, max(0.0, stored - later))) / both)


def _streams(profile: KernelProfile, loaded: float) -> bool:
    """Return whether lanes take words of one size, and device memory reads little besides: no indices, no lists."""
    used, read = profile.global_loads.used_bytes or 0.0, profile.dram_read or 0.0
    one_size = any(abs(used - size) <= _ROUNDED * size for size in _WORD_SIZES)
    return one_size and read <= _LITTLE_MORE * loaded


def _tensor_work(profile: KernelProfile, device: Device, share: float) -> float:
    """Return how busy the tensor cores would be at the peak's rate: aligned rows allow its instructions.

    Those for unaligned loads keep the pipe of a Hopper GPU, now busy for *share*, busy for longer.
    """
    older = share / _OLD_INSTRUCTIONS if device.capability.major >= _HOPPER else share
    if not profile.seconds or not any(profile.tensor_operations.values()):
        return older
    try:
        return sum(
            count / profile.seconds / peak(device, number_type, tensor=True).rate
            for number_type, count in profile.tensor_operations.items()
            if count
        )
    except BadInput:
        return older
