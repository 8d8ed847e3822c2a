"""Lanes of one warp on different paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import LatencyBound
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import MEMORY_WAITS, relieved, sm_units
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.quantity import show_number
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.observed import advised, place
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.occupancy.launch import Launch

FEW = number(
    24,
    "active threads",
    "threads",
    "our judgement of the guide's 13.1: a quarter of the lanes idle",
)
WORD = number(
    4.0,
    "a word",
    "bytes",
    "a lane that a branch leaves alone uses one of a sector's words",
    LaunchSet.RECORDED,
)
ISSUING = number(
    0.35,
    "issue slots",
    "share",
    "measured on an H100: a kernel that waits for memory gained at 44 %, none at 30 %",
    LaunchSet.RECORDED,
)
# With fewer, whatever else a warp waits for, it has few loads under way: a lane that is off has none.
FEWEST = number(
    8,
    "active threads, beside a wait for memory",
    "threads",
    "our judgement: with a quarter of the lanes, a quarter of the loads is under way",
    LaunchSet.RECORDED,
)


def check(
    observations: tuple[Observation, ...] | None = None,
    active_threads: float | None = None,
    launch: Launch | None = None,
    profile: KernelProfile | None = None,
    limiter: Limiter | None = None,
) -> Verdict:
    """Advise at each marked condition, and when a profile shows too few active lanes.

    Where warps wait for memory and leave most issue slots empty, idle lanes cost no time, unless
    they are so many that the loads of the others are all that is under way.
    """
    conditions = advised(observations, RULE.id, _words) if observations else ()
    lanes = _lanes(launch)
    share = None if active_threads is None else active_threads / lanes
    if active_threads is None or share is None:
        return conditions
    waits = profile is not None and _waits_for_memory(profile, limiter)
    if share >= FEW / WARP_SIZE or (share >= FEWEST / WARP_SIZE and waits):
        return (*conditions, PASSED) if conditions else PASSED
    return (*conditions, _profiled(active_threads, lanes, profile, limiter))


def _waits_for_memory(profile: KernelProfile, limiter: Limiter | None) -> bool:
    waits = isinstance(limiter, LatencyBound) and limiter.stall in MEMORY_WAITS
    return waits and profile.issue_busy is not None and profile.issue_busy < ISSUING


def _lanes(launch: Launch | None) -> float:
    """Return the lanes that an average warp of the block has: the last one may be in part empty."""
    return launch.threads / -(-launch.threads // WARP_SIZE) if launch else WARP_SIZE


def _words(seen: Observation) -> tuple[str, str]:
    return (
        "lanes of one warp take different paths, one after the other.",
        "Let the condition change only between warps, for example by threadIdx.x / warpSize, or "
        "sort the data so that neighbours take the same path. A bounds check, if (i < n), is fine.",
    )


def _lanes_served(profile: KernelProfile | None, limiter: Limiter | None) -> float:
    """Return the lanes that get a word from an average load, where warps wait for loads; else all."""
    waits = isinstance(limiter, LatencyBound) and limiter.stall in MEMORY_WAITS
    loads = profile.global_loads if profile else None
    if not waits or loads is None:
        return WARP_SIZE
    if not loads.sectors_per_request or not loads.used_bytes:
        return 1.0  # not counted: a load may serve one lane
    return min(WARP_SIZE, loads.sectors_per_request * loads.used_bytes / WORD)


def _profiled(
    active: float, lanes: float, profile: KernelProfile | None, limiter: Limiter | None
) -> Advice:
    least = max(1.0, min(active, _lanes_served(profile, limiter)))
    factor = lanes / least
    counted = "active threads per instruction" if least == active else "lanes that a load serves"
    return Advice(
        message=(
            f"On average {show_number(active)} of {show_number(lanes)} lanes work when an "
            "instruction executes."
        ),
        action=(
            "Find the branches in the profile (ncu --page source, column Thread instructions "
            "executed), then let conditions change only between warps or sort the data so that "
            "neighbours take the same path."
        ),
        evidence=(profiled("active threads per instruction", active, "threads"),),
        gain=Gain(
            kind=GainKind.INSTRUCTION_RATE,
            upper_bound=factor,
            how=f"{show_number(lanes)} lanes / {show_number(least)} {counted}",
        ),
        relief=_relief(profile, factor) if profile else None,
    )


def _relief(profile: KernelProfile, factor: float) -> dict[str, float]:
    """Return what is left to each unit when all lanes work: requests of few lanes use their sectors in part."""
    relief = relieved(profile, factor, *sm_units(profile))
    moved, needed = profile.global_sectors, profile.global_sectors_ideal
    if moved and needed and needed < moved:
        relief |= relieved(profile, min(factor, moved / needed), Unit.L2)
    return relief


RULE = Rule(
    id="divergent-branches",
    title="Avoid different paths inside a warp",
    topic=Topic.CONTROL_FLOW,
    priority=Priority.HIGH,
    kinds=(Kind.SOURCE, Kind.PROFILE),
    family=Family.DIVERGENCE,
    recommendation=True,
    why="A warp executes every path that one of its lanes takes, with the other lanes idle.",
    when=(
        "A condition depends on the thread inside a warp, or a profile shows fewer than 24 of 32 "
        "active threads per instruction, unless warps wait for memory and issue slots are below 35 %; fewer "
        "than 8 count even then."
    ),
    citations=guide("13.1", "12.1"),
    silenced_by=("partial-warp",),
    author_only=True,
    check=check,
    either=("observations", "active_threads"),
    examples=Examples(
        fires={"observations": [place("divergent-branches", "if (threadIdx.x % 2)")]},
        quiet={"observations": [place()]},
        edges=({"profile": {"active_threads": 23.9}}, {"profile": {"active_threads": 24}}),
    ),
)
