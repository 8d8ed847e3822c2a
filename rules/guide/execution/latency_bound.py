"""Warps that wait while no unit is busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.atomics import are_scattered_atomics, waits_for_atomics
from gpuadvise.advisor.facts.limit_words import stall_action, stall_words, unit_words
from gpuadvise.advisor.facts.limiter import SHORT, LatencyBound, UnknownLimiter
from gpuadvise.advisor.facts.load_width import WIDEST, load_width
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import relieved, sm_units
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide, programming_guide
from gpuadvise.rules.thresholds import STARTING
from gpuadvise.rules.waits import at_barriers_behind, long_enough, most_left, wait_at_roof

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

L2_AHEAD = number(
    1.3,
    "L2's share per gain in its rate",
    "",
    "measured on an H200: rows summed with fewer barriers, 5.77 times as fast, take L2 from 19.4 % to 86.8 %",
    LaunchSet.FIFTH,
)

_MORE_PER_BLOCK = (
    "Blocks start as fast as the GPU can start them: launch fewer, and give each more to do. "
)


def check(profile: KernelProfile, limiter: Limiter) -> Verdict:
    """Advise for the wait that takes most of a warp's time when no unit is at its roof."""
    if isinstance(limiter, UnknownLimiter):
        return undecided("profile.compute_throughput")
    near = wait_at_roof(profile, limiter)
    limiter = near or limiter
    if not isinstance(limiter, LatencyBound) or waits_for_atomics(profile):
        return PASSED
    if are_scattered_atomics(profile):
        return PASSED  # uncoalesced-access says what helps
    if limiter.stall is None:
        return undecided("profile.stalls")
    if limiter.share is None:
        return PASSED  # several waits, none of them long
    behind = at_barriers_behind(profile, limiter.stall)
    behind_them = f", and {show_share(behind)} at barriers behind them" if behind else ""
    if limiter.share + behind < long_enough(limiter.stall):
        return PASSED
    shares, relief = profile.unit_shares, _relief(profile, limiter.stall)
    left = max(relief.get(unit, share) for unit, share in shares.items())
    minor = _saved(profile, left) < STARTING or left > most_left(profile, limiter)
    return Advice(
        message=(
            f"Warps spend {show_share(limiter.share)} of their time waiting for "
            f"{stall_words(limiter.stall)} (stall {limiter.stall}){behind_them}, and no unit is at its best: "
            f"{_busiest(limiter, near=near is not None)}."
        ),
        action=f"{_MORE_PER_BLOCK if limiter.starts else ''}{stall_action(limiter.stall)}",
        evidence=(
            profiled(f"stall {limiter.stall}", limiter.share, "share"),
            profiled("busiest unit", limiter.busy, "share"),
        ),
        relief=_with_wide_loads(profile, limiter.stall, relief),
        left=dict.fromkeys(sm_units(profile), "with 16-byte loads")
        if limiter.stall == Stall.LONG_SCOREBOARD
        else None,
        priority=Priority.LOW if minor else None,
    )


def _busiest(limiter: LatencyBound, *, near: bool) -> str:
    """Return how busy the unit is that would be at its roof first; L2's counter runs ahead of device memory's."""
    unit, busy = unit_words(limiter.unit), show_share(limiter.busy)
    return f"{unit} is {busy} busy" if near else f"the busiest is {unit} at {busy}"


def _saved(profile: KernelProfile, left: float) -> float:
    """Return the seconds that a launch takes longer than its busiest unit needs."""
    return (profile.seconds or SHORT) * (1 - left)


def _relief(profile: KernelProfile, stall: str) -> dict[str, float]:
    """Return how busy units stay whose work the change saves as well."""
    shares = profile.unit_shares
    if stall == Stall.BARRIER:
        left = relieved(profile, 1e6, *sm_units(profile)) | _arithmetic(profile)
        return left | ({Unit.L2: shares[Unit.L2] / L2_AHEAD} if Unit.L2 in shares else {})
    if stall == Stall.LONG_SCOREBOARD and Unit.DRAM in shares:
        return {Unit.L2: shares[Unit.DRAM]}  # what stays on the chip need not ask L2
    return {}


def _arithmetic(profile: KernelProfile) -> dict[str, float]:
    """Return how busy schedulers and pipes stay with the counted arithmetic alone, which no fewer barriers save."""
    kept = profile.arithmetic_instructions
    left = relieved(profile, 1 / max(kept, 1e-6), Unit.ISSUE) | relieved(profile, 1.0, Unit.FP64)
    single = min(profile.fp32_of_peak or 0.0, profile.unit_shares.get(Unit.FMA, 0.0))
    return left | ({Unit.FMA: single} if Unit.FMA in profile.unit_shares else {})


def _with_wide_loads(
    profile: KernelProfile, stall: str, relief: dict[str, float]
) -> dict[str, float]:
    """Return *relief* with what is left to the SM where 16-byte loads need a quarter of its instructions."""
    if stall != Stall.LONG_SCOREBOARD:
        return relief
    return relieved(profile, WIDEST / load_width(profile), *sm_units(profile)) | relief


RULE = Rule(
    id="latency-bound",
    title="Shorten or overlap the wait",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.LATENCY,
    why="A kernel whose units all idle is as fast as its longest chain of waits.",
    when=(
        "A profile shows no unit at 60 % of its peak (tensor cores 40 %, L2 75 %), and one stall takes at "
        "least 40 % of a warp's time (with the barriers behind it where it is for loads), or barriers 25 %, or the instruction or constant cache 30 %; low where that wins less than 5 us, which is what a launch costs, and where a unit left over is half busy (57 % beside a wait of 70 %, "
        "71 % of device memory beside one for loads of 80 %; such a wait counts at device memory's roof too, up to there, and from 70 % on where the grid brings less than half of the blocks that fit, and at that of L2 below 80 % "
        "where bytes only stream through it; 57 % beside loads and the barriers behind them of 55 % together). A wait for loads of half of a warp's time counts "
        "beside issue slots at 60 % to 70 %, too."
    ),
    citations=(*guide("11.2", "10.4"), programming_guide("Multiprocessor Level")),
    silenced_by=(
        "uncoalesced-access",
        "bank-conflicts",
        "narrow-loads",
        "atomic-contention",
        "low-occupancy",
        "tiny-blocks",
        "register-spills",
        "redundant-global-loads",
        "divergent-constant-reads",
        "divergent-branches",
        "unused-tensor-cores",
        "launch-bound",
        "tail-effect",
        "load-imbalance",
        "implicit-double",
    ),
    author_only=True,
    check=check,
    examples=Examples(
        fires={
            "profile": {
                "compute_throughput": 0.02,
                "dram_throughput": 0.03,
                "stalls": {"long_scoreboard": 300, "wait": 2},
            }
        },
        quiet={"profile": {"dram_throughput": 0.9, "stalls": {"long_scoreboard": 300, "wait": 2}}},
        edges=(
            {"profile": {"dram_throughput": 0.3, "stalls": {"wait": 8, "drain": 11}}},
            {"profile": {"dram_throughput": 0.3, "stalls": {"wait": 7, "drain": 7, "membar": 5}}},
        ),
    ),
)
