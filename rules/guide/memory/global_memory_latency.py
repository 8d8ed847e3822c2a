"""Warps that wait for global memory although the block reuses its data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.quantity import show_bytes, show_number, show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import given, profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.facts.application import Reuse

MOST = number(0.5, "share of long-scoreboard stalls", "share", "the dominant reason, guide 12.2")
TWICE = number(2.0, "reads per byte", "reads", "guide 12.2: redundant traffic")


def check(stalls: Mapping[str, float], reuse: Reuse) -> Verdict:
    """Advise when long-scoreboard stalls dominate and the data are reused."""
    total = sum(stalls.values())
    waiting = stalls.get(Stall.LONG_SCOREBOARD, 0.0)
    if reuse.staged or reuse.factor < TWICE or not total or waiting / total <= MOST:
        return PASSED
    return Advice(
        message=(
            f"Of {show_number(total)} cycles that a warp waits per instruction, {show_number(waiting)} "
            f"({show_share(waiting / total)}) are for global memory, and each byte is read "
            f"{reuse.factor:g} times by its block."
        ),
        action=(
            f"Stage the {show_bytes(reuse.tile_bytes)} that the block reuses in shared memory, so "
            "that one wait serves all reads; until then only more independent loads per thread, "
            "or more warps, hide the wait."
        ),
        evidence=(
            profiled("stall cycles for global memory", waiting, "cycles"),
            profiled("stall cycles, all reasons", total, "cycles"),
            given("reads per byte", reuse.factor, "reads"),
        ),
        gain=Gain(
            kind=GainKind.KERNEL_TIME,
            upper_bound=total / (total - waiting * (1 - 1 / reuse.factor)),
            how="stall cycles / stall cycles with 1 wait per reused byte",
        ),
    )


RULE = Rule(
    id="global-memory-latency",
    title="Prefer shared to global memory",
    topic=Topic.MEMORY,
    priority=Priority.HIGH,
    kinds=(Kind.PROFILE, Kind.APPLICATION),
    family=Family.LATENCY,
    recommendation=True,
    why="A global access takes hundreds of cycles, a shared one tens.",
    when="More than half of the stall cycles are long-scoreboard stalls, and a block reads its data twice or more.",
    citations=guide("12.2", "11.2"),
    check=check,
    examples=Examples(
        fires={
            "profile": {"stalls": {"long_scoreboard": 12.0, "wait": 2.0, "barrier": 1.0}},
            "reuse": {"factor": 8, "tile": "4KiB"},
        },
        quiet={
            "profile": {"stalls": {"long_scoreboard": 1.0, "wait": 2.0}},
            "reuse": {"factor": 8, "tile": "4KiB"},
        },
        edges=(
            {
                "profile": {"stalls": {"long_scoreboard": 5.1, "wait": 5.0}},
                "reuse": {"factor": 2, "tile": "4KiB"},
            },
            {
                "profile": {"stalls": {"long_scoreboard": 5.0, "wait": 5.0}},
                "reuse": {"factor": 2, "tile": "4KiB"},
            },
        ),
    ),
)
