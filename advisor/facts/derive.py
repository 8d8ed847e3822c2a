"""Facts that follow from other facts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.model import occupancy

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.bag import Facts


def completed(facts: Facts) -> Facts:
    """Return *facts* with grid, registers and occupancy, where the launch and device give them.

    Without a register count the occupancy is not derived: it would be an upper bound only.
    """
    launch, device = facts.launch, facts.device
    if launch is None:
        return facts
    known = device is not None and launch.registers is not None
    return replace(
        facts,
        grid=launch.grid_dim,
        registers=launch.registers,
        occupancy=occupancy(device.limits, launch) if known and device else None,
    )
