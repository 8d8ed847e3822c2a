"""Ranks of one program: which come last to collectives, who waits, and what even ranks would take.

A collective ends on all its ranks at about the same time, and on each it lasts from that rank's
arrival on. So the shortest run of one collective is the sending itself, and what another rank's run
took beyond is waiting for the last to come. No clocks are
compared, but to tell recordings of other runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.collectives import Collective, Operation
from gpuadvise.advisor.timelines.one_run import RankOrigin, origin_of, why_not_one_run
from gpuadvise.advisor.timelines.sorted_runs import SortedRuns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.timelines.timeline import Timeline

_NS = 1e9
# A rank holds the others up where it causes this many times an even share of their waiting.
_STRAGGLES = 1.5
# Of the ranks' mean span: less waiting than this is not worth a word.
WORTH_BALANCING = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWait:
    """What one rank waited for others, and made them wait; nanoseconds of all its collectives.

    ``last_in`` counts the collectives to which it came last. ``caused_ns`` is how long the other
    ranks waited then, in the mean of them.
    """

    rank: int
    span_ns: int
    waited_ns: int
    exposed_wait_ns: int  # of it, while no kernel computed
    caused_ns: int
    last_in: int

    @property
    def waited_seconds(self) -> float:
        """Time of waiting for other ranks."""
        return self.waited_ns / _NS


@dataclass(frozen=True, slots=True, kw_only=True)
class RankBalance:
    """How the ranks of a program waited for each other, in order of their numbers.

    ``collectives`` were compared, ``unmatched`` were not, as ranks ran different numbers of them.
    """

    ranks: tuple[RankWait, ...]
    collectives: int
    unmatched: int

    @property
    def span_ns(self) -> float:
        """The mean span of the ranks."""
        return sum(one.span_ns for one in self.ranks) / len(self.ranks)

    @property
    def saved_ns(self) -> float:
        """What even work would save at most: the ranks' mean wait that nothing hides.

        The last rank has the work that the others wait for; shared out, each has the mean of it.
        """
        return sum(one.exposed_wait_ns for one in self.ranks) / len(self.ranks)

    @property
    def share(self) -> float:
        """The same as a share of the mean span, 0 to 1."""
        return min(1.0, self.saved_ns / self.span_ns) if self.span_ns else 0.0

    @property
    def speedup(self) -> float | None:
        """The bound on the whole; None where nothing would be left."""
        return 1 / (1 - self.share) if self.share < 1 else None

    @property
    def stragglers(self) -> tuple[RankWait, ...]:
        """The ranks that the others wait for, the worst first; none where waiting is little."""
        caused = sum(one.caused_ns for one in self.ranks)
        if self.share < WORTH_BALANCING or not caused:
            return ()
        least = _STRAGGLES * caused / len(self.ranks)
        late = [one for one in self.ranks if one.caused_ns >= least]
        return tuple(sorted(late, key=lambda one: -one.caused_ns))


@dataclass(slots=True)
class _Rank:
    """One rank that was read: its number, and what share of its communication was exposed."""

    number: int
    span_ns: int
    exposed: float
    origin: RankOrigin


@dataclass(slots=True)
class RankRuns:
    """Collectives of many ranks, given rank by rank; memory does not grow with their number."""

    _ranks: list[_Rank] = field(default_factory=list)
    _kinds: dict[Collective, int] = field(default_factory=dict)
    # Kind, how many of that kind came before on the rank, duration, place of the rank.
    _runs: SortedRuns = field(default_factory=lambda: SortedRuns(width=4))

    def __len__(self) -> int:
        return len(self._ranks)

    def add(self, line: Timeline, number: int) -> None:
        """Add the collectives of rank *number*, whose timeline is *line*."""
        communication = line.communication
        place = len(self._ranks)
        exposed = 0.0 if communication is None else 1 - communication.hidden_share
        origin = origin_of(line, number)
        self._ranks.append(
            _Rank(number=number, span_ns=line.span_ns, exposed=exposed, origin=origin)
        )
        before: dict[int, int] = {}
        for collective, start, end in communication.runs if communication else ():
            origin.add(collective, end)
            if not _comparable(collective):
                continue
            kind = self._kinds.setdefault(collective, len(self._kinds))
            count = before.get(kind, 0)
            before[kind] = count + 1
            self._runs.add(kind, count, end - start, place)

    @property
    def why_not_one_run(self) -> str | None:
        """What says that the ranks are not of one run; None where nothing does."""
        return why_not_one_run([rank.origin for rank in self._ranks])

    def balance(self) -> RankBalance | None:
        """Return who waited for whom; None where fewer than two ranks of one run ran the same collective."""
        numbers = {rank.number for rank in self._ranks}
        if len(self._ranks) < 2 or len(numbers) < len(self._ranks) or self.why_not_one_run:
            return None
        waited, caused = [0] * len(self._ranks), [0.0] * len(self._ranks)
        last_in = [0] * len(self._ranks)
        compared = unmatched = 0
        for runs, alike in self._by_collective():
            if not alike:
                unmatched += 1
                continue
            compared += 1
            shortest, last = runs[0]
            waits = [(duration - shortest, place) for duration, place in runs[1:]]
            last_in[last] += 1
            caused[last] += sum(wait for wait, _ in waits) / len(waits)
            for wait, place in waits:
                waited[place] += wait
        if not compared:
            return None
        return RankBalance(
            ranks=tuple(
                sorted(
                    (
                        RankWait(
                            rank=rank.number,
                            span_ns=rank.span_ns,
                            waited_ns=waited[place],
                            exposed_wait_ns=round(waited[place] * rank.exposed),
                            caused_ns=round(caused[place]),
                            last_in=last_in[place],
                        )
                        for place, rank in enumerate(self._ranks)
                    ),
                    key=lambda one: one.rank,
                )
            ),
            collectives=compared,
            unmatched=unmatched,
        )

    def _by_collective(self) -> Iterator[tuple[list[tuple[int, int]], bool]]:
        """Yield the durations and places of each collective's ranks, and whether all are there."""
        kinds = list(self._kinds)
        for (kind, _), rows in groupby(self._runs, key=itemgetter(0, 1)):
            runs = [(duration, place) for _, _, duration, place in rows]
            expected = kinds[kind].ranks or len(self._ranks)
            yield runs, len(runs) == min(expected, len(self._ranks)) > 1


def _comparable(collective: Collective) -> bool:
    """Return whether all ranks of a group run it; NCCL sends for all-to-all by send and receive."""
    unnamed = collective.operation is Operation.SEND_RECEIVE and collective.ranks is None
    return collective.operation.between_all or unnamed
