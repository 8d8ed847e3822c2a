"""A small grid that runs alone on a GPU that could run several."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.busy import busy
from gpuadvise.advisor.facts.limiter import AtRoof
from gpuadvise.advisor.occupancy.grid import waves
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.facts.timing import Traffic, Work
    from gpuadvise.advisor.occupancy.answer import Occupancy

SMALL = number(0.5, "small", "share", "two such kernels must fit")
FIRST_CONCURRENT = number(
    2,
    "first capability whose kernels run side by side",
    "",
    "programming guide, Concurrent Kernel Execution",
)


def check(
    device: Device,
    sm_count: int,
    grid: tuple[int, int, int],
    occupancy: Occupancy,
    concurrent: bool | None = None,
    profile: KernelProfile | None = None,
    traffic: Traffic | None = None,
    limiter: Limiter | None = None,
    work: Work | None = None,
    run_share: float | None = None,
) -> Verdict:
    """Advise when the grid fills less than half of the device and nothing runs beside it."""
    if profile is not None:
        return PASSED  # underfilled-device and latency-bound know better what it waits for
    filled = waves(occupancy, sm_count, math.prod(grid))
    if concurrent or filled is None or filled.waves >= SMALL:
        return PASSED
    if device.capability.major < FIRST_CONCURRENT or busy(None, traffic, device):
        return PASSED
    if isinstance(limiter, AtRoof):
        return PASSED  # beside another kernel it would wait for the same unit
    fit = int(1 / filled.waves)
    matters = traffic or (work and work.seconds) or run_share is not None
    return Advice(
        message=(
            f"{plural(filled.blocks, 'block')} fill {show_share(filled.waves)} of the "
            f"{filled.wave_size:,} that {device.name} can hold: {fit} such kernels fit at once."
        ),
        action=(
            "Launch independent kernels in different non-default streams "
            "(cudaStreamCreateWithFlags with cudaStreamNonBlocking), or batch them into one grid. "
            "If they already run side by side, say so with --concurrent."
        ),
        evidence=(
            given("blocks in the grid", filled.blocks, "blocks"),
            derived("share of the device", filled.waves, "share"),
        ),
        gain=Gain(
            kind=GainKind.KERNELS_AT_ONCE, upper_bound=fit, how="floor(blocks that fit / grid)"
        ),
        priority=None if matters else Priority.LOW,
    )


RULE = Rule(
    id="lone-small-kernel",
    title="Run small kernels side by side",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.LAUNCH, Kind.DEVICE),
    family=Family.GRID,
    why="What a small grid leaves free can run another kernel at the same time.",
    when="The grid fills less than half of the blocks that fit, and kernels run one at a time; low without a time.",
    citations=guide("11.5", "10.2"),
    folds_into="underfilled-device",
    caller_side=True,
    fewer_launches=True,
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "regs": 32, "block": 256, "grid": 100},
        quiet={"gpu": "h200", "regs": 32, "block": 256, "grid": 10_000},
        edges=(
            {"gpu": "h200", "regs": 32, "block": 256, "grid": 527},
            {"gpu": "h200", "regs": 32, "block": 256, "grid": 528},
        ),
    ),
)
