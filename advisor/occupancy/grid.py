"""A whole grid on a whole GPU: waves, their tail, cooperative launches, clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.occupancy.answer import Occupancy


@dataclass(frozen=True, slots=True, kw_only=True)
class Waves:
    """How a grid of *blocks* fills the GPU; a wave is all blocks that are resident at once."""

    blocks: int
    wave_size: int
    cooperative: bool | None  # the whole grid is resident at once; None: only a device knows

    @property
    def waves(self) -> float:
        """Waves, with the part that the last one fills."""
        return self.blocks / self.wave_size

    @property
    def tail_efficiency(self) -> float:
        """Share of the waves' block slots that hold a block, 0 to 1."""
        return self.waves / math.ceil(self.waves)


def waves(result: Occupancy, sm_count: int, blocks: int) -> Waves | None:
    """Return how *blocks* fill *sm_count* multiprocessors; None when none can start.

    With clusters the size of a wave is an upper bound: see ``clusters_upper_bound``.
    """
    size = sm_count * result.blocks_per_sm
    if not size:
        return None
    fits = blocks <= size
    unsure = fits and result.launch.cluster_size > 1
    return Waves(blocks=blocks, wave_size=size, cooperative=None if unsure else fits)


def clusters_upper_bound(result: Occupancy, sm_count: int) -> int:
    """Return the most clusters that can be resident: an upper bound, not a prediction.

    A cluster stays inside one group of multiprocessors (GPC), and groups differ in size from
    chip to chip. Only ``cudaOccupancyMaxActiveClusters`` on the device knows the true count.
    """
    return sm_count * result.blocks_per_sm // result.launch.cluster_size
