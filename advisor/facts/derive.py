"""Facts that follow from other facts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.model import occupancy

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.bag import Facts


def completed(facts: Facts) -> Facts:
    """Return *facts* with everything that follows from them.

    Without a register count no occupancy is derived: it would be an upper bound only.
    """
    launch, device = facts.launch, facts.device
    latency = device.limits.arithmetic_latency_cycles if device else None
    known = device is not None and launch is not None and launch.registers is not None
    return replace(
        facts,
        sm_count=device.sm_count if device else None,
        arithmetic_latency=facts.arithmetic_latency or latency,
        grid=launch.grid_dim if launch else None,
        registers=launch.registers if launch else None,
        occupancy=occupancy(device.limits, launch) if known and device and launch else None,
    )
