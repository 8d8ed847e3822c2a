"""Shared-memory accesses in which lanes of a warp wait for the same bank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.access import in_words, pattern_of
from gpuadvise.advisor.facts.counted_lines import LineCount
from gpuadvise.advisor.facts.limiter import AtRoof
from gpuadvise.advisor.facts.shared_memory import (
    conflict_share,
    memory_limits_as_well,
    shared_memory_waits,
    without_conflicts,
)
from gpuadvise.advisor.facts.streaming import BRIEFEST
from gpuadvise.advisor.facts.workload import shared_requests
from gpuadvise.advisor.memory.banks import bank_conflicts
from gpuadvise.advisor.memory.layouts import smallest_stride_padding
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.gain_bounds import left_over
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide, programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.access import Access
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

FREE = number(1, "conflict degree", "ways", "guide 10.2.3.1")
EFFICIENT = number(
    0.8,
    "passes needed / taken",
    "share",
    "our judgement: fewer conflicts seldom show in the run time",
)
COSTLY = number(
    0.15,
    "passes that conflicts add, beside several waits",
    "share of an SM's time",
    "our judgement",
    LaunchSet.SIXTH,
)
# Its L1 serves half as many words per arithmetic operation as that of 8.0.
_HARDLY_SHOWN_ON = (8, 6)
_SHOWN_FROM = number(
    3,
    "conflict degree on compute capability 8.6",
    "ways, for more than a low finding",
    "6,800 timed pairs with and without padding on five GPUs (benchmark_hub): on three of 8.6 more than 5 % faster in 2 % to 6 % of them",
)


def check(
    device: Device,
    shared_accesses: tuple[Access, ...] | None = None,
    bank_efficiency: float | None = None,
    profile: KernelProfile | None = None,
    limiter: Limiter | None = None,
) -> Verdict:
    """Advise for each described access with a conflict, or for a profile that shows many."""
    advices = [_described(access, device) for access in shared_accesses or ()]
    if bank_efficiency is not None and bank_efficiency < EFFICIENT:
        advices.append(_profiled(bank_efficiency, profile, limiter))
    return tuple(advice for advice in advices if advice)


def _described(access: Access, device: Device) -> Advice | None:
    cost = bank_conflicts(pattern_of(access), device.capability)
    if cost.degree <= FREE:
        return None
    # Two passes instead of one seldom show in the time of kernels there.
    at = (device.capability.major, device.capability.minor)
    hardly_shows = at == _HARDLY_SHOWN_ON and cost.degree < _SHOWN_FROM
    return Advice(
        message=(
            f'A warp\'s access "{access.name}" to {in_words(access)} is a {cost.degree}-way bank '
            f"conflict on {device.name}: {cost.wavefronts} passes instead of {cost.ideal_wavefronts}."
        ),
        action=_padding(access, device),
        evidence=(
            derived("conflict degree", cost.degree, "ways"),
            derived("passes", cost.wavefronts, "passes"),
        ),
        gain=Gain(
            kind=GainKind.SHARED_MEMORY_TIME,
            upper_bound=cost.wavefronts / cost.ideal_wavefronts,
            how=f"passes / passes without conflict = {cost.wavefronts} / {cost.ideal_wavefronts}",
        ),
        priority=Priority.LOW if hardly_shows else None,
    )


def _padding(access: Access, device: Device) -> str:
    word, stride = access.word_bytes, access.stride
    pad = None if access.indices else smallest_stride_padding(word, stride, device.capability)
    if not pad:
        return (
            "Change the index so that the 32 lanes of a warp hit different banks, for example by "
            "exchanging bits of row and column (index ^ row)."
        )
    if access.stride < WARP_SIZE:
        return (
            f"Let neighbouring lanes take neighbouring words, not words {access.stride} apart: index by "
            "threadIdx.x + i * blockDim.x, and of a struct keep one array per field. Where the layout must "
            f"stay, a stride of {access.stride + pad} instead of {access.stride} has no conflict."
        )
    return (
        f"Add {plural(pad, 'element')} to each row: a stride of {access.stride + pad} instead of "
        f"{access.stride} has no conflict. For a 32 x 32 tile of 4-byte words declare tile[32][33]."
    )


def _profiled(efficiency: float, profile: KernelProfile | None, limiter: Limiter | None) -> Advice:
    return Advice(
        message=(
            f"The profile counts {show_number(1 / max(efficiency, 1e-3))} shared-memory passes for each one that "
            f"the accesses need ({show_share(efficiency)})."
        ),
        action=_profiled_action(profile),
        evidence=(profiled("passes needed / passes taken", efficiency, "share"),),
        gain=_profiled_gain(efficiency, profile, limiter),
        relief=without_conflicts(profile, efficiency) if profile else None,
        priority=_priority(profile, efficiency, limiter),
    )


def _profiled_gain(
    efficiency: float, profile: KernelProfile | None, limiter: Limiter | None
) -> Gain:
    """Return what fewer passes win: where L1 has room, no more than warps wait for shared memory."""
    passes = 1 / max(efficiency, 1 / 32)
    waits = shared_memory_waits(profile) if profile and not isinstance(limiter, AtRoof) else None
    if waits is None or waits >= 1 - 1 / passes:
        return Gain(
            kind=GainKind.SHARED_MEMORY_TIME, upper_bound=passes, how="passes taken / passes needed"
        )
    return left_over(f"{show_share(waits)} of a warp's time goes to shared memory", 1 - waits)


def _profiled_action(profile: KernelProfile | None) -> str:
    """Return what to do: atomics on one word are served in turn, whatever the padding."""
    if profile is not None and (profile.shared_atomics or 0.0) > shared_requests(profile):
        return (
            "Most of the accesses are atomics, and those of one warp on one word are served in turn: give each warp "
            "its own copy of the counters, or add up equal keys first (__match_any_sync(), __reduce_add_sync())."
        )
    rows = "Pad the rows of the array that is accessed there"
    if profile is None or LineCount.PASSES not in profile.lines:
        rows = "Find the access in the profile (ncu --page source, L1 wavefronts shared), then pad its rows"
    return f"{rows}: `gpuadvise banks --stride N` names the smallest padding."


def _priority(
    profile: KernelProfile | None, efficiency: float, limiter: Limiter | None
) -> Priority | None:
    """Return low where the passes that conflicts add take little of the time, or the launch is brief."""
    if profile is None:
        return None
    if (profile.seconds or 1.0) < BRIEFEST or memory_limits_as_well(profile, limiter):
        return Priority.LOW
    added = conflict_share(profile, efficiency)
    return Priority.LOW if added < COSTLY and not isinstance(limiter, AtRoof) else None


def _walk(stride: int, name: str = "tile[x][y]") -> dict[str, object]:
    access = {"name": name, "space": "shared", "word": 4, "stride": stride}
    return {"gpu": "h200", "accesses": [access]}


RULE = Rule(
    id="bank-conflicts",
    title="Avoid bank conflicts in shared memory",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PATTERN, Kind.PROFILE, Kind.SOURCE),
    family=Family.BANKS,
    why="Lanes that need different words of one bank are served one after the other.",
    when=(
        "A warp's access needs a bank more than once (reading the same word is no conflict), or "
        "a profile shows that less than 80 % of the passes are needed; low for a described 2-way conflict on compute capability 8.6, for launches below 8 us, and where L2 and "
        "device memory are at their roofs too and warps wait for loads as long, and where no unit is at its roof and what conflicts add takes less than 15 % of the "
        "time that an SM works. In a source: a warp takes a column of an unpadded tile."
    ),
    citations=(*guide("10.2.3.1", "9.2.2.1"), programming_guide("Shared Memory")),
    author_only=True,
    check=check,
    either=("shared_accesses", "bank_efficiency"),
    examples=Examples(
        fires=_walk(32),
        quiet=_walk(33),
        edges=(_walk(2, "s[2 * i]"), _walk(0, "s[0]")),
    ),
)
