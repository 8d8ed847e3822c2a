"""Atomics that wait for each other at one address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.atomics import (
    atomics_in_queue,
    queue_unseen,
)
from gpuadvise.advisor.facts.limiter import LatencyBound, UnknownLimiter
from gpuadvise.advisor.facts.lone_slice import lone_slice
from gpuadvise.advisor.facts.units import ISSUED, Unit
from gpuadvise.advisor.facts.workload import atomic_kinds, relieved
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.guide.memory.repeated_atomics import ADD_UP
from gpuadvise.rules.guide.memory.shared_atomic_contention import fills_shared_memory
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter


_LEFT = number(
    0.75,
    "instructions left where values are added up before atomics",
    "share",
    "our judgement: two repairs won 1.02 and 1.25 times the bound that keeps them all",
    LaunchSet.NINTH,
)


def check(profile: KernelProfile, limiter: Limiter | None = None) -> Verdict:
    """Advise when atomics retire one by one in global memory, while every unit idles."""
    if fills_shared_memory(profile):
        return PASSED  # shared-atomic-contention says more
    requests = sum(kind.requests or 0.0 for kind in atomic_kinds(profile))
    alone = lone_slice(profile)
    if alone is not None and (requests or any(k.requests is None for k in atomic_kinds(profile))):
        return _at_one_slice(profile, alone)
    if queue_unseen(profile, limiter):
        return _inferred(profile, limiter)
    shares = profile.unit_shares
    if not requests:
        return undecided("profile.reductions") if _uncounted(profile, limiter) else PASSED
    if not profile.elapsed_cycles or not shares:
        missing = "compute_throughput" if profile.elapsed_cycles else "elapsed_cycles"
        return undecided(f"profile.{missing}")
    rate = atomics_in_queue(profile)
    if rate is None:
        return PASSED
    what = "sector" if any(kind.sectors for kind in atomic_kinds(profile)) else "lane"
    return Advice(
        message=(
            f"{plural(round(requests), 'request')} of warps for atomics in global memory, as "
            f"{plural(round(rate * profile.elapsed_cycles), what)}: {show_number(rate)} {what}s retire per "
            "cycle while no unit is busy, so that they queue for few addresses."
        ),
        action=ADD_UP,
        evidence=(
            profiled("requests for atomics", requests, "requests"),
            derived(f"{what}s of atomics that retire per cycle", rate, f"{what}s"),
        ),
        relief=_added_up(profile),
    )


def _at_one_slice(profile: KernelProfile, alone: float) -> Advice:
    elapsed, mean = profile.elapsed_cycles or 1.0, profile.l2_cycles.mean or 0.0
    working = max(profile.sm_cycles.mean or 0.0, mean)
    return Advice(
        message=(
            f"Multiprocessors work {show_share((profile.sm_cycles.mean or 0.0) / elapsed)} of the launch, an average slice of L2 "
            f"{show_share(mean / elapsed)}, and one slice {show_share(alone)}: what blocks send it at their end, atomics on few "
            "addresses, queues there."
        ),
        action=ADD_UP,
        evidence=(
            profiled("busiest slice of L2", alone, "share"),
            profiled("average slice of L2", mean / elapsed, "share"),
        ),
        gain=Gain(
            kind=GainKind.KERNEL_TIME,
            upper_bound=elapsed / working,
            how=f"time of the launch / time that multiprocessors and an average slice work = 1 / {show_number(working / elapsed)}",
        ),
        relief=_added_up(profile),
    )


def _added_up(profile: KernelProfile) -> dict[str, float]:
    """Return what is left where values are added up first: no queue, and fewer instructions for values and addresses."""
    queue = (Unit.L1_SHARED, Unit.L2, Unit.LSU, Unit.MEMORY, Unit.ADU)
    return relieved(profile, 1e6, *queue) | relieved(profile, 1 / _LEFT, *ISSUED)


def _uncounted(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether neither counts nor waits tell of atomics."""
    if not (
        limiter is None
        or isinstance(limiter, UnknownLimiter)
        or (isinstance(limiter, LatencyBound) and limiter.stall is None)
    ):
        return False
    return any(kind.requests is None for kind in atomic_kinds(profile))


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
            f"unit is more than {show_share(limiter.busy)} busy: so do atomics that queue for few addresses, and reads of the "
            "host's memory. The page counts neither; the raw page does."
        ),
        action=ADD_UP,
        evidence=(waiting, profiled("busiest unit", limiter.busy, "share")),
        relief=_added_up(profile),
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
        "At least 1.5 % of the instructions are atomics in global memory, and 0.2 to 1 of them retires per "
        "cycle (sectors, or 32 per request) while every unit is below 30 %; from 0.5 where warps wait no longer than for loads, up to 2 where "
        "units are below 15 % and each sector gets 16 of them; or each sector gets 16, and a warp waits 2,000 cycles for each "
        "request to memory, where no load takes as long. Or one slice of L2 works twice as long as an average one, and 2.5 times as long as the SMs."
    ),
    citations=(programming_guide("Atomic Functions"),),
    check=check,
    examples=Examples(
        fires=_reductions(131_072, cycles=12e6, dram=0.01),
        quiet=_reductions(1_056, cycles=60_000, dram=0.36),
        edges=(_reductions(31_250), _reductions(31_260)),
    ),
)
