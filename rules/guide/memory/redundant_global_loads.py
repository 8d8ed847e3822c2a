"""Global bytes that one block reads several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.levels import LONG_WAIT
from gpuadvise.advisor.facts.limiter import AT_ROOF, AtRoof, LatencyBound, UnknownLimiter
from gpuadvise.advisor.facts.reuse import (
    FOUND,
    READS,
    asked_again,
    counted_reads,
    names_local_memory,
    reads_at_roof,
)
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.streaming import ALONG
from gpuadvise.advisor.facts.units import ISSUED, Unit
from gpuadvise.advisor.facts.workload import has_shared_memory, l1_hits, relieved, waits_for
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.guide.memory.refetched_texels import fetches_again
from gpuadvise.rules.guide.memory.small_tiles import operands_anew
from gpuadvise.rules.guide.memory.unstaged_reuse import TILE_OR_OCCUPANCY
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.application import Reuse
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

_FOUND_UNCOUNTED = number(
    0.85,
    "loads found in L1, on a page that does not count them",
    "share",
    "fields of a structure, each read once, are found 74 % of the time",
    LaunchSet.RECORDED,
)
LOADS = number(
    0.2, "loads from global memory", "share of instructions", "our judgement", LaunchSet.RECORDED
)
# The same 16 bytes at a time: measured are 0.191 of the instructions of a product that loads two words for
# each multiply-add, where this leaves 0.199.
FEWER_LOADS = number(
    32.0,
    "loads that a tile saves",
    "of which one is left beside the floating-point instructions: what bounds the gain",
    "8 x 8 results per thread, read 16 bytes at a time; measured on an H100",
    LaunchSet.FOURTH,
)


def check(
    profile: KernelProfile, limiter: Limiter | None = None, reuse: Reuse | None = None
) -> Verdict:
    """Advise where the caches are busy with the same bytes; a described reuse is judged apart."""
    if reuse is not None:
        return PASSED
    if isinstance(limiter, UnknownLimiter):
        return undecided("profile.compute_throughput")
    hit = l1_hits(profile)
    if hit is None:
        return undecided("profile.l1_hit_rate")
    loads = profile.global_loads.requests
    share = loads / profile.instructions if loads is not None and profile.instructions else None
    if (reads := asked_again(profile, limiter)) is not None:
        return _requested_again(profile, reads, share)
    if not isinstance(limiter, AtRoof | LatencyBound) or hit < FOUND:
        return PASSED
    if fetches_again(profile, limiter) or operands_anew(profile, limiter) is not None:
        return PASSED
    # Of copies straight to shared memory no used bytes are counted, which are 0 reads.
    if reads_at_roof(profile, limiter) is not None or (counted_reads(profile) or READS) < READS:
        return PASSED
    if share is None and names_local_memory(profile):
        return PASSED  # what L1 has, and what warps queue for, are values of their own threads
    if share is None and profile.memory_instructions is None:
        return undecided("profile.loads", "profile.instructions")
    # Without a count of loads, warps that queue for them tell that there are many, or how busy the pipes to
    # memory are where nothing but loads goes through them.
    throttled = waits_for(profile, Stall.LG_THROTTLE, share=LONG_WAIT)
    often = share >= LOADS if share is not None else throttled or _only_loads(profile, hit)
    if not often or not (isinstance(limiter, AtRoof) or throttled):
        unseen = often and profile.l1_busy is None
        return undecided("profile.l1_throughput") if unseen else PASSED
    relief = relieved(profile, 1e6, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.COMPUTE)
    relief |= _asked_of_l2_once(profile)
    instructions = _instructions_left(profile, share or profile.memory_instructions or 1 / 4)
    relief |= _computing(profile, instructions)
    counted = () if share is None else (profiled("loads / instructions", share, "share"),)
    return Advice(
        message=(
            f"L1 has {show_share(hit)} of what warps load from global memory already, and they queue "
            "for it: the same bytes are read again and again."
        ),
        action=(
            "Load a tile once into shared memory, __syncthreads(), and read it there; better still, let "
            "each thread compute several results from values in registers (4 x 4 or 8 x 8 in a product)."
        ),
        evidence=(profiled("L1 hit rate", hit, "share"), *counted),
        relief=relief,
        left={Unit.ISSUE: f"with {show_share(instructions)} of the instructions"},
    )


def _requested_again(profile: KernelProfile, reads: float, share: float | None) -> Advice:
    counted = () if share is None else (profiled("loads / instructions", share, "share"),)
    loads = share if share is not None else profile.memory_instructions or 1 / 4
    relief = relieved(profile, reads, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.ADU, Unit.COMPUTE)
    relief |= _asked_of_l2_once(profile)
    instructions = _instructions_left(profile, loads)
    relief |= _computing(profile, instructions)
    part = f", and are {show_share(share)} of the instructions" if share is not None else ""
    return Advice(
        message=(
            f"Loads ask L1 and L2 {show_number(reads)} times for each byte that comes from device memory{part}: "
            "the caches are busy with the same bytes."
        ),
        action=(
            "Load a tile with its border once into shared memory, __syncthreads(), and read it there; or let a "
            "thread compute 4 to 8 neighbouring results and keep in registers what the next one needs too. A row that "
            "several passes read fits into the registers of a block."
        ),
        evidence=(profiled("bytes loaded / bytes read from device memory", reads, ""), *counted),
        relief=relief,
        separate=True,  # the bytes are those that loads use, however many they move
        left={Unit.ISSUE: f"with {show_share(instructions)} of the instructions"},
    )


def _instructions_left(profile: KernelProfile, loads: float) -> float:
    """Return what a tile leaves of the instructions, at least, where *loads* of them load.

    What computes stays, where that is floating point; addresses and loops go with the loads. Of integer
    work nobody knows what are addresses: as many again as there are loads.
    """
    computing = profile.single_instructions
    if computing:
        return min(1.0, computing + loads / FEWER_LOADS)
    with_each = 2 if (profile.issue_busy or 0.0) < AT_ROOF else 1 + ALONG
    return 1 - min(with_each * loads, 0.9)


def _asked_of_l2_once(profile: KernelProfile) -> dict[str, float]:
    """Return how busy L2 is without what it has, which was read before: the rest comes from device memory once."""
    return relieved(profile, 1 / (1 - min(profile.l2_hit_rate or 0.0, 0.999)), Unit.L2)


def _computing(profile: KernelProfile, instructions: float) -> dict[str, float]:
    """Return how busy the SM's units are with a part of the *instructions*."""
    relief = relieved(profile, 1 / instructions, *ISSUED)
    if Unit.FMA in relief:
        relief[Unit.FMA] = max(relief[Unit.FMA], profile.fp32_of_peak or 0.0)
    return relief


