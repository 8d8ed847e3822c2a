"""A block size outside the guide's starting range, with one inside that does as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.block_sizes import GUIDE_RANGE, at_sizes
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.occupancy.answer import Occupancy

# The architecture chapter starts at 256 on Blackwell, tries 128 next and considers 512.
BLACKWELL_RANGE = range(128, 512 + 1)
BLACKWELL = number(10, "Blackwell", "major compute capability", "programming guide")


def check(device: Device, occupancy: Occupancy, profile: KernelProfile | None = None) -> Verdict:
    """Advise when a block size inside the range reaches at least the same occupancy."""
    usual = BLACKWELL_RANGE if device.capability.major >= BLACKWELL else GUIDE_RANGE
    threads = occupancy.launch.threads
    if not occupancy.launchable or threads in usual or profile is not None:
        return PASSED
    sizes, warps = _in_warps(usual, device.limits.warp_size), occupancy.warps_per_sm
    as_good = [size for size in at_sizes(occupancy, sizes) if size.warps >= warps]
    if not as_good:
        return PASSED
    table = and_list([f"{size.threads} ({show_share(size.share)})" for size in as_good], "or")
    return Advice(
        message=(
            f"A block has {plural(threads, 'thread')}, outside the usual {usual.start} to "
            f"{usual.stop - 1}; occupancy is {show_share(occupancy.occupancy)}."
        ),
        action=f"Try blocks of these sizes, with their occupancy: {table}. Keep the fastest.",
        evidence=(
            given("threads per block", threads, "threads"),
            derived("theoretical occupancy", occupancy.occupancy, "share"),
        ),
    )


def _in_warps(threads: range, warp: int) -> range:
    return range(-(-threads.start // warp), (threads.stop - 1) // warp + 1)


RULE = Rule(
    id="unusual-block-size",
    title="Start from 128 to 256 threads per block",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    kinds=(Kind.LAUNCH, Kind.DEVICE),
    family=Family.RESIDENCY,
    why="Sizes in that range suit most kernels and leave several blocks per SM to switch between.",
    when=(
        "Threads per block are outside 128 to 256 (to 512 on Blackwell), and a size inside "
        "reaches at least the same occupancy; not where a profile shows the limit."
    ),
    thresholds=(
        Threshold(name="range starts at", value=128, unit="threads", source="guide 11.3"),
        Threshold(name="range ends at", value=256, unit="threads", source="guide 11.3"),
    ),
    citations=guide("11.3", "10.5"),
    folds_into="surplus-occupancy",
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "regs": 32, "block": 1024},
        quiet={"gpu": "h200", "regs": 32, "block": 256},
        edges=(
            {"gpu": "h200", "regs": 32, "block": 257},
            {"gpu": "h200", "regs": 32, "block": 256},
        ),
    ),
)
