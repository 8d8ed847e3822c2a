"""Threads per block that do not fill their last warp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Gain,
    Kind,
    Priority,
    Rule,
    Threshold,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.occupancy.launch import Launch


def check(launch: Launch) -> Verdict:
    """Advise when the last warp of each block is not full."""
    spare = -launch.threads % WARP_SIZE
    if not spare:
        return PASSED
    lanes = launch.threads + spare
    fewer = f" or {lanes - WARP_SIZE}" if lanes > WARP_SIZE else ""
    return Advice(
        message=(
            f"A block of {plural(launch.threads, 'thread')} occupies "
            f"{plural(lanes // WARP_SIZE, 'warp')} of {WARP_SIZE} lanes: {spare} of its {lanes} "
            f"lanes ({show_share(spare / lanes)}) never work."
        ),
        action=(
            f"Launch {lanes}{fewer} threads per block and let threads beyond the data "
            "return early: if (i >= n) return;"
        ),
        evidence=(
            given("threads per block", launch.threads, "threads"),
            derived("idle lanes", spare / lanes, "share"),
        ),
        gain=Gain(
            kind="lanes at work",
            upper_bound=lanes / launch.threads,
            how=f"lanes / threads = {lanes} / {launch.threads}",
        ),
    )


RULE = Rule(
    id="partial-warp",
    title="Make the block a multiple of 32 threads",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.LAUNCH,),
    recommendation=True,
    why="The hardware runs whole warps, so an empty lane costs as much as a working one.",
    when="Threads per block are not a multiple of the warp size.",
    thresholds=(Threshold(name="warp size", value=WARP_SIZE, unit="threads", source="guide 11.3"),),
    citations=guide("11.3", "10.5"),
    check=check,
    examples=Examples(
        fires={"block": 100},
        quiet={"block": 128},
        edges=({"block": 33}, {"block": 32}),
    ),
)
