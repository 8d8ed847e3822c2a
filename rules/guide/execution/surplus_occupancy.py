"""Occupancy that is high enough: more of it seldom helps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.block_sizes import blocks_at
from gpuadvise.advisor.occupancy.headroom import free_registers
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.occupancy.answer import Occupancy

ENOUGH = number(0.5, "enough", "share", "guide 11.1: more is not always better")


def check(
    occupancy: Occupancy,
    registers: int,
    profile: KernelProfile | None = None,
    device: Device | None = None,
    grid: tuple[int, int, int] | None = None,
) -> Verdict:
    """Advise to leave occupancy alone when it is from half to just below full."""
    if profile is not None:
        return PASSED  # the limit that the profile shows says it better
    share = occupancy.occupancy
    if not occupancy.launchable or not ENOUGH <= share < 1:
        return PASSED
    if _reached(occupancy, device, grid) < ENOUGH:
        return PASSED  # the grid, not registers, keeps warps away
    free = free_registers(occupancy) or registers
    use = (
        f"The kernel may use up to {free} registers per thread instead of {registers} at the "
        "same occupancy: spend them on keeping values in registers or on unrolling."
        if free > registers
        else f"Do not trade registers ({registers} per thread) for more resident warps "
        "unless the run time shows that it pays."
    )
    return Advice(
        message=(
            f"Occupancy is {show_share(share)}: {occupancy.warps_per_sm} of "
            f"{occupancy.hardware.max_warps_per_sm} warps per SM.{_one_block(occupancy)}"
        ),
        action=use,
        evidence=(
            derived("theoretical occupancy", share, "share"),
            given("registers per thread", registers, "registers"),
            derived("registers free of charge", free - registers, "registers"),
        ),
    )


def _reached(
    occupancy: Occupancy, device: Device | None, grid: tuple[int, int, int] | None
) -> float:
    """Return the occupancy of the SM that gets most of the blocks of *grid*."""
    if device is None or not device.sm_count or grid is None:
        return occupancy.occupancy
    blocks = math.ceil(math.prod(grid) / device.sm_count)
    return occupancy.occupancy * min(1.0, blocks / occupancy.blocks_per_sm)


def _one_block(occupancy: Occupancy) -> str:
    """Return what one block per SM costs, where blocks of half its threads hold as many warps or more."""
    half = occupancy.launch.threads // 2
    if occupancy.blocks_per_sm != 1 or half % occupancy.hardware.warp_size:
        return ""
    blocks = blocks_at(occupancy, half)
    if blocks < 2:
        return ""
    warps = blocks * half // occupancy.hardware.warp_size
    return (
        " They are all of 1 block: while it starts, ends or waits at a barrier, nothing else runs there. "
        f"{blocks} blocks of {half} threads hold {warps} warps."
    )


RULE = Rule(
    id="surplus-occupancy",
    title="Leave occupancy as it is",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    kinds=(Kind.LAUNCH, Kind.DEVICE),
    family=Family.RESIDENCY,
    why="From about half of the warps on, more of them rarely make a kernel faster.",
    when="Theoretical occupancy is at least 50 % and below 100 %, the grid fills the SMs to half too, and nothing was profiled.",
    citations=(*guide("11.3", "10.5"), *guide("11.1", "10.1")),
    folds_into="unhidden-latency",
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "regs": 40, "block": 256},
        quiet={"gpu": "h200", "regs": 32, "block": 256},
        edges=(
            {"gpu": "h200", "regs": 64, "block": 256},
            {"gpu": "h200", "regs": 65, "block": 256},
        ),
    ),
)
