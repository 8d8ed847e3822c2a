"""Texels that L1 has, fetched again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.levels import LONG_WAIT
from gpuadvise.advisor.facts.limiter import AtRoof, UnknownLimiter
from gpuadvise.advisor.facts.reuse import FOUND, asked_again
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import relieved, waits_for
from gpuadvise.advisor.quantity import show_share
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter


def check(profile: KernelProfile, limiter: Limiter) -> Verdict:
    """Advise to keep texels that warps queue for although L1 has nearly all."""
    if isinstance(limiter, UnknownLimiter):
        return undecided("profile.compute_throughput")
    if not waits_for(profile, Stall.TEX_THROTTLE, share=LONG_WAIT):
        return PASSED if profile.stalls or not _at_l1(limiter) else undecided("profile.stalls")
    if profile.l1_hit_rate is None:
        return undecided("profile.l1_hit_rate")
    if profile.l1_busy is None:
        return undecided("profile.l1_throughput")
    again = fetches_again(profile, limiter) and asked_again(profile, limiter) is None
    return _advice(profile) if again else PASSED


def fetches_again(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether warps queue for texture fetches, of which L1 has nearly all."""
    queue = waits_for(profile, Stall.TEX_THROTTLE, share=LONG_WAIT)
    return _at_l1(limiter) and queue and (profile.l1_hit_rate or 0.0) >= FOUND


def _at_l1(limiter: Limiter | None) -> bool:
    return isinstance(limiter, AtRoof) and limiter.unit == Unit.L1_SHARED


def _advice(profile: KernelProfile) -> Advice:
    hit, wait = profile.l1_hit_rate or 0.0, (profile.top_stall or ("", 0.0))[1]
    return Advice(
        message=(
            f"{show_share(wait)} of a warp's time is a queue for texture fetches, of which L1 has {show_share(hit)}: "
            "the same texels are fetched again and again."
        ),
        action=(
            "Fetch a tile and its border once into shared memory, __syncthreads(), and read it there; let a thread "
            "compute several results from what it fetched, and take 4 neighbours in one tex2Dgather()."
        ),
        evidence=(
            profiled("L1 hit rate", hit, "share"),
            profiled("stall tex_throttle", wait, "share"),
        ),
        relief=relieved(profile, 1e6, Unit.L1_SHARED, Unit.TEX, Unit.MEMORY, Unit.COMPUTE),
    )


def _texels(hit: float) -> dict[str, object]:
    return {
        "gpu": "h200",
        "profile": {
            "l1_throughput": 0.9,
            "l1_hit_rate": hit,
            "stalls": {"tex_throttle": 6, "wait": 2},
        },
    }


RULE = Rule(
    id="refetched-texels",
    formerly="redundant-global-loads",
    title="Fetch each texel once",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.REUSE,
    why="Texture units pass on a few texels per cycle, whether L1 has them or not.",
    when=(
        "L1 is at its roof, and warps queue for texture fetches 40 % of their time, 70 % of which L1 has."
    ),
    citations=guide("10.2.3.2", "9.2.2.2"),
    author_only=True,
    silenced_by=("uncoalesced-access",),
    check=check,
    examples=Examples(fires=_texels(0.9), quiet=_texels(0.2), edges=(_texels(0.7), _texels(0.69))),
)
