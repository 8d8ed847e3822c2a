"""A last block that adds up alone what all the others left."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import library_of
from gpuadvise.advisor.facts.limiter import (
    AtRoof,
    Imbalance,
    LatencyBound,
    UnknownLimiter,
    active_share,
)
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import given, profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.thresholds import STARTING

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

# A block that counts itself by an atomic with a result knows whether it is the last, which adds up what all left.
COUNTED = number(
    1.05,
    "atomics with a result, at most",
    "per block",
    "one each, and a few of another kind",
    LaunchSet.SIXTH,
)
_MANY_BLOCKS = number(
    1000,
    "blocks whose sums one block adds up",
    "blocks",
    "our judgement: fewer take no time",
    LaunchSet.SIXTH,
)
ALONE = number(
    0.88,
    "the last block alone",
    "share of the busiest SM's time",
    "our judgement: an eighth of the time, in which one block works, can be won",
    LaunchSet.SIXTH,
)


def check(
    profile: KernelProfile, limiter: Limiter, grid: tuple[int, int, int] | None = None
) -> Verdict:
    """Advise when one block works while the SMs of all others idle."""
    if isinstance(limiter, UnknownLimiter):
        return undecided("profile.compute_throughput")
    active = last_block_alone(profile, limiter, grid)
    if active is None or grid is None:
        unknown = _unknown(profile, grid)
        return undecided(unknown) if unknown and _ends_early(profile, limiter) else PASSED
    blocks = math.prod(grid)
    idle = (1 - active) * (profile.seconds or 0.0)
    return Advice(
        message=(
            f"Each of {blocks:,} blocks makes one atomic that returns a value, and SMs are busy {show_share(active)} of "
            f"the busiest one's time: for about {show_seconds(idle)} the last block adds up alone what the others left."
        ),
        action=(
            "Leave it less: launch as many blocks as fit at once, each with a loop over the data, so that a few hundred "
            "sums remain, and let all threads of the last block add them with loads that do not wait for each other; or let "
            "each block add its own sum by one atomicAdd. cub::DeviceReduce does so."
        ),
        evidence=(
            profiled("busy time of an SM, mean / most", active, "share"),
            profiled("atomics with a result", profile.global_atomics.requests or 0.0, "requests"),
            given("blocks in the grid", blocks, "blocks"),
        ),
        gain=Gain(
            kind=GainKind.KERNEL_TIME,
            upper_bound=1 / active,
            how="busiest SM's time / an SM's mean time",
        ),
    )


def last_block_alone(
    profile: KernelProfile, limiter: Limiter, grid: tuple[int, int, int] | None
) -> float | None:
    """Return how busy SMs are where one block is left to add up what all the others wrote; else None."""
    if not _counts_itself(profile, grid):
        return None
    active = active_share(profile)
    alone = bool(active and profile.seconds) and _ends_early(profile, limiter)
    return active if alone and not library_of(profile.kernel) else None


def _ends_early(profile: KernelProfile, limiter: Limiter) -> bool:
    """Return whether most SMs idle long before the busiest one ends, as far as anybody knows."""
    active = active_share(profile)
    idle = (1 - (active or 0.0)) * (profile.seconds or math.inf)
    shown = isinstance(limiter, Imbalance | LatencyBound | AtRoof)
    return shown and (active is None or (active <= ALONE and idle >= STARTING))


def _unknown(profile: KernelProfile, grid: tuple[int, int, int] | None) -> str | None:
    """Return the first value that nobody knows; None where a known one rules the fault out."""
    atomics = profile.global_atomics.requests
    if atomics is not None and grid is not None and not _counts_itself(profile, grid):
        return "profile.waves" if profile.waves is None else None
    values = {
        "grid": grid,
        "profile.atomics": atomics,
        "profile.waves": profile.waves,
        "profile.time": profile.seconds,
        "profile.sm_cycles": active_share(profile),
    }
    return next((name for name, value in values.items() if value is None), None)


def _counts_itself(profile: KernelProfile, grid: tuple[int, int, int] | None) -> bool:
    """Return whether each of many blocks makes one atomic with a result, in more than one wave."""
    counts, blocks = profile.global_atomics.requests or 0.0, math.prod(grid or (0,))
    return _MANY_BLOCKS <= blocks <= counts <= COUNTED * blocks and (profile.waves or 0.0) > 1


def _ending(mean: float) -> dict[str, object]:
    counts = {
        "issue_slots_busy": 0.3,
        "atomics": {"requests": 105_600},
        "stalls": {"long_scoreboard": 9, "wait": 2},
    }
    cycles = {"sm_cycles": {"mean": mean, "most": 1e6}}
    launch = {"gpu": "h200", "regs": 32, "block": 256, "grid": 105_600}
    return {**launch, "profile": {"time": "500us", "waves": 100, **counts, **cycles}}


RULE = Rule(
    id="serial-last-block",
    formerly="load-imbalance",
    title="Leave the last block little to add up",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.GRID,
    why="A kernel ends with its last block, and every SM that has finished before it idles.",
    when=(
        "A profile shows SMs busy for at most 88 % of the busiest one's time, which loses 5 us or more, and each of 1,000 "
        "blocks or more makes one atomic with a result, by which the last one knows that it is."
    ),
    citations=guide("11.3", "10.5"),
    silenced_by=("tail-effect", "underfilled-device", "launch-bound"),
    check=check,
    examples=Examples(
        fires=_ending(5e5), quiet=_ending(9.5e5), edges=(_ending(8.79e5), _ending(8.81e5))
    ),
)
