"""Launches that cost more than what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.rules.evidence import given, profiled
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Family,
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
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

# A launch costs the host 2 to 3 us, and the device about as much between two kernels.
SHORT = 5e-6
MANY = 4


def check(profile: KernelProfile, launches: int) -> Verdict:
    """Advise when a kernel of a few microseconds is launched again and again."""
    seconds = profile.seconds
    if seconds is None or seconds >= SHORT or launches < MANY:
        return PASSED
    return Advice(
        message=(
            f"{launches:,} launches of {show_seconds(seconds)} each: a launch costs 2 to 3 us, as "
            "much as the kernel itself."
        ),
        action=(
            f"Do the work of the {launches:,} launches in 1: a grid dimension more, or one kernel that "
            "does several steps. Where they must stay apart, record them once as a CUDA graph "
            "(cudaStreamBeginCapture, cudaGraphLaunch)."
        ),
        evidence=(
            profiled("time of a launch", seconds, "s"),
            given("launches", launches, "launches"),
        ),
        gain=Gain(
            kind="kernel time",
            upper_bound=float(launches),
            how=f"{launches:,} launches / 1",
        ),
    )


RULE = Rule(
    id="launch-bound",
    title="Launch less often",
    topic=Topic.APPLICATION,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE, Kind.APPLICATION),
    family=Family.GRID,
    why="Below a few microseconds a kernel takes less time than it takes to launch it.",
    when="A kernel takes less than 5 us and is launched at least 4 times in the same shape.",
    thresholds=(
        Threshold(
            name="short",
            value=SHORT,
            unit="s",
            source="launches cost 2 to 3 us on the host: measured on an H200",
        ),
        Threshold(name="many", value=MANY, unit="launches", source="our judgement"),
    ),
    citations=guide("11.5", "10.2"),
    check=check,
    examples=Examples(
        fires={"profile": {"time": "2.1us"}, "launches": 1000},
        quiet={"profile": {"time": "200us"}, "launches": 1000},
        edges=(
            {"profile": {"time": "4.9us"}, "launches": 4},
            {"profile": {"time": "5.1us"}, "launches": 4},
        ),
    ),
)
