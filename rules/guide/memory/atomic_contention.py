"""Atomics that wait for each other at one address."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import LatencyBound, UnknownLimiter
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.atomics import (
    UPDATED_AGAIN,
    atomics_in_queue,
    updates_per_sector,
    waits_for_atomics,
)
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.gain_bounds import relieved
from gpuadvise.rules.guide.memory.shared_atomic_contention import fills_shared_memory
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import programming_guide
from gpuadvise.rules.thresholds import LONG_WAIT, MOST_SECTORS
from gpuadvise.rules.uncounted import names_no_access
from gpuadvise.rules.workload import (
    MEMORY_WAITS,
    atomic_kinds,
    blocks_of,
    has_shared_memory,
    waits_for,
)

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

STILL = number(
    0.05,
    "device memory nearly still",
    "share of its peak",
    "our judgement: only atomics then keep warps in the waits for stores",
    LaunchSet.RECORDED,
)
_WAITS = (Stall.DRAIN, Stall.LG_THROTTLE)
L2_AT_WORK = number(
    0.5, "L2 at work for atomics", "share of its peak", "our judgement", LaunchSet.RECORDED
)
STARTS = number(
    0.8e9,
    "blocks started",
    "blocks per second",
    "half of the most that an H200 starts: 1.43 per ns of a kernel that fills a few words per block",
    LaunchSet.SIXTH,
)
_ACTION = (
    "Add up before you go to memory: by __reduce_add_sync() or __shfl_down_sync() in a warp, then "
    "in shared memory, and 1 atomic per block; give a histogram a copy per block. "
    "cub::BlockReduce and cub::DeviceHistogram do so."
)


def check(profile: KernelProfile, limiter: Limiter | None = None) -> Verdict:
    """Advise when atomics retire one by one in global memory, beside idle units or in a busy L2."""
    if fills_shared_memory(profile):
        return PASSED  # shared-atomic-contention says more
    if _unseen(profile, limiter):
        return _inferred(profile, limiter)
    if _no_others(profile) and _keep_l2_at_work(profile, profile.global_sectors or 0.0):
        return _inferred_at_work(profile)
    requests = sum(kind.requests or 0.0 for kind in atomic_kinds(profile))
    shares = profile.unit_shares
    if not requests:
        return undecided("profile.reductions") if _uncounted(profile, limiter) else PASSED
    if not profile.elapsed_cycles or not shares:
        missing = "compute_throughput" if profile.elapsed_cycles else "elapsed_cycles"
        return undecided(f"profile.{missing}")
    rate = atomics_in_queue(profile)
    if rate is None:
        at_work = _keep_l2_at_work(
            profile, sum(kind.sectors or 0.0 for kind in atomic_kinds(profile))
        )
        return _at_work(profile, requests) if at_work else PASSED
    what = "sector" if any(kind.sectors for kind in atomic_kinds(profile)) else "lane"
    return Advice(
        message=(
            f"{plural(round(requests), 'request')} of warps for atomics in global memory, as "
            f"{plural(round(rate * profile.elapsed_cycles), what)}: {show_number(rate)} {what}s retire per "
            "cycle while no unit is busy, so that they queue for few addresses."
        ),
        action=_ACTION,
        evidence=(
            profiled("requests for atomics", requests, "requests"),
            derived(f"{what}s of atomics that retire per cycle", rate, f"{what}s"),
        ),
        relief=relieved(profile, 1e6, Unit.L1_SHARED, Unit.L2, Unit.LSU, Unit.MEMORY, Unit.ADU),
    )


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
        waits_for(profile, *MEMORY_WAITS, share=LONG_WAIT)
        and (profile.l2_busy or 0.0) >= L2_AT_WORK
        and sectors >= MOST_SECTORS * (profile.global_sectors or 0.0)
        and _updates(profile, sectors) >= UPDATED_AGAIN
    )


def _at_work(profile: KernelProfile, requests: float) -> Advice:
    updates, l2 = updates_per_sector(profile) or 0.0, profile.l2_busy or 0.0
    return Advice(
        message=(
            f"{plural(round(requests), 'request')} for atomics in global memory keep L2 {show_share(l2)} "
            f"busy: each sector gets about {show_number(updates)} of them before it is written to device "
            "memory."
        ),
        action=_ACTION,
        evidence=(
            profiled("requests for atomics", requests, "requests"),
            profiled("L2 busy", l2, "share"),
            derived("atomics per sector written", updates, "sectors"),
        ),
        relief=relieved(profile, 1e6, Unit.L1_SHARED, Unit.L2, Unit.LSU, Unit.MEMORY, Unit.ADU),
    )


def _inferred_at_work(profile: KernelProfile) -> Advice:
    sectors = profile.global_sectors or 0.0
    updates, l2 = _updates(profile, sectors), profile.l2_busy or 0.0
    return Advice(
        message=(
            f"{show_number(sectors)} sectors keep L2 {show_share(l2)} busy, about {show_number(updates)} times as many "
            "as are written to device memory, and the page names no loads or stores that use sectors in part: "
            "atomics go to few addresses. The page does not count them."
        ),
        action=_ACTION,
        evidence=(
            profiled("L2 busy", l2, "share"),
            derived("sectors per sector written", updates, "sectors"),
        ),
        relief=relieved(profile, 1e6, Unit.L1_SHARED, Unit.L2, Unit.LSU, Unit.MEMORY, Unit.ADU),
    )


def _uncounted(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether neither counts nor waits tell of atomics."""
    if not (
        limiter is None
        or isinstance(limiter, UnknownLimiter)
        or (isinstance(limiter, LatencyBound) and limiter.stall is None)
    ):
        return False
    return any(kind.requests is None for kind in atomic_kinds(profile))


