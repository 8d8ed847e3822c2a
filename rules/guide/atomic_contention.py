"""Atomics that wait for each other at one address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import LatencyBound, UnknownLimiter, unit_shares
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.rules.bottleneck import relieved
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Family,
    Kind,
    Priority,
    Rule,
    Threshold,
    Topic,
    Verdict,
    undecided,
)
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

LANES = 32
# L2 makes about one atomic operation per cycle and address: measured on an H200 are 0.33 (32
# lanes on one float) to 0.84 (a histogram of few bins), and 11 where addresses are spread.
SERIAL = 2.0
# Below it the kernel has few of them, and waits for something else.
LEAST = 0.2
IDLE = 0.3
# Of all instructions.
FREQUENT = 0.02
# With nothing else to store, only atomics keep warps in these waits while memory stands still.
STILL = 0.05
_WAITS = ("drain", "lg_throttle")
_ACTION = (
    "Add up before you go to memory: by __reduce_add_sync() or __shfl_down_sync() in a warp, then "
    "in shared memory, and 1 atomic per block; give a histogram a copy per block. "
    "cub::BlockReduce and cub::DeviceHistogram do so."
)


def check(profile: KernelProfile, limiter: Limiter | None = None) -> Verdict:
    """Advise when atomics retire one by one and all units idle meanwhile."""
    if _unseen(profile, limiter):
        return _inferred(profile, limiter)
    counts = [profile.global_reductions.requests, profile.global_atomics.requests]
    requests = sum(count for count in counts if count is not None)
    shares = unit_shares(profile)
    if not requests:
        return undecided("profile.reductions") if _uncounted(profile, limiter) else PASSED
    if not profile.elapsed_cycles or not shares:
        missing = "compute_throughput" if profile.elapsed_cycles else "elapsed_cycles"
        return undecided(f"profile.{missing}")
    if requests < FREQUENT * (profile.instructions or 0.0):
        return PASSED
    rate = requests * LANES / profile.elapsed_cycles
    if not LEAST <= rate <= SERIAL or max(shares.values()) >= IDLE:
        return PASSED
    return Advice(
        message=(
            f"{plural(round(requests), 'request')} for atomics, up to {LANES} each, retire at "
            f"{show_number(rate)} per cycle while no unit is busy: they queue for few addresses."
        ),
        action=_ACTION,
        evidence=(
            profiled("requests for atomics", requests, "requests"),
            derived("atomic operations per cycle, at most", rate, "operations"),
        ),
        relief=relieved(profile, 1e6, "l1/shared", "l2", "lsu", "memory", "adu"),
    )


def _uncounted(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether neither counts nor waits tell of atomics."""
    counted = None not in (profile.global_reductions.requests, profile.global_atomics.requests)
    waits = isinstance(limiter, LatencyBound) and limiter.stall is None
    return not counted and (waits or isinstance(limiter, UnknownLimiter | None))


def _unseen(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether a page without counts of atomics shows waits that only they explain."""
    return (
        profile.global_reductions.requests is None
        and profile.global_atomics.requests is None
        and isinstance(limiter, LatencyBound)
        and limiter.stall in _WAITS
        and limiter.busy < STILL
    )


def _inferred(profile: KernelProfile, limiter: Limiter | None) -> Advice:
    assert isinstance(limiter, LatencyBound)
    return Advice(
        message=(
            f"Warps wait for requests to memory (stall {limiter.stall}, {show_share(limiter.share or 0)} of their time) while no "
            f"unit is more than {show_share(limiter.busy)} busy: atomics queue for few addresses. "
            "The page does not count them."
        ),
        action=_ACTION,
        evidence=(
            profiled(f"stall {limiter.stall}", limiter.share or 0.0, "share"),
            profiled("busiest unit", limiter.busy, "share"),
        ),
        relief=relieved(profile, 1e6, "l1/shared", "l2", "lsu", "memory", "adu"),
    )


RULE = Rule(
    id="atomic-contention",
    title="Add up before atomics",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.ATOMICS,
    why="Atomics on one address run one after the other, whatever the number of threads.",
    when=(
        "A profile shows 0.2 to 2 atomic operations per cycle in global memory, counted as 32 per "
        "request, while every unit is below 30 %."
    ),
    thresholds=(
        Threshold(
            name="serial",
            value=SERIAL,
            unit="operations per cycle",
            source="measured on an H200: 0.3 to 0.8 on few addresses, 11 on many",
        ),
        Threshold(name="idle", value=IDLE, unit="share", source="our judgement"),
    ),
    citations=(programming_guide("Atomic Functions"),),
    check=check,
    examples=Examples(
        fires={
            "profile": {
                "elapsed_cycles": 12e6,
                "dram_throughput": 0.01,
                "reductions": {"requests": 131_072},
            }
        },
        quiet={
            "profile": {
                "elapsed_cycles": 60_000,
                "dram_throughput": 0.36,
                "reductions": {"requests": 1_056},
            }
        },
        edges=(
            {
                "profile": {
                    "elapsed_cycles": 1_000_000,
                    "dram_throughput": 0.29,
                    "reductions": {"requests": 62_500},
                }
            },
            {
                "profile": {
                    "elapsed_cycles": 1_000_000,
                    "dram_throughput": 0.29,
                    "reductions": {"requests": 62_600},
                }
            },
        ),
    ),
)
