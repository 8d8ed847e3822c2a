"""Too few resident warps to hide the latency of arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.latency import hide_arithmetic
from gpuadvise.advisor.occupancy.grid import filled_by_grid
from gpuadvise.advisor.prose import plural
from gpuadvise.rules.advice import PASSED, Advice, Evidence, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, given, of_device
from gpuadvise.rules.model import Conflict, Examples, Family, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.sources import guide, programming_guide
from gpuadvise.rules.waits import warps_may_help

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.facts.timing import Traffic, Work
    from gpuadvise.advisor.occupancy.answer import Occupancy


def check(
    device: Device,
    occupancy: Occupancy,
    arithmetic_latency: int,
    independent_instructions: float | None = None,
    profile: KernelProfile | None = None,
    traffic: Traffic | None = None,
    work: Work | None = None,
    grid: tuple[int, int, int] | None = None,
    sm_count: int | None = None,
    limiter: Limiter | None = None,
) -> Verdict:
    """Advise when resident warps x independent instructions do not cover the latency."""
    ilp = independent_instructions or 1.0
    needed = hide_arithmetic(
        device.capability,
        device.limits,
        latency_cycles=arithmetic_latency,
        parallel_instructions=ilp,
    )
    resident = occupancy.warps_per_sm
    if needed is None or not resident or resident >= needed.warps:
        return PASSED
    if not warps_may_help(limiter, profile, traffic, device, work):
        return PASSED
    if not filled_by_grid(occupancy, grid, sm_count):
        return PASSED
    return Advice(
        message=(
            f"{plural(resident, 'warp')} per SM with {ilp:g} independent "
            f"{'instruction' if ilp == 1 else 'instructions'} each cannot hide the "
            f"{arithmetic_latency} cycles that a dependent instruction waits: that takes "
            f"{needed.warps} warps ({needed.threads} threads)."
        ),
        action=(
            f"Keep at least {needed.warps} warps per SM resident, or give each thread "
            f"{needed.instructions / resident:.1f} independent instructions in a row: unroll, "
            "or let a thread compute several elements (--ilp)."
        ),
        evidence=(
            derived("resident warps per SM", resident, "warps"),
            derived("needed warps per SM", needed.warps, "warps"),
            _independent(independent_instructions),
            of_device(device, "limits", "arithmetic latency", arithmetic_latency, "cycles"),
        ),
        gain=_gain(needed.warps, resident),
        priority=Priority.LOW if independent_instructions is None else None,
    )


def _independent(known: float | None) -> Evidence:
    if known is None:
        return derived("independent instructions, assumed", 1, "instructions")
    return given("independent instructions", known, "instructions")


def _gain(needed: int, resident: int) -> Gain:
    how = f"needed / resident warps = {needed} / {resident}"
    return Gain(kind=GainKind.INSTRUCTION_RATE, upper_bound=needed / resident, how=how)


RULE = Rule(
    id="unhidden-latency",
    title="Keep enough warps resident to hide latency",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.LAUNCH, Kind.DEVICE, Kind.APPLICATION),
    family=Family.RESIDENCY,
    recommendation=True,
    why="When every warp waits for its own last result, the SM issues nothing.",
    when=(
        "Resident warps are fewer than latency (cycles) x instructions issued per cycle / "
        "independent instructions, and no unit is known to be busy."
    ),
    thresholds=(
        Threshold(
            name="arithmetic latency of cc 7.0 and later",
            value=4,
            unit="cycles",
            source="guide 11.2: 4 cycles x 4 schedulers = 16 warps",
        ),
    ),
    citations=(*guide("11.2", "10.4"), programming_guide("Multiprocessor Level")),
    folds_into="lone-resident-block",
    conflicts_with=(
        Conflict(
            rule="surplus-occupancy",
            decide=(
                "These pull in opposite directions: more warps hide latency, and so does more "
                "independent work per thread, which costs registers. Try the independent work first "
                "and compare run times."
            ),
        ),
    ),
    check=check,
    examples=Examples(
        fires={"gpu": "v100-sxm2-32gb", "regs": 128, "block": 128, "dynamic_smem": "48KiB"},
        quiet={"gpu": "v100-sxm2-32gb", "regs": 32, "block": 256},
        edges=(
            {"gpu": "v100-sxm2-32gb", "regs": 32, "block": 480, "dynamic_smem": "90KiB"},
            {"gpu": "v100-sxm2-32gb", "regs": 32, "block": 512, "dynamic_smem": "90KiB"},
        ),
    ),
)
