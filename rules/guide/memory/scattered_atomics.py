"""Atomics whose addresses the data decide: no index of a thread brings them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.atomics import are_scattered_atomics, waits_for_atomics
from gpuadvise.advisor.facts.sectors import USED, with_whole_sectors
from gpuadvise.advisor.facts.uncounted import names_no_access
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.rules.advice import PASSED, Advice, Confidence, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile


def check(device: Device, sector_efficiency: float, profile: KernelProfile) -> Verdict:
    """Advise where atomics move most of the sectors, and use them in part, without a queue."""
    if sector_efficiency >= USED or names_no_access(profile) or not are_scattered_atomics(profile):
        return PASSED
    if waits_for_atomics(profile) or sector_efficiency <= 0:
        return PASSED
    factor = 1 / max(sector_efficiency, 1 / SECTOR)
    return Advice(
        message=(
            f"Atomics move {show_number(1 / sector_efficiency)} sectors for each sector that they need "
            f"({show_share(sector_efficiency)} used): the addresses of a warp lie apart."
        ),
        action=(
            "If the order of the updates is yours, sort or bin them by address first, so that a warp's lie in "
            "few sectors; random updates of a table larger than L2 are this slow by nature."
        ),
        evidence=(profiled("sectors needed / sectors moved", sector_efficiency, "share"),),
        gain=Gain(
            kind=GainKind.GLOBAL_TRAFFIC,
            upper_bound=factor,
            how=f"sectors moved / sectors needed = 1 / {show_number(sector_efficiency)}",
        ),
        relief=with_whole_sectors(profile, factor, device),
    )


def _sectors(needed: float, moved_by_atomics: float = 8e6) -> dict[str, object]:
    return {
        "gpu": "h200",
        "profile": {
            "dram_throughput": 0.3,
            "global_sectors": 8e6,
            "global_sectors_ideal": needed,
            "reductions": {"requests": 2e6, "sectors": moved_by_atomics},
        },
    }


RULE = Rule(
    id="scattered-atomics",
    formerly="uncoalesced-access",
    title="Sort updates by address",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    kinds=(Kind.PROFILE,),
    family=Family.COALESCING,
    why="Memory moves whole 32-byte sectors, so what a warp does not use of them is lost bandwidth.",
    when=(
        "Atomics move half of the sectors of global accesses or more, less than 80 % of those are needed, and the "
        "atomics do not queue for few addresses."
    ),
    citations=(programming_guide("Atomic Functions"),),
    silenced_by=("bank-conflicts",),
    confidence=Confidence.POSSIBLE,
    check=check,
    examples=Examples(
        fires=_sectors(2e6),
        quiet=_sectors(2e6, moved_by_atomics=1e6),
        edges=(_sectors(6.3e6), _sectors(6.4e6)),
    ),
)
