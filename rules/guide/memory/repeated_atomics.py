"""Atomics on few sectors that keep L2 at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.atomics import (
    UPDATED_AGAIN,
    atomics_in_queue,
    queue_unseen,
    updates_per_sector,
)
from gpuadvise.advisor.facts.levels import LONG_WAIT, MOST_SECTORS
from gpuadvise.advisor.facts.uncounted import names_no_access
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import (
    MEMORY_WAITS,
    atomic_kinds,
    has_shared_memory,
    relieved,
    waits_for,
)
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.guide.memory.shared_atomic_contention import fills_shared_memory
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

L2_AT_WORK = number(
    0.5, "L2 at work for atomics", "share of its peak", "our judgement", LaunchSet.RECORDED
)
ADD_UP = (
    "Add up before you go to memory: by __reduce_add_sync() or __shfl_down_sync() in a warp, then "
    "in shared memory, and 1 atomic per block; give a histogram a copy per block. "
    "cub::BlockReduce and cub::DeviceHistogram do so."
)


def check(profile: KernelProfile, limiter: Limiter | None = None) -> Verdict:
    """Advise when L2 mostly takes atomics, each sector many, and warps wait for it."""
    if fills_shared_memory(profile) or queue_unseen(profile, limiter):
        return PASSED  # shared-atomic-contention and atomic-contention say more
    if _no_others(profile) and _keep_l2_at_work(profile, profile.global_sectors or 0.0):
        return _inferred(profile)
    if lacking := _lacking(profile):
        return undecided(f"profile.{lacking}")
    if atomics_in_queue(profile) is not None:
        return PASSED  # as atomic-contention does
    requests, sectors = _sums(profile)
    return _counted(profile, requests) if _keep_l2_at_work(profile, sectors) else PASSED


def _sums(profile: KernelProfile) -> tuple[float, float]:
    """Return the requests and the sectors of atomics, 0 where nobody counted."""
    kinds = atomic_kinds(profile)
    return sum(kind.requests or 0.0 for kind in kinds), sum(kind.sectors or 0.0 for kind in kinds)


def _lacking(profile: KernelProfile) -> str | None:
    """Return the first value that would tell whether atomics keep L2 at work, and is not known."""
    if not any(_sums(profile)):
        counted = all(kind.requests is not None for kind in atomic_kinds(profile))
        waited_for = (profile.l2_busy or 0.0) >= L2_AT_WORK and _waits(profile)
        return "reductions" if waited_for and not counted else None
    if profile.l2_busy is None:
        return "l2_throughput"
    if profile.l2_busy < L2_AT_WORK:
        return None
    if not profile.stalls:
        return "stalls"
    return "dram_written" if profile.dram_written is None and _waits(profile) else None


def _waits(profile: KernelProfile) -> bool:
    return waits_for(profile, *MEMORY_WAITS, share=LONG_WAIT)


def _no_others(profile: KernelProfile) -> bool:
    """Return whether a page names no sectors that loads or stores use in part, and most are in excess.

    It names those where there are any, copies to shared memory apart: the sectors are of atomics.
    """
    sectors, ideal = profile.global_sectors or 0.0, profile.global_sectors_ideal or 0.0
    return (
        names_no_access(profile)
        and not has_shared_memory(profile)
        and sectors - ideal >= MOST_SECTORS * sectors > 0
    )


def _updates(profile: KernelProfile, sectors: float) -> float:
    """Return the atomics of each sector before it is written to device memory, at least.

    Each sector was read before, so that where a page does not tell them apart half of the bytes were written.
    """
    if profile.dram_written is not None:
        return updates_per_sector(profile) or 0.0
    return 2 * sectors * SECTOR / profile.dram_bytes if profile.dram_bytes else 0.0


def _keep_l2_at_work(profile: KernelProfile, sectors: float) -> bool:
    """Return whether warps wait for L2, which mostly takes atomics on *sectors* that got many before."""
    return (
        _waits(profile)
        and (profile.l2_busy or 0.0) >= L2_AT_WORK
        and sectors >= MOST_SECTORS * (profile.global_sectors or 0.0)
        and _updates(profile, sectors) >= UPDATED_AGAIN
    )


def _counted(profile: KernelProfile, requests: float) -> Advice:
    updates, l2 = updates_per_sector(profile) or 0.0, profile.l2_busy or 0.0
    return Advice(
        message=(
            f"{plural(round(requests), 'request')} for atomics in global memory keep L2 {show_share(l2)} "
            f"busy: each sector gets about {show_number(updates)} of them before it is written to device "
            "memory."
        ),
        action=ADD_UP,
        evidence=(
            profiled("requests for atomics", requests, "requests"),
            profiled("L2 busy", l2, "share"),
            derived("atomics per sector written", updates, "sectors"),
        ),
        relief=relieved(profile, 1e6, Unit.L1_SHARED, Unit.L2, Unit.LSU, Unit.MEMORY, Unit.ADU),
    )


def _inferred(profile: KernelProfile) -> Advice:
    sectors = profile.global_sectors or 0.0
    updates, l2 = _updates(profile, sectors), profile.l2_busy or 0.0
    return Advice(
        message=(
            f"{show_number(sectors)} sectors keep L2 {show_share(l2)} busy, about {show_number(updates)} times as many "
            "as are written to device memory, and the page names no loads or stores that use sectors in part: "
            "atomics go to few addresses. The page does not count them."
        ),
        action=ADD_UP,
        evidence=(
            profiled("L2 busy", l2, "share"),
            derived("sectors per sector written", updates, "sectors"),
        ),
        relief=relieved(profile, 1e6, Unit.L1_SHARED, Unit.L2, Unit.LSU, Unit.MEMORY, Unit.ADU),
    )


def _at(l2: float) -> dict[str, object]:
    return {
        "profile": {
            "elapsed_cycles": 1e6,
            "l2_throughput": l2,
            "dram_throughput": 0.05,
            "dram_written": 32_000,
            "global_sectors": 4e6,
            "stalls": {"lg_throttle": 80, "wait": 20},
            "reductions": {"requests": 2e6, "sectors": 4e6},
        }
    }


RULE = Rule(
    id="repeated-atomics",
    formerly="atomic-contention",
    title="Send a block's sum instead of its atomics",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.ATOMICS,
    why="Atomics on one address run one after the other, whatever the number of threads.",
    when=(
        "L2 is half busy, mostly with atomics of which each sector gets 16, and warps wait for it: also by a page "
        "that does not count them, where it names no loads or stores that use sectors in part, and half of all "
        "sectors are in excess."
    ),
    citations=(programming_guide("Atomic Functions"),),
    check=check,
    examples=Examples(fires=_at(0.8), quiet=_at(0.2), edges=(_at(0.5), _at(0.49))),
)