def _only_starts(profile: KernelProfile) -> bool:
    """Return whether blocks come about as fast as a GPU starts them: they end when their stores are out."""
    return blocks_of(profile) >= STARTS * (profile.seconds or math.inf)


def _unseen(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether a page without counts of atomics shows waits that only they explain."""
    return (
        isinstance(limiter, LatencyBound)
        and not _only_starts(profile)
        and all(kind.requests is None for kind in atomic_kinds(profile))
        and ((limiter.stall in _WAITS and limiter.busy < STILL) or waits_for_atomics(profile))
    )


def _inferred(profile: KernelProfile, limiter: Limiter | None) -> Advice:
    assert isinstance(limiter, LatencyBound)
    cycles = profile.warp_latency or 0.0
    if limiter.share is None:
        waiting = profiled("cycles between two instructions of a warp", cycles, "cycles")
        how = f"{show_number(cycles)} cycles per instruction"
    else:
        waiting = profiled(f"stall {limiter.stall}", limiter.share, "share")
        how = f"stall {limiter.stall}, {show_share(limiter.share)} of their time"
    return Advice(
        message=(
            f"Warps wait for requests to memory ({how}) while no "
            f"unit is more than {show_share(limiter.busy)} busy: atomics queue for few addresses. "
            "The page does not count them."
        ),
        action=_ACTION,
        evidence=(waiting, profiled("busiest unit", limiter.busy, "share")),
        relief=relieved(profile, 1e6, Unit.L1_SHARED, Unit.L2, Unit.LSU, Unit.MEMORY, Unit.ADU),
    )


def _reductions(requests: int, cycles: float = 1e6, dram: float = 0.29) -> dict[str, object]:
    return {
        "profile": {
            "elapsed_cycles": cycles,
            "dram_throughput": dram,
            "reductions": {"requests": requests},
        }
    }


RULE = Rule(
    id="atomic-contention",
    title="Add up before atomics",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.ATOMICS,
    why="Atomics on one address run one after the other, whatever the number of threads.",
    when=(
        "At least 2 % of the instructions are atomics in global memory, and 0.2 to 1 of them retires per "
        "cycle (sectors, or 32 per request) while every unit is below 30 %; from 0.5 where warps wait for loads, up to 2 where "
        "units are below 15 % and each sector gets 16 of them. Or L2 is half busy, mostly with atomics of which each "
        "sector gets 16, and warps wait for it: also by a page that does not count them, where it names no loads or stores that "
        "use sectors in part, and half of all sectors are in excess."
    ),
    citations=(programming_guide("Atomic Functions"),),
    check=check,
    examples=Examples(
        fires=_reductions(131_072, cycles=12e6, dram=0.01),
        quiet=_reductions(1_056, cycles=60_000, dram=0.36),
        edges=(_reductions(31_250), _reductions(31_260)),
    ),
)
