"""A grid that brings each multiprocessor too few warps for what they wait for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.levels import MEMORY_BY_WORDS
from gpuadvise.advisor.facts.limiter import (
    L2_AT_ROOF,
    AtRoof,
    Imbalance,
    IssueBound,
    LatencyBound,
    UnknownLimiter,
)
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.workload import is_long
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import derived, given, profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.occupancy_words import grid_brings_few
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.occupancy.answer import Occupancy

# Of a warp's time: results it waits for, which other warps would hide. Half of it, so that twice the warps
# do twice the work.
WAITING = number(
    0.5,
    "waiting for results of loads, shared memory and arithmetic",
    "share of a warp's time",
    "twice the warps then do twice the work",
    LaunchSet.FOURTH,
)
WAITING_TO_ISSUE = number(
    0.35,
    "waiting for results, beside issue slots",
    "share of a warp's time",
    "our judgement: what issue slots leave is that wait",
    LaunchSet.SEVENTH,
)
_HIDDEN_BY_WARPS = (
    Stall.LONG_SCOREBOARD,
    Stall.SHORT_SCOREBOARD,
    Stall.WAIT,
    Stall.BRANCH_RESOLVING,
)


def check(
    sm_count: int,
    grid: tuple[int, int, int],
    profile: KernelProfile,
    limiter: Limiter,
    occupancy: Occupancy,
    concurrent: bool | None = None,
) -> Verdict:
    """Advise where fewer than half of the warps that would fit wait for results, and leave units room."""
    blocks = math.prod(grid)
    if concurrent or blocks < sm_count or not _leaves_room(profile):
        return PASSED
    signs = _signs(profile, limiter)
    if False in signs.values():
        return PASSED
    unknown = next((name for name, seen in signs.items() if seen is None), None)
    if unknown is not None:
        return undecided(unknown)
    slots = sm_count * occupancy.blocks_per_sm
    wait, busy = _waiting(profile), profile.dram_busy or 0.0
    return Advice(
        message=(
            f"{plural(blocks, 'block')} where {slots:,} fit at once: warps wait for "
            f"results {show_share(wait)} of their time, and device memory is {show_share(busy)} busy."
        ),
        action=(f"Launch {slots:,} blocks with less work each, or as many as there is work for."),
        evidence=(
            given("blocks in the grid", blocks, "blocks"),
            derived("blocks that fit at once", slots, "blocks"),
            profiled("device memory busy", busy, "share"),
        ),
        gain=None if waits_for_loads(profile) else in_slots(slots, blocks),
        priority=Priority.MEDIUM,
    )


def _leaves_room(profile: KernelProfile) -> bool:
    busy = max(profile.dram_busy or 0.0, profile.l1_busy or 0.0, profile.sm_busy or 0.0)
    return busy < MEMORY_BY_WORDS and (profile.l2_busy or 0.0) < L2_AT_ROOF


def _signs(profile: KernelProfile, limiter: Limiter) -> dict[str, bool | None]:
    """Return what shows that few warps wait, by the value that tells; None where nobody knows it."""
    issuing = isinstance(limiter, IssueBound) and limiter.few_warps is not None
    waits = issuing or isinstance(limiter, LatencyBound | AtRoof | Imbalance)
    enough = WAITING_TO_ISSUE if issuing else WAITING
    return {
        "profile.waves": None if profile.waves is None else grid_brings_few(profile),
        "profile.compute_throughput": None if isinstance(limiter, UnknownLimiter) else waits,
        "profile.stalls": _waiting(profile) >= enough if profile.stalls else None,
        "profile.time": None if profile.seconds is None else is_long(profile),
    }


def _waiting(profile: KernelProfile) -> float:
    """Return the share of a warp's time that goes to results which it waits for."""
    return sum(share for wait, share in profile.stalls.items() if wait in _HIDDEN_BY_WARPS)


def in_slots(slots: int, blocks: int) -> Gain:
    """Return the bound in block slots."""
    how = f"block slots / blocks = {slots:,} / {blocks}"
    return Gain(kind=GainKind.KERNEL_THROUGHPUT, upper_bound=slots / blocks, how=how)


def waits_for_loads(profile: KernelProfile) -> bool:
    """Return whether warps wait for loads most of all: less work per thread also has more of them under way at once.

    The number of blocks then bounds nothing; what units leave does.
    """
    wait = profile.top_stall
    return wait is not None and wait[0] == Stall.LONG_SCOREBOARD


def _waiting_blocks(grid: int, waves: float) -> dict[str, object]:
    stalls = {"long_scoreboard": 30, "wait": 3}
    profile = {"time": "200us", "waves": waves, "dram_throughput": 0.2, "issue_slots_busy": 0.1}
    launch = {"gpu": "h200", "regs": 32, "block": 256, "grid": grid}
    return {**launch, "profile": {**profile, "compute_throughput": 0.1, "stalls": stalls}}


RULE = Rule(
    id="few-blocks-per-sm",
    formerly="underfilled-device",
    title="Launch as many blocks as fit at once",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.LAUNCH, Kind.DEVICE, Kind.PROFILE),
    family=Family.GRID,
    why="While the few warps of an SM wait, it has no other one to issue for.",
    when=(
        "A profile of 20 us or more shows a block for each SM, but less than half of the blocks that fit at once, warps "
        "that wait for results half of their time, and no unit at 70 % (L2 75 %); 35 % of it where so few warps keep "
        "issue slots at 60 % or more."
    ),
    citations=guide("11.3", "10.5"),
    folds_into="launch-bound",
    fewer_launches=True,
    check=check,
    examples=Examples(
        fires=_waiting_blocks(264, 0.25),
        quiet=_waiting_blocks(1056, 1),
        edges=(_waiting_blocks(264, 0.49), _waiting_blocks(264, 0.5)),
    ),
)
