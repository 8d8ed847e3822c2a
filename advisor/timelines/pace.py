"""Work that a clock paces: frames of a camera or for a display, however fast the GPU is."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.steps import median_low

if TYPE_CHECKING:
    from gpuadvise.advisor.timelines.activities import Activities

# Frames per second of cameras, films and displays. Those of television are a thousandth slower.
_RATES = (10, 15, 20, 24, 25, 30, 50, 60, 72, 75, 90, 120, 144)
_NEARLY = 0.003
# Fewer frames tell no rate, and most of them are as far apart as the typical ones, within a fifth.
FEWEST_FRAMES = 50
_MOST, _ALIKE = 0.8, 0.2
_SECOND = 1_000_000_000


def frame_period_ns(activities: Activities) -> int | None:
    """Return how far apart the frames are that a GPU works on; None where no clock paces it.

    The kernel that takes the longest tells, of those that come once in each.
    """
    longest = max(
        (runs for runs in activities.kernels.values() if len(runs.starts) > FEWEST_FRAMES),
        key=lambda runs: runs.durations.summary().total,
        default=None,
    )
    starts = activities.longest_starts if longest is None else longest.starts
    if len(starts) <= FEWEST_FRAMES:
        return None
    apart = [later - earlier for earlier, later in pairwise(sorted(starts))]
    period = median_low(apart)
    if not any(abs(period * rate - _SECOND) <= _NEARLY * _SECOND for rate in _RATES):
        return None
    alike = sum(abs(one - period) <= _ALIKE * period for one in apart)
    return period if alike >= _MOST * len(apart) else None
