"""Global accesses of a warp that move more bytes than it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.access import best_remedy, coalesced, in_words, pattern_of
from gpuadvise.advisor.facts.atomics import are_scattered_atomics, waits_for_atomics
from gpuadvise.advisor.facts.gathers import gathers_from_l2
from gpuadvise.advisor.facts.sectors import (
    USED,
    moved_per_needed,
    of_neighbours,
    ways_that_count,
    with_whole_sectors,
)
from gpuadvise.advisor.facts.uncounted import hardly_global, names_no_access
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_bytes, show_number, show_share
from gpuadvise.rules.advice import Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.guide.memory.dependent_loads import follows_chains
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide, programming_guide
from gpuadvise.rules.thresholds import KEPT_IN_L1, STARTING

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.access import Access
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile, WarpRequests
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.memory.remedies import Remedy

# What "neighbouring lanes, neighbouring elements" comes down to in code.
_HOW = (
    " Let threadIdx.x run along the fastest index, keep one array per field instead of an array "
    "of structures, or load whole rows into shared memory and pick from there."
)


def check(
    device: Device,
    global_accesses: tuple[Access, ...] | None = None,
    sector_efficiency: float | None = None,
    profile: KernelProfile | None = None,
    limiter: Limiter | None = None,
) -> Verdict:
    """Advise for each described access, or for the profile, that uses below 80 % of its bytes."""
    advices = [_described(access, device) for access in global_accesses or ()]
    if sector_efficiency is not None and sector_efficiency < USED:
        advices.append(_profiled(sector_efficiency, profile, limiter, device))
    return tuple(advice for advice in advices if advice)


def _described(access: Access, device: Device) -> Advice | None:
    pattern = pattern_of(access)
    cost = coalesced(pattern, device.capability)
    # L1 keeps sectors between the instructions of one element, so each counts once.
    moved, used = cost.distinct_sectors, cost.cached_efficiency
    if used >= USED or moved <= cost.ideal_sectors:
        return None  # a broadcast uses little of its sector, and needs no other
    better = best_remedy(pattern, device.capability)
    kept = access.array_bytes is not None and access.array_bytes <= KEPT_IN_L1
    return Advice(
        message=(
            f'A warp\'s access "{access.name}" to {in_words(access)} moves '
            f"{plural(moved, 'sector')} of 32 bytes and uses {cost.bytes_used:,} of "
            f"{moved * SECTOR:,} bytes ({show_share(used)})."
            + (f" L1 keeps the {show_bytes(access.array_bytes or 0)} of the array." if kept else "")
        ),
        action=_remedy(better) if better else _gather(cost.ideal_sectors),
        evidence=(
            derived("sectors per request", moved, "sectors"),
            derived("bytes used / bytes moved", used, "share"),
        ),
        gain=Gain(
            kind=GainKind.GLOBAL_TRAFFIC,
            upper_bound=moved / cost.ideal_sectors,
            how=f"sectors moved / needed = {moved} / {cost.ideal_sectors}",
        ),
        priority=Priority.LOW if kept else None,
    )


def _remedy(better: Remedy) -> str:
    then = f"{better.how.rstrip('.')}: {show_share(better.efficiency)} of the bytes moved are used."
    return then + _HOW if better.name == "contiguous" else then


def _gather(ideal: int) -> str:
    return (
        "Read through shared memory: load rows with neighbouring threads on neighbouring words "
        f"({plural(ideal, 'sector')}), then gather there."
    )


def _profiled(
    efficiency: float, profile: KernelProfile | None, limiter: Limiter | None, device: Device
) -> Advice | None:
    ways = ways_that_count(profile)
    if profile and (names_no_access(profile) or are_scattered_atomics(profile)):
        return None  # atomic-contention and scattered-atomics say what helps
    if profile and follows_chains(profile):
        return None  # dependent-loads says what helps
    least = max(efficiency, 1 / SECTOR)
    factor, how = (
        moved_per_needed(profile, ways, limiter)
        if ways
        else (1 / least, f"sectors moved / sectors needed = 1 / {show_number(least)}")
    )
    if factor < 1 / USED or (profile and (waits_for_atomics(profile) or hardly_global(profile))):
        return None
    short = profile is not None and (profile.seconds or STARTING) < STARTING
    gathers = profile is not None and gathers_from_l2(profile)
    return Advice(
        message=(
            f"The profile counts {show_number(1 / efficiency)} sectors moved for each sector that global "
            f"loads and stores need ({show_share(efficiency)} used){_split(ways)}."
            if efficiency
            else "The profile counts sectors moved of which 0 were needed."
        ),
        action=_IN_ORDER if gathers else _SIDE_BY_SIDE,
        evidence=(profiled("sectors needed / sectors moved", efficiency, "share"),),
        gain=Gain(kind=GainKind.GLOBAL_TRAFFIC, upper_bound=factor, how=how),
        relief=with_whole_sectors(profile, factor, device) if profile else None,
        left={Unit.DRAM: "with the bytes that threads need"},
        priority=Priority.LOW
        if short or gathers or of_neighbours(profile, factor, limiter)
        else None,
    )


_SIDE_BY_SIDE = (
    "Let neighbouring threads take neighbouring words: index by threadIdx.x in the fastest dimension, turn arrays of "
    "structures into structures of arrays, or go through shared memory. Where indices decide, sort or group them, so "
    "that neighbouring threads take near words. `gpuadvise access` computes a pattern's cost."
)
_IN_ORDER = (
    "These look like gathers by index that L2 serves. If they are, only the order of the indices helps: sort or renumber "
    "them, so that neighbouring threads take near words, or keep the array small (16 bits, a part per pass) or in shared "
    "memory. If not, let neighbouring threads take neighbouring words."
)


def _split(ways: list[tuple[str, WarpRequests]]) -> str:
    sentences = [
        # A lane's word lies in 1 sector: what is counted beyond 32 was sent again.
        f"{way} move {show_number(min(requests.sectors_per_request, WARP_SIZE))} per request"
        if requests.sectors_per_request
        else f"{way} use {show_number(requests.used_bytes or 0)} of a sector's {SECTOR} bytes"
        for way, requests in ways
    ]
    return f": {and_list(sentences)}" if sentences else ""


RULE = Rule(
    id="uncoalesced-access",
    title="Coalesce global memory accesses",
    topic=Topic.MEMORY,
    priority=Priority.HIGH,
    kinds=(Kind.PATTERN, Kind.PROFILE, Kind.SOURCE),
    family=Family.COALESCING,
    recommendation=True,
    why="Memory moves whole 32-byte sectors, so what a warp does not use of them is lost bandwidth.",
    when=(
        "Less than 80 % of the bytes that a warp's access moves are used; low for profiled launches below 5 us, for arrays "
        "of 16 KiB or less, where L1 is busy with loads of which it has 70 % and whose sectors are used by half, and for gathers "
        "that L2 serves: loads use 6 to 14 bytes of a sector, L1 has less than 55 % of them, and device memory reads 0.85 bytes or less for each used. "
        "Stores do not count where a profile shows that warps wait for loads and L2 is less than half busy; nothing does "
        "where sectors are fewer than a tenth of the requests to memory, nor where SMs idle for lack of work, unless L1 is "
        "60 % busy while they work. Requests of a warp that is not full count from 5 sectors on. In a source: neighbouring threads access elements a row apart."
    ),
    citations=(*guide("10.2.1", "9.2.1"), programming_guide("Device Memory Accesses")),
    silenced_by=("bank-conflicts",),
    check=check,
    either=("global_accesses", "sector_efficiency"),
    examples=Examples(
        fires={"gpu": "h200", "accesses": [{"name": "a[2 * i]", "word": 4, "stride": 2}]},
        quiet={"gpu": "h200", "accesses": [{"name": "a[i]", "word": 4, "stride": 1}]},
        edges=(
            {"gpu": "h200", "accesses": [{"name": "a[i]", "word": 2, "offset": 1}]},
            {"gpu": "h200", "accesses": [{"name": "a[i]", "word": 4, "offset": 1}]},
        ),
    ),
)
