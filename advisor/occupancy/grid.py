"""A whole grid on a whole GPU: waves, their tail, idle SMs, cooperative launches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.clusters import ClusterSource

if TYPE_CHECKING:
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.clusters import Clusters


@dataclass(frozen=True, slots=True, kw_only=True)
class Waves:
    """How a grid of *blocks* fills the GPU; a wave is all blocks that are resident at once.

    With *bound* the size of a wave is an upper bound: the waves are then the fewest there can
    be, and their tail is that of the fewest.
    """

    blocks: int
    wave_size: int
    sm_count: int
    cooperative: bool | None  # the whole grid is resident at once; None: only a device knows
    bound: bool = False

    @property
    def waves(self) -> float:
        """Waves, with the part that the last one fills."""
        return self.blocks / self.wave_size

    @property
    def tail_efficiency(self) -> float:
        """Share of the waves' block slots that hold a block, 0 to 1."""
        return self.waves / math.ceil(self.waves)

    @property
    def idle_sms(self) -> int:
        """SMs that no block of a wave is left for; with clusters there may be more."""
        return max(0, self.sm_count - min(self.blocks, self.wave_size))


def waves(
    result: Occupancy, sm_count: int, blocks: int, clusters: Clusters | None = None
) -> Waves | None:
    """Return how *blocks* fill *sm_count* multiprocessors; None when none can start.

    A launch with clusters fills *clusters* at a time; without them its waves are bounds.
    """
    own = result.launch.cluster_size
    size = clusters.count * own if clusters else sm_count * result.blocks_per_sm
    if not size or not result.launchable:
        return None
    sure = own == 1 or (clusters is not None and clusters.source is ClusterSource.DRIVER)
    fits = blocks <= size
    return Waves(
        blocks=blocks,
        wave_size=size,
        sm_count=sm_count,
        cooperative=fits if sure or not fits else None,
        bound=own > 1 and (clusters is None or clusters.source is ClusterSource.BOUND),
    )


def filled_by_grid(
    occupancy: Occupancy, grid: tuple[int, int, int] | None, sm_count: int | None
) -> bool:
    """Return whether the grid has all blocks that fit at once: with fewer nothing is won.

    A grid of exactly that many was made to measure, and grows with what fits.
    """
    if grid is None or not sm_count:
        return True
    return math.prod(grid) >= sm_count * occupancy.blocks_per_sm
