"""Lanes that predicates mask, in a kernel that keeps an SM busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import AtRoof, IssueBound, UnknownLimiter
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import relieved, sm_units
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.quantity import show_number
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.occupancy.launch import Launch

MASKED = number(
    0.765,
    "active lanes that no condition masks",
    "share",
    "measured on an H100 and an H200: 0.53 to 0.76 in sums by halves, exchanges by pairs and blocks wider than their rows",
    LaunchSet.SEVENTH,
)
FULL = number(
    28.0,
    "active lanes, so that no branch takes them away",
    "threads",
    "our judgement: divergent-branches tells of the others",
    LaunchSet.SEVENTH,
)
_INSIDE_SM = (Unit.L1_SHARED, Unit.LSU)


def check(profile: KernelProfile, launch: Launch, limiter: Limiter) -> Verdict:
    """Advise where blocks that share memory mask a quarter of their lanes, and an SM is at its roof."""
    if isinstance(limiter, UnknownLimiter):
        return undecided("profile.compute_throughput")
    if isinstance(limiter, AtRoof) and limiter.unit == Unit.COMPUTE:
        return undecided("profile.issue_slots_busy")
    at_roof = isinstance(limiter, AtRoof) and limiter.unit in _INSIDE_SM
    if not launch.shared_memory or not (at_roof or isinstance(limiter, IssueBound)):
        return PASSED
    active, working = profile.active_threads, profile.unpredicated_threads
    if active is None or working is None:
        return undecided("profile.unpredicated_threads")
    if active < FULL or working > MASKED * active:
        return PASSED
    return Advice(
        message=(
            f"Of {show_number(active)} active lanes {show_number(working)} do what an instruction says, on average: a "
            "condition masks the others (a sum by halves, an exchange by pairs, a block wider than its row)."
        ),
        action=(
            "Let each thread have something to do: fewer threads per block, or several rows in one; 4 elements or more "
            "per thread, added up in registers first and then by __shfl_down_sync(); of an exchange a pair per thread."
        ),
        evidence=(
            profiled("lanes at work per instruction", working, "threads"),
            profiled("active lanes per instruction", active, "threads"),
        ),
        relief=relieved(profile, WARP_SIZE, *sm_units(profile)),
        left=dict.fromkeys(sm_units(profile), "where all lanes of a warp work instead of one"),
    )


def _block(working: float) -> dict[str, object]:
    profile = {"dram_throughput": 0.1, "issue_slots_busy": 0.7, "compute_throughput": 0.7}
    lanes = {"active_threads": 32, "unpredicated_threads": working}
    launch = {"gpu": "h200", "block": 256, "dynamic_smem": 1024}
    return {**launch, "profile": {**profile, **lanes}}


RULE = Rule(
    id="masked-lanes",
    formerly="divergent-branches",
    title="Give each lane something to do",
    topic=Topic.CONTROL_FLOW,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.DIVERGENCE,
    why="A masked lane takes its part of the issue slot and of the pipe, and does nothing.",
    when=(
        "A profile of a kernel with shared memory shows issue slots, L1 and shared memory or the load/store pipe at 60 %, "
        "28 or more active lanes per instruction, and no more than 76.5 % of them at work; unless a louder finding explains it."
    ),
    citations=guide("13.1", "12.1"),
    silenced_by=(
        "divergent-branches",
        "partial-warp",
        "library-available",
        "bank-conflicts",
        "latency-bound",
        "integer-division",
        "narrow-loads",
        "redundant-global-loads",
        "atomic-contention",
    ),
    author_only=True,
    check=check,
    examples=Examples(fires=_block(20.0), quiet=_block(31.0), edges=(_block(24.4), _block(24.5))),
)
