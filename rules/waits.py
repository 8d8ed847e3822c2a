"""Waits of a warp: which are long enough to be the one to shorten, and which more warps would hide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.busy import busy
from gpuadvise.advisor.facts.levels import LONG_WAIT, MEMORY_BY_WORDS, MOST_OF_THE_TIME
from gpuadvise.advisor.facts.limiter import (
    AT_ROOF,
    BARRIERS,
    SLOTS_LEFT,
    AtRoof,
    IssueBound,
    LastWave,
    LatencyBound,
    UnknownLimiter,
)
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import is_short
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.gain_bounds import near_roof
from gpuadvise.rules.occupancy_words import grid_brings_few
from gpuadvise.rules.thresholds import NO_TENSOR

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.facts.timing import Traffic, Work

# Code that misses the instruction or the constant cache stops every warp that comes there: of the launches
# recorded here, none of 20 us or more loses over 15 % of a warp's time. The profiler's own rule speaks from here on.
AT_CACHES = number(
    0.3,
    "at the instruction or constant cache",
    "share of a warp's time",
    "Nsight Compute's own level for a stall",
    LaunchSet.RECORDED,
)
_CACHES = (Stall.NO_INSTRUCTION, Stall.IMC_MISS)
HALF = number(
    0.5,
    "unit left over",
    "share of its peak",
    "our judgement: a busier one leaves less than a factor of two",
    LaunchSet.RECORDED,
)
NEAR = number(
    0.57,
    "unit left over, beside one wait of 70 %",
    "share",
    "memory reaches 90 % at its best: a factor of 1.6 is left",
    LaunchSet.RECORDED,
)
TOGETHER = number(
    0.55,
    "loads and barriers behind them",
    "share of a warp's time",
    "our judgement: one tile loaded ahead shortens both",
    LaunchSet.SIXTH,
)
NEARLY_ALL = number(
    0.8,
    "one wait beside which hardly any time is left",
    "share of a warp's time",
    "our judgement",
    LaunchSet.RECORDED,
)
NOTABLE_WAIT = number(
    0.1,
    "at barriers behind loads, counted from",
    "share of a warp's time",
    "our judgement: warps of a block meet there for what others load",
    LaunchSet.FOURTH,
)
FEWEST_HELD = number(
    0.15,
    "two warps per scheduler",
    "achieved occupancy",
    "2 of a scheduler's 16, and somewhat more",
    LaunchSet.SIXTH,
)


def wants_warps(limiter: Limiter | None) -> bool:
    """Return whether more warps could lift *limiter*, as far as it is known."""
    match limiter:
        case None | UnknownLimiter():
            return True
        case LatencyBound():
            return limiter.share is None or limiter.share >= LONG_WAIT
        case _:
            return False


def warps_may_help(
    limiter: Limiter | None,
    profile: KernelProfile | None,
    traffic: Traffic | None,
    device: Device,
    work: Work | None,
) -> bool:
    """Return whether more warps could win time: no unit is busy, or memory is not as busy as it could be."""
    if near_roof(limiter) or _waits_in_each_block(limiter, profile):
        return True
    if isinstance(limiter, LatencyBound) and _two_per_scheduler(profile):
        return not busy(profile, traffic, device, work)
    return wants_warps(limiter) and not busy(profile, traffic, device, work)


def _two_per_scheduler(profile: KernelProfile | None) -> bool:
    """Return whether a scheduler has about two warps, none of which works on tensor cores.

    Whatever each of them waits for, and be it for several things, there is hardly another one to issue meanwhile.
    """
    held = profile.achieved_occupancy if profile else None
    tensor = profile.pipes.get(Unit.TENSOR, 0.0) if profile else 0.0
    return held is not None and 0 < held <= FEWEST_HELD and tensor < NO_TENSOR


def _waits_in_each_block(limiter: Limiter | None, profile: KernelProfile | None) -> bool:
    """Return whether the blocks of a launch that ends in a part of a wave wait, and leave units idle."""
    wait = profile.top_stall if profile else None
    waits = wait is not None and wait[1] >= LONG_WAIT
    return isinstance(limiter, LastWave) and waits and not busy(profile)


def wait_at_roof(profile: KernelProfile, limiter: Limiter) -> LatencyBound | None:
    """Return the wait for loads of a kernel at a roof that more loads under way would keep busier.

    None where there is none; at device memory's also where it is not nearly all of a warp's time.
    """
    wait, dram = profile.top_stall, profile.dram_busy or 1.0
    if isinstance(limiter, IssueBound) and limiter.for_loads is not None:
        return LatencyBound(
            stall=Stall.LONG_SCOREBOARD,
            share=limiter.for_loads,
            unit=Unit.ISSUE,
            busy=limiter.share,
        )
    if not isinstance(limiter, AtRoof) or not near_roof(limiter) or wait is None:
        return None
    behind = at_barriers_behind(profile, wait[0]) if limiter.unit == Unit.L2 else 0.0
    if dram >= MEMORY_BY_WORDS or wait[1] + behind < _nearly_all(profile):
        return None
    busy_now = profile.dram_busy or limiter.share
    return LatencyBound(stall=wait[0], share=wait[1], unit=Unit.DRAM, busy=busy_now)


def _nearly_all(profile: KernelProfile) -> float:
    """Return the share of a warp's time from which a wait for loads leaves little else.

    A grid that leaves most of each SM empty has few loads under way for sure: there less of it tells.
    """
    return MOST_OF_THE_TIME if grid_brings_few(profile) else NEARLY_ALL


def at_barriers_behind(profile: KernelProfile, stall: str) -> float:
    """Return the share of a warp's time at barriers, where it waits there for what other warps load.

    In a short launch that is how its blocks start.
    """
    share = profile.stalls.get(Stall.BARRIER, 0.0)
    counts = stall == Stall.LONG_SCOREBOARD and share >= NOTABLE_WAIT
    return share if counts and not is_short(profile) else 0.0


def most_left(profile: KernelProfile, limiter: LatencyBound) -> float:
    """Return how busy a unit may stay for the wait to be worth an hour."""
    if limiter.unit == Unit.ISSUE and limiter.busy >= AT_ROOF:
        return SLOTS_LEFT
    behind = at_barriers_behind(profile, limiter.stall or "")
    share = (limiter.share or 0.0) + behind
    if share < (TOGETHER if behind else MOST_OF_THE_TIME):
        return HALF
    for_loads = limiter.stall == Stall.LONG_SCOREBOARD and share >= _nearly_all(profile)
    below = limiter.unit in (Unit.DRAM, Unit.L2) and limiter.busy < MEMORY_BY_WORDS
    return MEMORY_BY_WORDS if for_loads and below else NEAR


def long_enough(stall: str) -> float:
    """Return the share of a warp's time from which *stall* is the one to shorten."""
    if stall == Stall.BARRIER:
        return BARRIERS
    return AT_CACHES if stall in _CACHES else LONG_WAIT
