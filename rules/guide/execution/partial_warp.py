"""Threads per block that do not fill their last warp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import block_starts
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import relieved, sm_units
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Confidence, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.guide.execution.tiny_blocks import fewer_starts, left_by_larger
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.occupancy.launch import Launch

WORDS_OF_SECTOR = number(8.0, "words of a sector", "", "guide 10.2.1: 32 bytes")


def check(launch: Launch, profile: KernelProfile | None = None) -> Verdict:
    """Advise when the last warp of each block is not full."""
    spare = -launch.threads % WARP_SIZE
    if not spare:
        return PASSED
    lanes, starting = launch.threads + spare, bool(profile and block_starts(profile))
    full = Gain(
        kind=GainKind.LANES_AT_WORK,
        upper_bound=lanes / launch.threads,
        how=f"lanes / threads = {lanes} / {launch.threads}",
    )
    return Advice(
        message=(
            f"A block of {plural(launch.threads, 'thread')} occupies "
            f"{plural(lanes // WARP_SIZE, 'warp')} of {WARP_SIZE} lanes: {spare} of its {lanes} "
            f"lanes ({show_share(spare / lanes)}) never work."
        ),
        action=_action(launch.threads, lanes),
        evidence=(
            given("threads per block", launch.threads, "threads"),
            derived("idle lanes", spare / lanes, "share"),
        ),
        gain=fewer_starts(launch.threads) if starting else full,
        relief=_relief(launch, profile, lanes / launch.threads, starting) if profile else None,
    )


def _relief(
    launch: Launch, profile: KernelProfile, factor: float, starting: bool
) -> dict[str, float]:
    """Return what whole warps leave of each unit: fewer instructions, and whole sectors instead of words."""
    if starting:
        return left_by_larger(launch, profile)
    return relieved(profile, factor, *sm_units(profile)) | relieved(
        profile, min(factor, WORDS_OF_SECTOR), Unit.L2, Unit.DRAM, Unit.MEMORY
    )


def _action(threads: int, lanes: int) -> str:
    if threads < WARP_SIZE:
        return (
            f"Let a block of 128 threads do the work of {show_number(128 / threads)} of these "
            "blocks: more threads per block alone would leave the lanes as idle as now."
        )
    return (
        f"Launch {lanes} or {lanes - WARP_SIZE} threads per block, fewer or more blocks to match, and "
        "let threads beyond the data return early: if (i >= n) return;"
    )


RULE = Rule(
    id="partial-warp",
    title="Make the block a multiple of 32 threads",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.LAUNCH,),
    family=Family.DIVERGENCE,
    recommendation=True,
    why="The hardware runs whole warps, so an empty lane costs as much as a working one.",
    when="Threads per block are not a multiple of the warp size.",
    thresholds=(Threshold(name="warp size", value=WARP_SIZE, unit="threads", source="guide 11.3"),),
    confidence=Confidence.CERTAIN,
    citations=guide("11.3", "10.5"),
    author_only=True,
    check=check,
    examples=Examples(
        fires={"block": 100}, quiet={"block": 128}, edges=({"block": 33}, {"block": 32})
    ),
)
