"""Warps that wait while no unit is busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limit_words import stall_action, stall_words, unit_words
from gpuadvise.advisor.facts.limiter import BARRIERS, SHORT, AtRoof, LatencyBound, UnknownLimiter
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import bytes_per_load, is_short, relieved, sm_units
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.atomics import are_scattered_atomics, waits_for_atomics
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.gain_bounds import near_roof
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.occupancy_words import grid_brings_few
from gpuadvise.rules.sources import guide, programming_guide
from gpuadvise.rules.thresholds import (
    LONG_WAIT,
    MEMORY_BY_WORDS,
    MOST_OF_THE_TIME,
    STARTING,
    WIDEST,
    WORD,
)

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

# Code that misses the instruction or the constant cache stops every warp that comes there: of the launches
# recorded here, none of 20 us or more loses over 15 % of a warp's time. The profiler's own rule speaks from here on.
AT_CACHES = number(
    0.3,
    "at the instruction or constant cache",
    "share of a warp's time",
    "Nsight Compute's own level for a stall",
    LaunchSet.RECORDED,
)
_CACHES = (Stall.NO_INSTRUCTION, Stall.IMC_MISS)
# A unit as busy as this leaves less than a factor of two; where hardly anything but one wait takes a warp's
# time, up to this much (memory reaches 0.9: a factor of 1.6).
HALF = number(
    0.5,
    "unit left over",
    "share of its peak",
    "our judgement: a busier one leaves less than a factor of two",
    LaunchSet.RECORDED,
)
NEAR = number(
    0.57,
    "unit left over, beside one wait of 70 %",
    "share",
    "memory reaches 90 % at its best: a factor of 1.6 is left",
    LaunchSet.RECORDED,
)
L2_AHEAD = number(
    1.3,
    "L2's share per gain in its rate",
    "",
    "measured on an H200: rows summed with fewer barriers, 5.77 times as fast, take L2 from 19.4 % to 86.8 %",
    LaunchSet.FIFTH,
)
TOGETHER = number(
    0.55,
    "loads and barriers behind them",
    "share of a warp's time",
    "our judgement: one tile loaded ahead shortens both",
    LaunchSet.SIXTH,
)
# Device memory, where that wait is for loads: 4-byte words reach 0.71 on an H200 with enough of them under way.
# At what Nsight Compute calls a limit, only a wait that leaves little else: our judgement.
NEARLY_ALL = number(
    0.8,
    "one wait beside which hardly any time is left",
    "share of a warp's time",
    "our judgement",
    LaunchSet.RECORDED,
)
# Of a warp's time: less at barriers is not worth a word.
NOTABLE_WAIT = number(
    0.1,
    "at barriers behind loads, counted from",
    "share of a warp's time",
    "our judgement: warps of a block meet there for what others load",
    LaunchSet.FOURTH,
)


def check(profile: KernelProfile, limiter: Limiter) -> Verdict:
    """Advise for the wait that takes most of a warp's time when no unit is at its roof."""
    if isinstance(limiter, UnknownLimiter):
        return undecided("profile.compute_throughput")
    if near := _short_of_loads(profile, limiter):
        limiter = _wait_for_loads(profile, limiter)
    if not isinstance(limiter, LatencyBound) or waits_for_atomics(profile):
        return PASSED
    if are_scattered_atomics(profile):
        return PASSED  # uncoalesced-access says what helps
    if limiter.stall is None:
        return undecided("profile.stalls")
    if limiter.share is None:
        return PASSED  # several waits, none of them long
    behind = _at_barriers_behind(profile, limiter.stall)
    behind_them = f", and {show_share(behind)} at barriers behind them" if behind else ""
    if limiter.share + behind < _enough(limiter.stall):
        return PASSED
    shares, relief = profile.unit_shares, _relief(profile, limiter.stall)
    left = max(relief.get(unit, share) for unit, share in shares.items())
    minor = _saved(profile, left) < STARTING or left > _most_left(profile, limiter)
    return Advice(
        message=(
            f"Warps spend {show_share(limiter.share)} of their time waiting for "
            f"{stall_words(limiter.stall)} (stall {limiter.stall}){behind_them}, and no unit is at its best: "
            f"{_busiest(limiter, near=near)}."
        ),
        action=stall_action(limiter.stall),
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


def _short_of_loads(profile: KernelProfile, limiter: Limiter) -> bool:
    """Return whether device memory is the limit, but would be busier with more loads under way."""
    wait = profile.top_stall
    if not near_roof(limiter) or wait is None or (profile.dram_busy or 1.0) >= MEMORY_BY_WORDS:
        return False
    on_the_way = isinstance(limiter, AtRoof) and limiter.unit == Unit.L2
    behind = _at_barriers_behind(profile, wait[0]) if on_the_way else 0.0
    return wait[1] + behind >= _nearly_all(profile)


def _nearly_all(profile: KernelProfile) -> float:
    """Return the share of a warp's time from which a wait for loads leaves little else.

    A grid that leaves most of each SM empty has few loads under way for sure: there less of it tells.
    """
    return MOST_OF_THE_TIME if grid_brings_few(profile) else NEARLY_ALL


def _wait_for_loads(profile: KernelProfile, limiter: Limiter) -> LatencyBound:
    assert isinstance(limiter, AtRoof)
    stall, share = profile.top_stall or (None, None)
    return LatencyBound(
        stall=stall, share=share, unit=Unit.DRAM, busy=profile.dram_busy or limiter.share
    )


def _at_barriers_behind(profile: KernelProfile, stall: str) -> float:
    """Return the share of a warp's time at barriers, where it waits there for what other warps load.

    In a short launch that is how its blocks start.
    """
    share = profile.stalls.get(Stall.BARRIER, 0.0)
    counts = stall == Stall.LONG_SCOREBOARD and share >= NOTABLE_WAIT
    return share if counts and not is_short(profile) else 0.0


def _most_left(profile: KernelProfile, limiter: LatencyBound) -> float:
    """Return how busy a unit may stay for the wait to be worth an hour."""
    behind = _at_barriers_behind(profile, limiter.stall or "")
    share = (limiter.share or 0.0) + behind
    if share < (TOGETHER if behind else MOST_OF_THE_TIME):
        return HALF
    for_loads = limiter.stall == Stall.LONG_SCOREBOARD and share >= _nearly_all(profile)
    below = limiter.unit in (Unit.DRAM, Unit.L2) and limiter.busy < MEMORY_BY_WORDS
    return MEMORY_BY_WORDS if for_loads and below else NEAR


def _enough(stall: str) -> float:
    """Return the share of a warp's time from which *stall* is the one to shorten."""
    if stall == Stall.BARRIER:
        return BARRIERS
    return AT_CACHES if stall in _CACHES else LONG_WAIT


def _saved(profile: KernelProfile, left: float) -> float:
    """Return the seconds that a launch takes longer than its busiest unit needs."""
    return (profile.seconds or SHORT) * (1 - left)


def _relief(profile: KernelProfile, stall: str) -> dict[str, float]:
    """Return how busy units stay whose work the change saves as well."""
    shares = profile.unit_shares
    if stall == Stall.BARRIER:
        left = relieved(profile, 1e6, *sm_units(profile))
        return left | ({Unit.L2: shares[Unit.L2] / L2_AHEAD} if Unit.L2 in shares else {})
    if stall == Stall.LONG_SCOREBOARD and Unit.DRAM in shares:
        return {Unit.L2: shares[Unit.DRAM]}  # what stays on the chip need not ask L2
    return {}


def _with_wide_loads(
    profile: KernelProfile, stall: str, relief: dict[str, float]
) -> dict[str, float]:
    """Return *relief* with what is left to the SM where 16-byte loads need a quarter of its instructions."""
    if stall != Stall.LONG_SCOREBOARD:
        return relief
    return relieved(profile, WIDEST / _width(profile), *sm_units(profile)) | relief


def _width(profile: KernelProfile) -> float:
    """Return the bytes that a lane gets by an average load, 4 to 16; 4 where nobody counted them."""
    per_request = bytes_per_load(profile)
    return min(WIDEST, max(WORD, per_request / WARP_SIZE)) if per_request else WORD


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
        "where bytes only stream through it; 57 % beside loads and the barriers behind them of 55 % together)."
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
