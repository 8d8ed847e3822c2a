"""Blocks with more work than others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import (
    SHORT,
    AtRoof,
    Imbalance,
    LatencyBound,
    TooLittleWork,
    UnknownLimiter,
    active_share,
    filled_share,
)
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Family,
    Gain,
    GainKind,
    Kind,
    Priority,
    Rule,
    Topic,
    Verdict,
    undecided,
)
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

# Where no unit is at its roof, so that idle SMs are lost time: from here on a fifth more throughput is in sight.
UNEVEN_IN_LATENCY = number(
    0.83,
    "uneven, with no unit at its roof",
    "share of the busiest SM's time",
    "our judgement: below it a fifth more throughput is in sight",
    LaunchSet.FOURTH,
)


def check(profile: KernelProfile, limiter: Limiter) -> Verdict:
    """Advise when multiprocessors idle because others still work."""
    if isinstance(limiter, UnknownLimiter):
        return undecided("profile.compute_throughput")
    share = limiter.share if isinstance(limiter, Imbalance) else _waits_unevenly(profile, limiter)
    if share is None:
        elsewhere = isinstance(limiter, AtRoof | TooLittleWork)
        brief = profile.seconds is not None and profile.seconds <= SHORT
        unseen = active_share(profile) is None and not (elsewhere or brief)
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


def _waits_unevenly(profile: KernelProfile, limiter: Limiter) -> float | None:
    """Return how busy SMs are where none of their units is at its roof and some end much earlier; else None."""
    active = active_share(profile)
    brief = (profile.seconds or 0.0) <= SHORT
    if not isinstance(limiter, LatencyBound) or active is None or brief:
        return None
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
        "it, and the launch takes at least 20 us; at most 83 % where no unit is at its roof."
    ),
    citations=guide("11.3", "10.5"),
    silenced_by=(
        "tail-effect",
        "underfilled-device",
        "launch-bound",
    ),
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
