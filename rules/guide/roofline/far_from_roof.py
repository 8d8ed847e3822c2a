"""A kernel far below both roofs: it waits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.busy import busy
from gpuadvise.advisor.facts.limiter import TooLittleWork
from gpuadvise.advisor.occupancy.grid import waves
from gpuadvise.advisor.quantity import show_flops, show_number, show_share
from gpuadvise.advisor.roofline import FAR_FROM_ROOF, Bound
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import derived
from gpuadvise.rules.guide.execution.tail_effect import IDLE
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import ROOFLINE
from gpuadvise.rules.thresholds import STARTING

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.facts.timing import Traffic
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.roofline import Roofline

VERY_FAR = number(
    0.1,
    "very far",
    "share",
    "our judgement: ten times from the roof something is wrong, whatever the kernel does",
    LaunchSet.FIFTH,
)


def check(
    roofline: Roofline,
    profile: KernelProfile | None = None,
    traffic: Traffic | None = None,
    device: Device | None = None,
    limiter: Limiter | None = None,
    occupancy: Occupancy | None = None,
    grid: tuple[int, int, int] | None = None,
    concurrent: bool | None = None,
) -> Verdict:
    """Advise when a kernel reaches less than half of the roof at its intensity."""
    share = roofline.share
    if profile is not None:
        return PASSED  # it names what is busy, or waited for, instead
    if busy(None, traffic, device):
        return PASSED  # the bytes that were moved keep memory busy, whatever the kernel needs
    if isinstance(limiter, TooLittleWork):
        return PASSED  # underfilled-device says what it waits for
    if share is None:
        return undecided("work.time")
    if share >= FAR_FROM_ROOF:
        return PASSED
    if roofline.bound is Bound.MEMORY and not concurrent and _timed_copy(traffic, roofline):
        return PASSED  # low-effective-bandwidth says the same of the bytes
    if not concurrent and share >= FAR_FROM_ROOF * _full(occupancy, device, grid):
        return PASSED  # tail-effect says what it waits for
    return Advice(
        message=(
            f"The kernel reaches {show_flops(roofline.achieved or 0.0)}, {show_share(share)} of "
            f"the {show_flops(roofline.attainable)} that its {show_number(roofline.intensity)} FLOP per "
            "byte allow."
        ),
        action=(
            "Neither memory nor arithmetic is the limit, so look for waiting: too few warps "
            "(occupancy), too few independent instructions per thread, a grid that does not fill "
            "the device, barriers, or accesses that do not coalesce."
        ),
        evidence=(
            derived("achieved", roofline.achieved or 0.0, "FLOP/s"),
            derived("attainable", roofline.attainable, "FLOP/s"),
            derived("achieved / attainable", share, "share"),
        ),
        gain=Gain(kind=GainKind.KERNEL_TIME, upper_bound=1 / share, how="attainable / achieved"),
        priority=Priority.HIGH if share < VERY_FAR else None,
    )


def _timed_copy(traffic: Traffic | None, roofline: Roofline) -> bool:
    """Return whether bytes are timed that take longer than a launch does to start."""
    if traffic is None:
        return False
    return (traffic.read_bytes + traffic.written_bytes) / roofline.bandwidth >= STARTING


def _full(
    occupancy: Occupancy | None, device: Device | None, grid: tuple[int, int, int] | None
) -> float:
    """Return the share of block slots that the waves of the grid fill; 1 where nobody knows."""
    if occupancy is None or grid is None or device is None or not device.sm_count:
        return 1.0
    filled = waves(occupancy, device.sm_count, math.prod(grid))
    spoken = filled is not None and filled.waves > 1 and filled.tail_efficiency <= 1 - IDLE
    return filled.tail_efficiency if filled is not None and spoken else 1.0


RULE = Rule(
    id="far-from-roof",
    title="Find out what the kernel waits for",
    topic=Topic.ROOFLINE,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING,),
    family=Family.ROOFLINE,
    why="A kernel below half of both roofs spends most of its time on latency.",
    when=(
        "Achieved FLOP/s are below 50 % of what bandwidth and peak allow at the kernel's intensity, and the bytes read "
        "and written do not keep memory 60 % busy, nor say the same by themselves (`low-effective-bandwidth`); nor has the grid fewer blocks than the device multiprocessors, nor a last wave that explains the distance. High below "
        "10 %."
    ),
    citations=(ROOFLINE,),
    silenced_by=("underfilled-device", "launch-bound", "scarce-fp64", "register-spills"),
    check=check,
    examples=Examples(
        fires={
            "gpu": "h200",
            "work": {"flops": 1e9, "bytes": "12GB", "dtype": "fp32", "time": "20ms"},
        },
        quiet={
            "gpu": "h200",
            "work": {"flops": 1e9, "bytes": "12GB", "dtype": "fp32", "time": "2.8ms"},
        },
        edges=(
            {
                "gpu": "h200",
                "work": {"flops": 1e9, "bytes": "12GB", "dtype": "fp32", "time": "5ms"},
            },
            {
                "gpu": "h200",
                "work": {"flops": 1e9, "bytes": "12GB", "dtype": "fp32", "time": "4.9ms"},
            },
        ),
    ),
)
