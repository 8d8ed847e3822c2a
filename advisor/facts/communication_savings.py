"""What even ranks, and communication that computing hides, save of a recorded program.

Each is the seconds that the change saves at most, and None where it is not worth advising.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timeline import NOTICEABLE
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.ranks import RankWaits
    from gpuadvise.advisor.facts.timeline import TracedRun

MUCH_WAITED = number(
    0.15, "wait for other ranks that is urgent", "share", "our judgement", LaunchSet.RECORDED
)
MUCH_EXPOSED = number(
    0.15, "communication that nothing hides", "share", "our judgement", LaunchSet.RECORDED
)
# Where all of the span is waiting, or sending, nothing bounds the gain.
_MOST = number(
    0.99,
    "wait for other ranks, or communication that computing hides, at most",
    "share",
    "our judgement",
)


def saved_by_even_ranks(ranks: RankWaits) -> float | None:
    """Return the mean wait of *ranks* for each other."""
    if ranks.share < NOTICEABLE:
        return None
    return min(ranks.share, _MOST) * ranks.span_seconds


def saved_by_even_rank(run: TracedRun) -> float | None:
    """Return what collectives of one rank take beyond like ones, and others may have kept it waiting."""
    return run.rank_wait_seconds if run.share(run.rank_wait_seconds) >= MUCH_WAITED else None


def hidden_among_ranks(ranks: RankWaits) -> float | None:
    """Return the communication of the mean rank, waits not counted, as far as computing could hide it."""
    seconds, computing = ranks.sending_seconds, ranks.computing_seconds
    if seconds is None or ranks.share_of_span(seconds) < MUCH_EXPOSED:
        return None
    hidden = seconds if computing is None else min(seconds, computing)
    return min(ranks.share_of_span(hidden), _MOST) * ranks.span_seconds


def sending_seconds(run: TracedRun) -> float:
    """Return the communication of one rank that nothing hides, waits for other ranks not counted."""
    return max(0.0, run.exposed_communication_seconds - run.rank_wait_seconds)


def hidden_of_one(run: TracedRun) -> float | None:
    """Return the communication of one rank, as far as the rest of the GPU's work could hide it."""
    seconds = sending_seconds(run)
    if not run.collectives or run.share(seconds) < MUCH_EXPOSED:
        return None
    return min(seconds, max(0.0, run.busy_seconds - run.exposed_communication_seconds))
