"""A launch that the driver will refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.fault import Cause
from gpuadvise.advisor.occupancy.fixes import fixes
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.next_steps import LEAST_KEPT
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import given, of_device
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.code import LaunchBounds
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.launch import Launch

# unsupported-cluster speaks about these.
_CLUSTER = (Cause.CLUSTER, Cause.CLUSTER_GRID)
_NAMED = number(
    2,
    "ways to mend a launch that are named",
    "",
    "our judgement: the others change more",
    LaunchSet.FIFTH,
)
_DOUBT = "; such a cut mostly spills: compile and look"


def check(
    device: Device,
    launch: Launch,
    launched: Occupancy,
    launch_bounds: LaunchBounds | None = None,
    profile: KernelProfile | None = None,
) -> Verdict:
    """Advise when a limit of the device forbids the launch; one that was profiled has run."""
    if profile is not None and profile.elapsed_cycles is not None:
        return PASSED
    fault = launched.fault
    if fault is None and launch.registers is None and not _bounded(launch, launch_bounds):
        most = replace(launch, registers=device.limits.max_registers_per_thread)
        if occupancy(device.limits, most).fault is not None:
            return undecided("registers")
    if fault is None or fault.cause in _CLUSTER:
        return PASSED
    wanted = _within(launched, launch_bounds)
    if wanted.fault is None:
        return PASSED  # exceeded-launch-bounds says it, and the block that it names fits
    return Advice(
        message=f"{fault.message} {fault.refusal}",
        action=_ways(device, wanted),
        evidence=(
            given(str(fault.cause).replace("_", " "), fault.requested),
            of_device(device, "limits", "most allowed", fault.allowed),
        ),
    )


def _within(launched: Occupancy, bounds: LaunchBounds | None) -> Occupancy:
    """Return the launch with a block that the launch bounds allow: they forbid a larger one anyway."""
    launch = launched.launch
    if bounds is None or launch.threads <= bounds.threads:
        return launched
    within = launch.with_threads(bounds.threads).but(max_threads=bounds.threads)
    return occupancy(launched.hardware, within)


def _ways(device: Device, launched: Occupancy) -> str:
    """Return the changes that mend it, first those without a cap that cuts many of the registers."""
    launch, fault = launched.launch, launched.fault
    assert fault is not None
    ways = sorted(fixes(device.limits, launch, fault), key=lambda way: _spills(launch, way.launch))
    if not ways:
        return "No change of a single figure mends it: shrink the block."
    return " Or: ".join(
        f"{way.how.rstrip('.')}{_DOUBT if _spills(launch, way.launch) else ''}."
        for way in ways[:_NAMED]
    )


def _spills(now: Launch, then: Launch) -> bool:
    """Return whether *then* has so many fewer registers that the compiler will hardly do without spills."""
    return (then.registers or 0) < LEAST_KEPT * (now.registers or 0)


def _bounded(launch: Launch, bounds: LaunchBounds | None) -> bool:
    """Return whether the compiler was told of blocks as large: it then leaves them registers."""
    return bounds is not None and launch.threads <= bounds.threads


RULE = Rule(
    id="impossible-launch",
    title="Stay within the limits of the device",
    topic=Topic.EXECUTION,
    priority=Priority.HIGH,
    kinds=(Kind.LAUNCH, Kind.DEVICE),
    broken=True,
    why="The kernel does not run at all, and only an error check after the launch shows it.",
    when="A block, its registers, its shared memory or the grid exceeds a limit of the device.",
    citations=guide("11.3", "10.5"),
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "regs": 72, "block": 1024},
        quiet={"gpu": "h200", "regs": 64, "block": 1024},
        edges=(
            {"gpu": "h200", "regs": 72, "block": 928},
            {"gpu": "h200", "regs": 72, "block": 896},
        ),
    ),
)
