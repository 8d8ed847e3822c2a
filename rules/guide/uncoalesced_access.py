"""Global accesses of a warp that move more bytes than it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.access import best_remedy, coalesced, in_words, pattern_of
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.model import (
    Advice,
    Evidence,
    Examples,
    Gain,
    Kind,
    Priority,
    Rule,
    Threshold,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import guide, programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.access import Access
    from gpuadvise.advisor.memory.coalescing import AccessCost as Cost
    from gpuadvise.advisor.memory.remedies import Remedy

USED = 0.8
# What "neighbouring lanes, neighbouring elements" comes down to in code.
_HOW = (
    " Let threadIdx.x run along the fastest index, keep one array per field instead of an array "
    "of structures, or load whole rows into shared memory and pick from there."
)


def check(
    device: Device,
    global_accesses: tuple[Access, ...] | None = None,
    sector_efficiency: float | None = None,
) -> Verdict:
    """Advise for each described access, or for the profile, that uses below 80 % of its bytes."""
    found = [_described(access, device) for access in global_accesses or ()]
    if sector_efficiency is not None and sector_efficiency < USED:
        found.append(_profiled(sector_efficiency))
    return tuple(advice for advice in found if advice)


def _described(access: Access, device: Device) -> Advice | None:
    pattern = pattern_of(access)
    cost = coalesced(pattern, device.capability)
    # L1 keeps sectors between the instructions of one element, so each counts once.
    moved, used = cost.distinct_sectors, cost.cached_efficiency
    if used >= USED or moved <= cost.ideal_sectors:
        return None  # a broadcast uses little of its sector, and needs no other
    better = best_remedy(pattern, device.capability)
    return Advice(
        message=(
            f'A warp\'s access "{access.name}" to {in_words(access)} moves '
            f"{plural(moved, 'sector')} of 32 bytes and uses {cost.bytes_used:,} of "
            f"{moved * SECTOR:,} bytes ({show_share(used)})."
        ),
        action=_remedy(better) if better else _gather(cost.ideal_sectors),
        evidence=_evidence(cost),
        gain=Gain(
            kind="global memory traffic",
            upper_bound=moved / cost.ideal_sectors,
            how=f"sectors moved / needed = {moved} / {cost.ideal_sectors}",
        ),
    )


def _remedy(better: Remedy) -> str:
    then = f"{better.how.rstrip('.')}: {show_share(better.efficiency)} of the bytes moved are used."
    return then + _HOW if better.name == "contiguous" else then


def _gather(ideal: int) -> str:
    return (
        "Read through shared memory: load rows with neighbouring threads on neighbouring words "
        f"({plural(ideal, 'sector')}), then gather there."
    )


def _evidence(cost: Cost) -> tuple[Evidence, ...]:
    return (
        derived("sectors per request", cost.distinct_sectors, "sectors"),
        derived("bytes used / bytes moved", cost.cached_efficiency, "share"),
    )


def _profiled(efficiency: float) -> Advice:
    return Advice(
        message=(
            f"The profile counts {show_number(1 / efficiency)} sectors moved for each sector that global "
            f"loads and stores need ({show_share(efficiency)} used)."
            if efficiency
            else "The profile counts sectors moved of which 0 were needed."
        ),
        action=(
            "Let neighbouring threads take neighbouring words: index by threadIdx.x in the "
            "fastest dimension, turn arrays of structures into structures of arrays, or go "
            "through shared memory. `gpuadvise access` computes a pattern's cost."
        ),
        evidence=(profiled("sectors needed / sectors moved", efficiency, "share"),),
        gain=Gain(
            kind="global memory traffic",
            upper_bound=1 / max(efficiency, 1 / 32),
            how="sectors moved / sectors needed",
        ),
    )


RULE = Rule(
    id="uncoalesced-access",
    title="Coalesce global memory accesses",
    topic=Topic.MEMORY,
    priority=Priority.HIGH,
    kinds=(Kind.PATTERN, Kind.PROFILE),
    recommendation=True,
    why="Memory moves whole 32-byte sectors, so what a warp does not use of them is lost bandwidth.",
    when="Less than 80 % of the bytes that a warp's access moves are used.",
    thresholds=(
        Threshold(
            name="bytes used / moved",
            value=USED,
            unit="share",
            source="guide 10.2.1: a misaligned warp moves 5 sectors for 4, which caches mostly hide",
        ),
    ),
    citations=(*guide("10.2.1", "9.2.1"), programming_guide("Device Memory Accesses")),
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
