"""Communication of one GPU: how much of it other work hides, and what each collective reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.intervals import Cover, CoverReader, common
from gpuadvise.advisor.timelines.tally import Tally

if TYPE_CHECKING:
    from gpuadvise.advisor.timelines.activities import Activities
    from gpuadvise.advisor.timelines.collectives import Collective, CollectiveRuns

_NS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCollective:
    """Every run of one kind of collective; times in nanoseconds, waits for other ranks included."""

    collective: Collective
    calls: int
    total_ns: int
    median_ns: int
    shortest_ns: int

    @property
    def seconds(self) -> float:
        """Time of all runs."""
        return self.total_ns / _NS

    @property
    def algorithm_rate(self) -> float | None:
        """Bytes per second of the shortest run, which waited the least."""
        return self.collective.algorithm_rate(self.shortest_ns)

    @property
    def bus_rate(self) -> float | None:
        """Bytes per second that each link carried in the shortest run."""
        return self.collective.bus_rate(self.shortest_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Communication:
    """Time in which at least one kernel communicated, and how much of it no kernel computed."""

    total_ns: int
    exposed_ns: int
    collectives: tuple[TracedCollective, ...]  # the longest total first
    again: tuple[TracedCollective, ...]  # likewise, of those behind the program's first steps
    runs: CollectiveRuns  # each of them, in order of time

    @property
    def hidden_ns(self) -> int:
        """Time in which another kernel computed."""
        return self.total_ns - self.exposed_ns

    @property
    def hidden_share(self) -> float:
        """The same as a share of all communication, 0 to 1."""
        return self.hidden_ns / self.total_ns if self.total_ns else 0.0


def communication_of(
    activities: Activities, first_steps_end_ns: int | None = None
) -> Communication | None:
    """Return the communication of a GPU; None where no kernel communicated.

    First steps that are the program's start are over at *first_steps_end_ns*, None where none are.
    """
    if not len(activities.communication_times):
        return None
    total_ns = hidden_ns = 0
    computing = CoverReader(Cover([activities.kernel_times]))
    for block in Cover([activities.communication_times]).blocks():
        total_ns += block.length()
        hidden_ns += sum(common(block, part).length() for part in computing.until(block.ends[-1]))
    collectives = _collectives(activities)
    return Communication(
        total_ns=total_ns,
        exposed_ns=total_ns - hidden_ns,
        collectives=collectives,
        again=(
            collectives
            if first_steps_end_ns is None
            else _collectives(activities, first_steps_end_ns)
        ),
        runs=activities.collectives,
    )


def _collectives(activities: Activities, since_ns: int = 0) -> tuple[TracedCollective, ...]:
    """Return the kinds of collectives, of those that began at *since_ns* or later."""
    durations: dict[Collective, Tally] = {}
    for collective, start, end in activities.collectives:
        if start < since_ns:
            continue
        durations.setdefault(collective, Tally()).add(end - start)
    traced = []
    for collective, tally in durations.items():
        summary = tally.summary()
        traced.append(
            TracedCollective(
                collective=collective,
                calls=summary.count,
                total_ns=summary.total,
                median_ns=summary.median,
                shortest_ns=summary.smallest,
            )
        )
    return tuple(sorted(traced, key=lambda one: -one.total_ns))
