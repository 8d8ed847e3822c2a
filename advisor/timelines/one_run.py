"""Whether the recordings of ranks are of one run of a program: what they say against it.

A rank of another run would seem to hold the others up, or to wait for them, by as much as the runs differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.advisor.timelines.activities import Recorder
from gpuadvise.advisor.timelines.collectives import Collective, Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.timelines.timeline import Timeline

_NS = 1e9
# Collectives that end on all ranks together: those of a root let others go before.
_TOGETHER = (
    Operation.ALL_REDUCE,
    Operation.ALL_GATHER,
    Operation.REDUCE_SCATTER,
    Operation.ALL_TO_ALL,
    Operation.BARRIER,
)
# From the end of the first such collective to that of the last takes all ranks of a run as long.
_AS_LONG, _AS_LONG_NS = 0.1, 1_000_000
# Clocks of the hosts of a cluster, which network time keeps together, differ by less.
_CLOCKS_APART_NS = 1_000_000_000
_MOST_NAMED = 4
_ARE_THEY = "so they are not compared: are they of one run?"


@dataclass(slots=True)
class RankOrigin:
    """What tells of which run a rank is."""

    number: int
    said: bool  # by the recording; else it is the number of a GPU in it
    world: int | None  # how many ranks it says there are
    when_ns: tuple[int, int] | None  # begin and end, of the clock of its host
    # How many of each collective of known ranks, when the first ended, and when the last did.
    ends: dict[Collective, tuple[int, int, int]] = field(default_factory=dict)

    def add(self, collective: Collective, end: int) -> None:
        """Add a collective that ended at *end*."""
        if collective.operation in _TOGETHER and collective.ranks:
            count, first, last = self.ends.get(collective, (0, end, end))
            self.ends[collective] = count + 1, min(first, end), max(last, end)


def origin_of(line: Timeline, number: int) -> RankOrigin:
    """Return the origin of rank *number*, whose timeline is *line*, without its collectives."""
    begin = line.clock_base_ns + line.lanes.start_ns
    # Exports of Nsight Systems begin with zero, JAX's with its own session.
    when = (begin, begin + line.span_ns) if line.recorder is Recorder.PYTORCH else None
    return RankOrigin(number=number, said=line.rank == number, world=line.world, when_ns=when)


def why_not_one_run(ranks: Sequence[RankOrigin]) -> str | None:
    """Return, as a sentence, what says that *ranks* are not of one run; None where nothing does."""
    if len(ranks) < 2:
        return None
    return _twice(ranks) or _worlds(ranks) or _at_other_times(ranks) or _otherwise(ranks)


def _twice(ranks: Sequence[RankOrigin]) -> str | None:
    numbers = sorted(rank.number for rank in ranks if rank.said)
    twice = [number for number, same in groupby(numbers) if len(list(same)) > 1]
    if not twice:
        return None
    more = f" and {plural(len(twice) - _MOST_NAMED, 'other')}" if len(twice) > _MOST_NAMED else ""
    which = and_list([str(number) for number in twice[:_MOST_NAMED]])
    return (
        f"Several recordings say that they are rank {which}{more}, so that ranks are not compared: "
        "give those of one run alone."
    )


def _worlds(ranks: Sequence[RankOrigin]) -> str | None:
    worlds = sorted({rank.world for rank in ranks if rank.world is not None})
    if len(worlds) < 2:
        return None
    told = and_list([str(world) for world in worlds[:_MOST_NAMED]])
    return f"The recordings are of runs of {told} ranks, {_ARE_THEY}"


def _at_other_times(ranks: Sequence[RankOrigin]) -> str | None:
    """Say of two ranks that one was recorded long after the other: their collectives cannot be the same."""
    timed = [(rank.when_ns, rank.number) for rank in ranks if rank.when_ns is not None]
    if len(timed) < 2:
        return None
    (_, first_end), first = min(timed, key=lambda one: one[0][1])
    (last_begin, _), last = max(timed, key=lambda one: one[0][0])
    apart = last_begin - first_end
    if apart < _CLOCKS_APART_NS:
        return None
    return (
        f"By its clock the recording of rank {last} begins {show_seconds(apart / _NS)} after that of rank {first} ends, "
        f"{_ARE_THEY}"
    )


def _otherwise(ranks: Sequence[RankOrigin]) -> str | None:
    """Say of two ranks that they ran other collectives of all ranks, or the same in another time."""
    known = [{kind for kind in rank.ends if (kind.ranks or 0) >= len(ranks)} for rank in ranks]
    if all(known) and not set.intersection(*known):
        return f"The ranks ran no collective of the same kind, size and group, {_ARE_THEY}"
    apart = 0
    said = None
    for kind in dict.fromkeys(kind for rank in ranks for kind in rank.ends):
        runs = [(rank.ends[kind], rank.number) for rank in ranks if kind in rank.ends]
        if len(runs) < 2 or len({count for (count, _, _), _ in runs}) > 1:
            continue
        took = [(last - first, number) for (_, first, last), number in runs]
        (shortest, quick), (longest, slow) = min(took), max(took)
        if longest - shortest > max(_AS_LONG * longest, _AS_LONG_NS, apart):
            apart = longest - shortest
            said = (
                f"From the first to the last {kind.operation} of one kind rank {slow} took {show_seconds(longest / _NS)} and "
                f"rank {quick} {show_seconds(shortest / _NS)}, where all of them end on all ranks together, {_ARE_THEY}"
            )
    return said
