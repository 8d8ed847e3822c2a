"""A thread-block cluster that the device does not take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.fault import Cause
from gpuadvise.advisor.occupancy.fixes import fixes
from gpuadvise.advisor.prose import capitalized
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import given, of_device
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.fixes import LaunchFix
    from gpuadvise.advisor.occupancy.launch import Launch

_CLUSTER = (Cause.CLUSTER, Cause.CLUSTER_GRID)


def check(device: Device, launch: Launch, launched: Occupancy) -> Verdict:
    """Advise when clusters are unknown to the device, too large, or do not divide the grid."""
    fault = launched.fault
    if fault is None or fault.cause not in _CLUSTER:
        return PASSED
    ways = fixes(device.limits, launch, fault)
    most = device.limits.max_cluster_size_nonportable
    note = (
        f" {capitalized(device.name)} takes up to {device.limits.max_cluster_size_portable} blocks per "
        f"cluster, {most} with the non-portable opt-in; how many clusters fit depends on the "
        "chip: cudaOccupancyMaxActiveClusters knows."
        if most
        else " Clusters need compute capability 9.0 or later."
    )
    return Advice(
        message=f"{fault.message} {fault.refusal}",
        action=_without(ways) + note,
        evidence=(
            given("blocks per cluster", launch.cluster_size, "blocks"),
            of_device(device, "limits", "most allowed", fault.allowed),
        ),
    )


def _without(ways: Sequence[LaunchFix]) -> str:
    clustered = [way for way in ways if way.launch.cluster_size > 1]
    return clustered[0].how if clustered else "Launch without a cluster."


RULE = Rule(
    id="unsupported-cluster",
    title="Use clusters the device supports",
    topic=Topic.EXECUTION,
    priority=Priority.HIGH,
    kinds=(Kind.LAUNCH, Kind.DEVICE),
    broken=True,
    why="The launch fails on this device.",
    when=(
        "Clusters are used below compute capability 9.0, hold more than 8 blocks without the "
        "non-portable opt-in, or do not divide the grid."
    ),
    thresholds=(
        Threshold(
            name="portable cluster",
            value=8,
            unit="blocks",
            source="programming guide, Thread Block Clusters",
        ),
    ),
    citations=(programming_guide("Thread Block Clusters"),),
    check=check,
    examples=Examples(
        fires={"gpu": "a100", "block": 128, "grid": 64, "cluster": 2},
        quiet={"gpu": "h200", "block": 128, "grid": 64, "cluster": 2},
        edges=(
            {"gpu": "h200", "block": 128, "grid": 90, "cluster": 9},
            {"gpu": "h200", "block": 128, "grid": 80, "cluster": 8},
        ),
    ),
)
