"""A recorded run once more, without some of the host's time.

The host hands work to the GPU in order, and the GPU does it in order. Work that followed a gap was
late: it comes earlier by the host's time that is left out before it, but not before the work ahead
of it has ended. Work without a gap before it was queued in time, and still is, since all that is
left out before it comes earlier too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.timelines.intervals import Blocks, Intervals


class Replay:
    """What a run wins without the host's time in *removed* calls, all waits among them."""

    def __init__(self, removed: Blocks) -> None:
        self.saved_ns = 0  # by which the GPU's last work ends earlier
        self._intervals = (interval for block in removed.blocks() for interval in block)
        self._interval = next(self._intervals, None)
        self._passed_ns = 0  # removed up to the last time that was asked for
        self._begun_ns = 0

    def begin(self, start: int) -> None:
        """Begin the run at *start*: what the host did before does not count."""
        self._begun_ns = self._removed_until(start)

    def _removed_until(self, time: int) -> int:
        """Return the nanoseconds removed before *time*; times come in order."""
        while self._interval is not None and self._interval[1] <= time:
            self._passed_ns += self._interval[1] - self._interval[0]
            self._interval = next(self._intervals, None)
        if self._interval is None or self._interval[0] >= time:
            return self._passed_ns
        return self._passed_ns + time - self._interval[0]

    def add(self, gaps: Intervals) -> None:
        """Replay the work behind *gaps*."""
        saved = self.saved_ns
        ahead = self._interval is None or not gaps.ends or self._interval[0] >= gaps.ends[-1]
        if ahead and self._passed_ns - self._begun_ns <= saved:
            return  # nothing is removed before these gaps that was not won already
        for start, end in gaps:
            earlier = self._removed_until(end) - self._begun_ns
            saved = min(saved + end - start, earlier) if earlier > saved else saved
        self.saved_ns = saved
