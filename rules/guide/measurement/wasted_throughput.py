"""Bytes that a profiled kernel moves and does not use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.atomics import are_scattered_atomics, waits_for_atomics
from gpuadvise.advisor.facts.counted_lines import LineCount
from gpuadvise.advisor.facts.limiter import AtRoof
from gpuadvise.advisor.facts.sectors import waits_for_loads_alone
from gpuadvise.advisor.facts.uncounted import hardly_global, names_no_access
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import relieved
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.quantity import show_rate, show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.thresholds import STARTING

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

WASTE = number(
    0.8,
    "efficiency",
    "share",
    "a misaligned warp, 4 of 5 sectors, is tolerated: guide 9.2.3, 10.2.1",
)


def check(
    profile: KernelProfile,
    sector_efficiency: float,
    memory_bandwidth: float | None = None,
    limiter: Limiter | None = None,
) -> Verdict:
    """Advise when less than 80 % of the sectors that loads and stores move are needed."""
    if sector_efficiency >= WASTE or profile.global_loads.used_bytes:
        return PASSED  # loads and stores apart: uncoalesced-access
    if profile.global_loads.used_bytes == 0 and profile.global_loads.requests:
        return PASSED  # asynchronous copies, which uncoalesced-access works out
    if waits_for_atomics(profile) or hardly_global(profile) or names_no_access(profile):
        return PASSED  # atomic-contention; local or shared memory; neither loads nor stores
    if are_scattered_atomics(profile):
        return PASSED  # of which uncoalesced-access says what helps
    if profile.global_stores.used_bytes and waits_for_loads_alone(profile, limiter):
        return PASSED  # only stores are wasteful, and nothing waits for them
    if _moves_what_is_needed(profile, limiter):
        return PASSED  # caches hide the rest from the limit
    wasted = 1 - sector_efficiency
    rate = _wasted_rate(profile, wasted, memory_bandwidth)
    return Advice(
        message=(
            f"Of the sectors that global loads and stores move, {show_share(sector_efficiency)} "
            f"are needed{rate}."
        ),
        action=_action(profile),
        evidence=(
            profiled("sectors needed / sectors moved", sector_efficiency, "share"),
            profiled("sectors moved", profile.global_sectors or 0, "sectors"),
        ),
        gain=Gain(
            kind=GainKind.GLOBAL_TRAFFIC,
            upper_bound=1 / max(sector_efficiency, 1 / 32),
            how="sectors moved / sectors needed",
        ),
        relief=relieved(
            profile,
            1 / max(sector_efficiency, 1 / 32),
            Unit.DRAM,
            Unit.L2,
            Unit.L1_SHARED,
            Unit.LSU,
        ),
        priority=Priority.LOW if (profile.seconds or STARTING) < STARTING else None,
    )


def _moves_what_is_needed(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether device memory is the limit, and moves hardly more than loads and stores need."""
    needed = (profile.global_sectors_ideal or 0.0) * SECTOR
    at_dram = isinstance(limiter, AtRoof) and limiter.unit == Unit.DRAM
    return at_dram and profile.dram_bytes is not None and profile.dram_bytes * WASTE <= needed


def _wasted_rate(profile: KernelProfile, wasted: float, bandwidth: float | None) -> str:
    if profile.dram_busy is None or bandwidth is None:
        return ""
    return f": up to {show_rate(profile.dram_busy * bandwidth * wasted)} carry nothing"


def _action(profile: KernelProfile) -> str:
    repair = "let neighbouring threads take neighbouring words there."
    if LineCount.SECTORS in profile.lines:
        return repair.capitalize()
    return (
        "Find the source line in the profile (ncu --page source, column L2 theoretical "
        f"sectors) and {repair}"
    )


RULE = Rule(
    id="wasted-throughput",
    title="Move only what is used",
    topic=Topic.MEASUREMENT,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.COALESCING,
    why="The difference between requested and actual throughput is bandwidth thrown away.",
    when="A profile shows that less than 80 % of the moved sectors are needed; low for launches below 5 us.",
    citations=guide("9.2.3", "8.2.3"),
    folds_into="uncoalesced-access",
    check=check,
    examples=Examples(
        fires={"profile": {"global_sectors": 8_000_000, "global_sectors_ideal": 1_000_000}},
        quiet={"profile": {"global_sectors": 1_000_000, "global_sectors_ideal": 1_000_000}},
        edges=(
            {"profile": {"global_sectors": 1_000_000, "global_sectors_ideal": 799_000}},
            {"profile": {"global_sectors": 1_000_000, "global_sectors_ideal": 800_000}},
        ),
    ),
)
