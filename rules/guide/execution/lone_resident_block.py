"""One block per SM, or two with barriers, with nothing to run while it waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.levels import LONG_WAIT
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.occupancy.block_sizes import at_sizes
from gpuadvise.advisor.occupancy.grid import filled_by_grid
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.occupancy_words import register_tile
from gpuadvise.rules.sources import guide
from gpuadvise.rules.waits import warps_may_help

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.facts.timing import Traffic, Work
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.block_sizes import Resident

WANTED = number(3, "wanted blocks per SM", "blocks", "guide 11.3: three or four smaller blocks")
FEW = number(2, "blocks per SM that are few", "blocks", "guide 11.3")


def check(
    device: Device,
    occupancy: Occupancy,
    barriers_used: bool | None = None,
    profile: KernelProfile | None = None,
    traffic: Traffic | None = None,
    work: Work | None = None,
    grid: tuple[int, int, int] | None = None,
    sm_count: int | None = None,
    limiter: Limiter | None = None,
) -> Verdict:
    """Advise when few blocks are resident and no unit is known to be busy."""
    blocks = occupancy.blocks_per_sm
    if not 0 < blocks <= FEW or barriers_used is False or occupancy.launch.assumed_threads:
        return PASSED
    if not warps_may_help(limiter, profile, traffic, device, work):
        return PASSED
    if not filled_by_grid(occupancy, grid, sm_count):
        return PASSED
    if not (barriers_used or _waits_at_barriers(profile)):
        return PASSED if profile and profile.stalls else undecided("barriers_used")
    return Advice(
        message=(
            f"Only {plural(blocks, 'block')} of {plural(occupancy.launch.threads, 'thread')} "
            f"{'is' if blocks == 1 else 'are'} resident per SM"
            ", and the kernel waits at barriers."
        ),
        action=_smaller(occupancy),
        evidence=(
            derived("resident blocks per SM", blocks, "blocks"),
            given("threads per block", occupancy.launch.threads, "threads"),
        ),
        # Tiles in registers hide their barriers behind many independent multiply-adds, and half of
        # the warps are at work while the other block waits: only a profile shows that it is too few.
        priority=Priority.LOW
        if profile is None and (_half_at_work(occupancy) or register_tile(occupancy))
        else None,
    )


def _waits_at_barriers(profile: KernelProfile | None) -> bool:
    return profile is not None and profile.stalls.get(Stall.BARRIER, 0.0) >= LONG_WAIT


def _half_at_work(occupancy: Occupancy) -> bool:
    """Return whether half of the warps that an SM can hold remain while one block waits."""
    remaining = occupancy.blocks_per_sm - 1
    warps = remaining * occupancy.warps_per_sm / occupancy.blocks_per_sm
    return warps >= occupancy.hardware.max_warps_per_sm / 2


def _smaller(occupancy: Occupancy) -> str:
    smaller = range((occupancy.launch.threads - 1) // occupancy.hardware.warp_size, 0, -1)
    best = next((o for o in at_sizes(occupancy, smaller) if _suits(o, occupancy)), None)
    if best:
        return (
            f"Launch {best.threads} threads per block: {best.blocks} blocks per SM "
            f"at {show_share(best.share)} occupancy."
        )
    return (
        "No smaller block keeps as many warps with the same shared memory per block: shrink the "
        f"tile with the block, until {WANTED} or 4 blocks fit an SM."
    )


def _suits(alternative: Resident, now: Occupancy) -> bool:
    return alternative.blocks >= WANTED and alternative.warps >= now.warps_per_sm


RULE = Rule(
    id="lone-resident-block",
    title="Prefer several smaller blocks per SM",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.LAUNCH, Kind.DEVICE, Kind.APPLICATION),
    family=Family.RESIDENCY,
    why="When all warps of the resident blocks wait at a barrier, the SM has nothing else to run.",
    when=(
        "One or two blocks are resident per SM, the kernel waits at barriers (__syncthreads, or "
        "40 % of a warp's time in a profile), the grid has more blocks than fit at once, and no unit is known to be busy; "
        "low for two blocks that fill the SM, and for 128 registers and more, where no profile shows the wait: so run tiled products."
    ),
    citations=guide("11.3", "10.5"),
    folds_into="shared-memory-limited-occupancy",
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "regs": 64, "block": 1024, "syncs": True},
        quiet={"gpu": "h200", "regs": 32, "block": 256},
        edges=(
            {"gpu": "h200", "regs": 32, "block": 1024, "syncs": True},
            {"gpu": "h200", "regs": 32, "block": 1024, "syncs": False},
        ),
    ),
)
