"""Blocks with more work than others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import (
    UNEVEN,
    AtRoof,
    Imbalance,
    LatencyBound,
    TooLittleWork,
    UnknownLimiter,
    active_share,
    filled_share,
)
from gpuadvise.advisor.facts.workload import is_long, is_short
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.guide.execution.serial_last_block import last_block_alone
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

UNEVEN_IN_LATENCY = number(
    0.83,
    "uneven, with no unit at its roof",
    "share of the busiest SM's time",
    "our judgement: below it a fifth more throughput is in sight",
    LaunchSet.FOURTH,
)

_MEMORY_AT_WORK = number(
    0.5,
    "device memory that makes SMs end apart, whatever their work",
    "share of its peak",
    "measured on an H100 and an H200: at most 0.37 in 19 launches whose blocks differ, 0.59 in sums of even rows",
    LaunchSet.EIGHTH,
)


def check(
    profile: KernelProfile, limiter: Limiter, grid: tuple[int, int, int] | None = None
) -> Verdict:
    """Advise when multiprocessors idle because others still work."""
    if isinstance(limiter, UnknownLimiter):
        return undecided("profile.compute_throughput")
    if last_block_alone(profile, limiter, grid) is not None:
        return PASSED  # serial-last-block says more
    if (among := _uneven_among_few(profile, limiter)) is not None:
        return _longest_block(profile, among)
    share = limiter.share if isinstance(limiter, Imbalance) else _waits_unevenly(profile, limiter)
    if share is None:
        elsewhere = isinstance(limiter, AtRoof | TooLittleWork)
        unseen = active_share(profile) is None and not (elsewhere or is_short(profile))
        return undecided("profile.sm_cycles") if unseen else PASSED
    cycles = profile.sm_cycles
    least = (
        f"; the one with least work is busy {show_share(cycles.least / cycles.most)} of it"
        if cycles.least is not None and cycles.most
        else ""
    )
    return Advice(
        message=(
            f"A multiprocessor is busy {show_share(share)} of the time of the busiest one, on "
            f"average{least}."
        ),
        action=(
            "Cut the work into more and smaller pieces than there are SMs, or let blocks take the next "
            "piece from a counter (atomicAdd on 1 word) instead of a fixed range; deal rows out so that long and "
            "short ones alternate."
        ),
        evidence=(profiled("busy time of an SM, mean / most", share, "share"),),
        gain=Gain(
            kind=GainKind.KERNEL_TIME,
            upper_bound=1 / (filled_share(profile) or share),
            how="warps that an SM starts with / that it holds on average while the busiest one works",
        ),
    )


def _uneven_among_few(profile: KernelProfile, limiter: Limiter) -> float | None:
    """Return how busy the SMs that have a block are, of a grid that leaves others without one and ends unevenly; else None."""
    active = active_share(profile) if isinstance(limiter, TooLittleWork) else None
    if not isinstance(limiter, TooLittleWork) or active is None or not is_long(profile):
        return None
    among = min(1.0, active / limiter.share)
    return among if among <= UNEVEN else None


def _longest_block(profile: KernelProfile, among: float) -> Advice:
    return Advice(
        message=(
            f"Beside SMs without a block, those that have one are busy {show_share(among)} of the busiest one's time, on "
            "average: some of the few blocks have much more work than others."
        ),
        action=(
            "Cut the work into many more and smaller pieces than there are SMs, which fills the others too, and let blocks "
            "take the next piece from a counter (atomicAdd on 1 word)."
        ),
        evidence=(profiled("busy time of an SM with a block, mean / most", among, "share"),),
        gain=Gain(
            kind=GainKind.KERNEL_TIME,
            upper_bound=1 / (active_share(profile) or among),
            how="busiest SM's time / mean time of all SMs",
        ),
        separate=True,  # more blocks of the same unequal pieces still end with the longest
    )


def _waits_unevenly(profile: KernelProfile, limiter: Limiter) -> float | None:
    """Return how busy SMs are where none of their units is at its roof and some end much earlier; else None."""
    active = active_share(profile)
    if not isinstance(limiter, LatencyBound) or active is None or not is_long(profile):
        return None
    if limiter.starts is not None:
        return None  # SMs wait for blocks that the GPU starts as fast as it can: none has more work
    if (profile.dram_busy or 0.0) >= _MEMORY_AT_WORK:
        return None  # it serves SMs unevenly
    return active if active <= UNEVEN_IN_LATENCY else None


RULE = Rule(
    id="load-imbalance",
    title="Spread the work evenly",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.GRID,
    why="A kernel ends with its last block, and every SM that has finished before it idles.",
    when=(
        "A profile shows SMs busy for at most 75 % of the busiest one's time, no partial wave explains "
        "it, and the launch takes at least 20 us; at most 83 % where no unit is at its roof and device memory below 50 %; at most 75 % of "
        "the busiest one's time among those that have a block, where the grid leaves others without one."
    ),
    citations=guide("11.3", "10.5"),
    silenced_by=("tail-effect", "underfilled-device", "launch-bound"),
    check=check,
    examples=Examples(
        fires={
            "profile": {
                "issue_slots_busy": 0.47,
                "sm_cycles": {"least": 1e4, "mean": 2.5e5, "most": 5e5},
            }
        },
        quiet={
            "profile": {
                "issue_slots_busy": 0.47,
                "sm_cycles": {"least": 4.9e5, "mean": 4.95e5, "most": 5e5},
            }
        },
        edges=(
            {"profile": {"issue_slots_busy": 0.4, "sm_cycles": {"mean": 75, "most": 100}}},
            {"profile": {"issue_slots_busy": 0.4, "sm_cycles": {"mean": 76, "most": 100}}},
        ),
    ),
)
