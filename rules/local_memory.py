"""Local memory: how much of what runs goes there, and what is left of a launch that keeps its values elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.local_memory import global_part
from gpuadvise.advisor.facts.units import ISSUED, Unit
from gpuadvise.advisor.facts.workload import relieved
from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.rules.advice import Advice, Evidence

SMALL_FRAME = number(
    64,
    "small frame",
    "bytes",
    "our judgement: slow paths of mathematics take some 40",
    LaunchSet.RECORDED,
)
RARE = number(
    0.005,
    "rare use",
    "requests per instruction",
    "our judgement: below it nobody notices them",
    LaunchSet.RECORDED,
)
HEAVY = number(
    0.05,
    "heavy use",
    "requests per instruction",
    "our judgement of profiles on an H200",
    LaunchSet.RECORDED,
)
# Each request counts itself.
WITH_SPILL = number(
    1.1,
    "instructions that go with a request, of spills",
    "instructions; the gain is bounded by what is left",
    "measured: 0.5 to 1.06 in five programs on an H100 and an H200",
    LaunchSet.FOURTH,
)
WITH_ARRAY = number(
    6.0,
    "instructions that go with a request, of arrays",
    "instructions; the gain is bounded by what is left, and by the sectors of global accesses",
    "measured: 1.7 to 6.3 in five programs on an H100 (address, and a loop's counter, comparison and jump)",
    LaunchSet.FOURTH,
)
_LEAST_LEFT = number(
    0.01,
    "instructions left without spills, at least",
    "share",
    "where nothing is known of the others",
)


def local_evidence(share: float) -> Evidence:
    """Return the number that a profile shows of local memory."""
    return profiled("requests to local memory / instructions", share, "share")


def declared(arrays: tuple[str, ...] | None) -> str:
    """Return the arrays that the source declares in each thread, as a sentence; "" without any."""
    return f" The source declares {and_list(arrays)}." if arrays else ""


def weighed(advice: Advice, profile: KernelProfile | None, share: float | None) -> Advice:
    """Return *advice* weighed by how much of what runs goes to local memory."""
    if profile is None or share is None:
        return advice
    relief = relieved(profile, 1e6, Unit.DRAM, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.ADU)
    part = global_part(profile)
    relief |= relieved(profile, 1 / max(part, 1e-6), Unit.L2)
    per_request = WITH_SPILL if profile.spill_requests else WITH_ARRAY
    instructions = max(1 - per_request * share, profile.kept_instructions, _LEAST_LEFT)
    relief |= relieved(profile, 1 / instructions, *ISSUED)
    if not profile.spill_requests:  # where an element lies is worked out for all lanes at once
        relief |= relieved(profile, 1e6, Unit.UNIFORM)
    return replace(
        advice,
        relief=relief,
        left=_left(instructions, per_request, part),
        priority=Priority.LOW if share < HEAVY else None,
    )


def _left(instructions: float, per_request: float, part: float) -> dict[str, str]:
    words = (
        f"with {show_share(instructions)} of the instructions: up to {per_request:g} go with a request to "
        "local memory"
    )
    sectors = f"with {show_share(part)} of the sectors, those of global accesses"
    return {Unit.L2: sectors, **dict.fromkeys(ISSUED, words)}
