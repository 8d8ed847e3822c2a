"""Advice about a kernel that nobody has timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import derived
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import LaunchBounds
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.timing import Pipeline, Traffic, Work
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.launch import Launch

COMMAND = "ncu --set full -o report ./app"


def check(
    launch: Launch,
    profile: KernelProfile | None = None,
    traffic: Traffic | None = None,
    work: Work | None = None,
    pipeline: Pipeline | None = None,
    launched: Occupancy | None = None,
    launch_bounds: LaunchBounds | None = None,
) -> Verdict:
    """Advise when a launch is described and neither a profile nor a time is known."""
    timed = work is not None and work.seconds is not None
    if profile or traffic or pipeline or timed:
        return PASSED
    exceeded = launch_bounds is not None and launch.threads > launch_bounds.threads
    if exceeded or (launched is not None and not launched.launchable):
        return PASSED  # there is nothing to profile before the launch succeeds
    known = f"the launch ({plural(launch.threads, 'thread')} per block)"
    if launch.assumed_threads:
        known = "the code"
    return Advice(
        message=(
            f"Only {known} is known: no profile and no times were given, so the other advice is unverified."
        ),
        action=(
            "Run a realistic workload under `nsys profile --stats=true ./app` to find the kernels "
            f"that take the most time, then `{COMMAND}`, and pass report.ncu-rep. Or give "
            "--read, --write and --time."
        ),
        evidence=(derived("profiles and times", 0),),
    )


RULE = Rule(
    id="unprofiled-workload",
    title="Profile before optimising",
    topic=Topic.APPLICATION,
    priority=Priority.HIGH,
    kinds=(Kind.PROFILE, Kind.TIMING),
    process=True,
    recommendation=True,
    why="Without a time nobody knows whether a kernel matters, or what it waits for.",
    when="A launch that can succeed is described, but no profile, no bandwidth figures and no times.",
    citations=guide("4.1.1", "3.1.1"),
    check=check,
    examples=Examples(
        fires={"block": 256},
        quiet={"block": 256, "traffic": {"read": "1GB", "write": "1GB", "time": "500us"}},
    ),
)
