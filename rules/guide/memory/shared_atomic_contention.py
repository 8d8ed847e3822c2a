"""Atomics in shared memory that fill L1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import relieved
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

# Of L1's peak: with all that it does, and what is left without atomics in shared memory.
SHARED_FULL = number(
    0.8,
    "L1 and shared memory full",
    "share",
    "our judgement: tuned histograms keep them 60 % to 75 % busy (H200)",
    LaunchSet.FOURTH,
)
ROOM_WITHOUT = number(
    0.5,
    "room in L1 without atomics in shared memory",
    "share of its peak",
    "our judgement",
    LaunchSet.FOURTH,
)


def check(profile: KernelProfile) -> Verdict:
    """Advise where L1 and shared memory are full, and would be half empty without atomics."""
    atomics, busy = profile.shared_atomics_busy or 0.0, profile.l1_busy or 0.0
    if atomics and profile.l1_busy is None:
        return undecided("profile.l1_throughput")
    if not fills_shared_memory(profile):
        counts = bool(profile.shared_atomics) and profile.shared_atomics_busy is None
        return undecided("profile.shared_atomics_throughput") if counts else PASSED
    return Advice(
        message=(
            f"L1 and shared memory are {show_share(busy)} busy, with atomics in shared memory for {show_share(atomics)} "
            "of what they can do: lanes and warps that want one word take turns, and a float is tried again until "
            "none came between."
        ),
        action=(
            "Add up equal keys of a warp first (__match_any_sync() and __reduce_add_sync()), give each warp "
            "a copy of the table, and count in integers: an atomic on a 32-bit integer is one instruction. "
            "cub::DeviceHistogram does so."
        ),
        evidence=(
            profiled("L1 and shared memory busy", busy, "share"),
            profiled("with atomics in shared memory", atomics, "share"),
        ),
        relief=relieved(profile, 1e6, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.ADU, Unit.ISSUE),
    )


def fills_shared_memory(profile: KernelProfile) -> bool:
    """Return whether L1 and shared memory are full, and would be half empty without atomics."""
    atomics, busy = profile.shared_atomics_busy or 0.0, profile.l1_busy or 0.0
    return busy >= SHARED_FULL and busy - atomics < ROOM_WITHOUT


def _atomics(share: float, busy: float = 0.9) -> dict[str, object]:
    counts = {"shared_atomics": 1e6, "shared_atomics_throughput": share}
    return {"gpu": "h200", "profile": {"l1_throughput": busy, "dram_throughput": 0.1, **counts}}


RULE = Rule(
    id="shared-atomic-contention",
    formerly="atomic-contention",
    title="Give each warp its own counters",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.ATOMICS,
    why="Atomics on one word of shared memory run one after the other, and one on a float may have to try again.",
    when="L1 and shared memory are 80 % busy, and less than 50 % without atomics in shared memory.",
    citations=(programming_guide("Atomic Functions"),),
    check=check,
    examples=Examples(
        fires=_atomics(0.7), quiet=_atomics(0.1), edges=(_atomics(0.401), _atomics(0.399))
    ),
)
