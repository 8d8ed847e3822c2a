"""Launch bounds that ask for more blocks than an SM can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.bounds import launch_bounds as judged
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide, programming_guide
from gpuadvise.rules.waits import wants_warps

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.code import LaunchBounds
    from gpuadvise.advisor.facts.limiter import Limiter


def check(device: Device, launch_bounds: LaunchBounds, limiter: Limiter | None = None) -> Verdict:
    """Advise when the compiler drops the minimum of blocks; low where more warps would not help."""
    bounds = judged(device.limits, launch_bounds.threads, launch_bounds.blocks)
    if bounds.ignored is None:
        return PASSED
    limits = device.limits
    warps = -(-launch_bounds.threads // limits.warp_size)
    most = min(limits.max_warps_per_sm // warps, limits.max_blocks_per_sm)
    return Advice(
        message=bounds.ignored,
        action=(
            f"Write __launch_bounds__({launch_bounds.threads}, {most}): {most} is the most that "
            f"{device.name} can hold."
            if most
            else f"Launch at most {limits.max_threads_per_block} threads per block."
        ),
        evidence=(
            given("launch bounds, threads", launch_bounds.threads, "threads"),
            given("launch bounds, blocks", launch_bounds.blocks or 0, "blocks"),
            derived("most blocks per SM", most, "blocks"),
        ),
        priority=None if wants_warps(limiter) else Priority.LOW,
    )


RULE = Rule(
    id="overstated-launch-bounds",
    title="Ask for no more blocks than an SM can hold",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.LAUNCH, Kind.SOURCE, Kind.BINARY),
    why="A minimum that no SM can meet is dropped, so only its number of threads limits the registers.",
    when=(
        "Launch bounds ask for more threads or blocks than an SM can hold; low where a profile shows that more "
        "warps would not help."
    ),
    citations=(*guide("11.1"), programming_guide("Launch Bounds")),
    check=check,
    examples=Examples(
        fires={"gpu": "b200", "launch_bounds": [256, 16]},
        quiet={"gpu": "b200", "launch_bounds": [256, 4]},
        edges=(
            {"gpu": "b200", "launch_bounds": [256, 9]},
            {"gpu": "b200", "launch_bounds": [256, 8]},
        ),
    ),
)
