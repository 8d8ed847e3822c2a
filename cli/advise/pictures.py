"""What a page of ``advise`` shows above its findings: where a run's time went, and the roofline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.roofline_placement import Placed, Roofs, placed, workload
from gpuadvise.cli.roofline.chart import picture as roofline
from gpuadvise.cli.timeline.lanes import picture as lanes
from gpuadvise.cli.timeline.lanes import time_account

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.timelines.case import TimelineCase
    from gpuadvise.cli.render.svg import Picture


def pictures(runs: Sequence[TimelineCase], kernels: Iterable[Facts]) -> list[Picture]:
    """Return the longest of *runs* as account and lanes, and a roofline for each GPU of *kernels*."""
    drawn = []
    if runs:
        longest = max(runs, key=lambda case: case.timeline.span_ns).timeline
        drawn += [time_account(longest), lanes(longest)]
    by_device: dict[str, tuple[Device, list[Placed]]] = {}
    for facts in kernels:
        if facts.device is not None and (kernel := _under_roof(facts, facts.device)):
            by_device.setdefault(facts.device.name, (facts.device, []))[1].append(kernel)
    drawn += [
        roofline(under_roof, f"Roofline of {device.name}")
        for device, under_roof in by_device.values()
    ]
    return drawn


def _under_roof(facts: Facts, device: Device) -> Placed | None:
    """Return where a kernel stands; None where its work or a roof is not known."""
    work = facts.work or (facts.profile.work if facts.profile else None)
    if work is None:
        return None
    try:
        return placed(device, workload(facts.kernel, work), Roofs())
    except BadInput:
        return None  # of a GPU whose peaks nobody knows