def _only_loads(profile: KernelProfile, hit: float) -> bool:
    """Return whether instructions to memory are many, and can hardly be anything but global loads."""
    return (
        (profile.memory_instructions or 0.0) >= LOADS
        and hit >= _FOUND_UNCOUNTED
        and not has_shared_memory(profile)
        and not names_local_memory(profile)
    )


def _loads(hit: float) -> dict[str, object]:
    counts = {"instructions": 1e6, "loads": {"requests": 3e5}}
    return {"gpu": "h200", "profile": {"l1_throughput": 0.9, "l1_hit_rate": hit, **counts}}


RULE = Rule(
    id="redundant-global-loads",
    title="Keep reused data in shared memory",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.REUSE,
    recommendation=True,
    why="Shared memory serves repeated reads at many times the rate of device memory.",
    when=(
        "L1 or L2 is at its roof with each byte loaded 3 times that passes no tile in shared memory, 10 times where less than "
        "half a sector is used (at 60 % beside issue slots that are busier, while device memory is not; or at issue slots of "
        "55 % and more of which loads and stores of whole words are 3.3 %, where warps wait for loads a third of their time); "
        "or a tenth of the instructions at the roof of issue slots are loads of bytes that are read 30 times; "
        "or a fifth of the instructions load from global memory, 70 % of it found in L1, as the limit."
    ),
    citations=guide("10.2.3.2", "9.2.2.2"),
    silenced_by=("uncoalesced-access",),
    conflicts_with=(TILE_OR_OCCUPANCY,),
    author_only=True,
    check=check,
    examples=Examples(fires=_loads(0.9), quiet=_loads(0.2), edges=(_loads(0.7), _loads(0.69))),
)
