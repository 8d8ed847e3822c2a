"""A block of more threads than the kernel was compiled for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import LaunchBounds
    from gpuadvise.advisor.occupancy.launch import Launch


def check(launch: Launch, launch_bounds: LaunchBounds) -> Verdict:
    """Advise when a block has more threads than the launch bounds promise."""
    most = launch_bounds.threads
    if launch.threads <= most:
        return PASSED
    return Advice(
        message=(
            f"A block of {plural(launch.threads, 'thread')}, but the kernel is declared "
            f"__launch_bounds__({most}): the launch fails."
        ),
        action=(
            f"Launch at most {plural(most, 'thread')} per block, or declare "
            f"__launch_bounds__({launch.threads}), which may leave a thread fewer registers."
        ),
        evidence=(
            given("threads per block", launch.threads, "threads"),
            given("launch bounds, threads", most, "threads"),
        ),
    )


RULE = Rule(
    id="exceeded-launch-bounds",
    title="Launch within the kernel's bounds",
    topic=Topic.EXECUTION,
    priority=Priority.HIGH,
    kinds=(Kind.LAUNCH, Kind.SOURCE),
    broken=True,
    why="A launch with more threads than __launch_bounds__ promises fails.",
    when="A launch has more threads per block than the kernel declares.",
    citations=(programming_guide("Launch Bounds"),),
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "block": 512, "launch_bounds": 256},
        quiet={"gpu": "h200", "block": 128, "launch_bounds": 256},
        edges=(
            {"gpu": "h200", "block": 257, "launch_bounds": [256, 2]},
            {"gpu": "h200", "block": 256, "launch_bounds": [256, 2]},
        ),
    ),
)
