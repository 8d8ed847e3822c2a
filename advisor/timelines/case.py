"""One GPU's timeline in a file, with what follows from it."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.advisor.timelines.activities import CopyPath
from gpuadvise.advisor.timelines.evidence import rank_waits, run_among_ranks, traced_run
from gpuadvise.advisor.timelines.run_limit import limit_of
from gpuadvise.advisor.timelines.staging import traced_staging
from gpuadvise.advisor.timelines.what_if import what_if
from gpuadvise.advisor.transfers.copies import Direction, copy_rate
from gpuadvise.advisor.transfers.links import default_link_model
from gpuadvise.advisor.transfers.overlap import overlap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.ranks import RankWaits
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.timelines.activities import Recording
    from gpuadvise.advisor.timelines.ranks import RankBalance, RankRuns
    from gpuadvise.advisor.timelines.run_limit import RunLimit
    from gpuadvise.advisor.timelines.staging import TracedStaging
    from gpuadvise.advisor.timelines.timeline import Timeline, TracedCopies
    from gpuadvise.advisor.timelines.what_if import WhatIf
    from gpuadvise.advisor.transfers.links import LinkModel
    from gpuadvise.advisor.transfers.overlap import Overlap

_WAYS = {CopyPath.H2D: Direction.H2D, CopyPath.D2H: Direction.D2H}
_NS = 1e9
# Streams that a prediction tries: more pieces win little, and a timeline has many passes.
_MOST_STREAMS = 16


@dataclass(frozen=True, kw_only=True)
class TimelineCase:
    """One GPU's timeline and what follows from it."""

    file: str  # as the user named it
    member: str | None = None  # of a folder
    timeline: Timeline
    ranks: RankWaits | None = (
        None  # how the ranks among which it was recorded waited for each other
    )

    @property
    def place(self) -> str:
        """The file, in the folder that was named."""
        return self.file if self.member is None else os.path.join(self.file, self.member)

    @cached_property
    def link(self) -> LinkModel:
        """What the GPU's link to the host reaches."""
        return default_link_model(self.timeline.device)

    @cached_property
    def changes(self) -> tuple[WhatIf, ...]:
        """What could save 2 % of the span or more, the largest first."""
        run = self.run if self.ranks is None else run_among_ranks(self.run)
        return what_if(self.timeline, self.link, run, self.ranks)

    @cached_property
    def run(self) -> TracedRun:
        """Where the time went."""
        return traced_run(self.timeline, self.link)

    @cached_property
    def limit(self) -> RunLimit | None:
        """What limits the run, of all that was recorded."""
        return limit_of(self.timeline, self.run)

    @cached_property
    def staging(self) -> TracedStaging | None:
        """The copies and kernels as work that could be staged."""
        return traced_staging(self.timeline, self.link)

    @cached_property
    def staged(self) -> Overlap | None:
        """What staging one pass could reach, by the overlap model."""
        if self.staging is None:
            return None
        return overlap(self.staging.work, self.staging.link, most_streams=_MOST_STREAMS)

    def link_rate(self, copies: TracedCopies) -> float | None:
        """Return the bytes/s that large pinned copies of this direction reach on the link.

        None where the GPU, and so its link, is not known.
        """
        way = _WAYS.get(copies.kind.path)
        return None if way is None or self.timeline.device is None else copy_rate(self.link, way)


def run_names(cases: Sequence[TimelineCase]) -> list[str | None]:
    """Return what tells the runs of *cases* from each other: rank and GPU, and the file if need be.

    None where there is only one.
    """
    if len(cases) < 2:
        return [None] * len(cases)
    names = [line_name(case.timeline) for case in cases]
    if len(set(names)) < len(names):
        names = [
            f"{os.path.basename(case.place)}, {name}"
            for case, name in zip(cases, names, strict=True)
        ]
    return list(names)


def ranks_in(cases: Sequence[TimelineCase]) -> RankRuns:
    """Return the ranks among *cases*.

    A rank is known by its number in the recording; GPUs that share a recording are ranks, too.
    """
    from gpuadvise.advisor.timelines.ranks import RankRuns

    gpus = Counter(case.place for case in cases)
    ranks = RankRuns()
    for case in cases:
        line = case.timeline
        number = line.gpu if gpus[case.place] > 1 else line.rank
        if number is not None:
            ranks.add(line, number)
    return ranks


def among_ranks(
    cases: Sequence[TimelineCase], balance: RankBalance | None
) -> Sequence[TimelineCase]:
    """Return *cases* with what *balance* measures of their waits for each other."""
    if balance is None:
        return cases
    waits = rank_waits(balance, [case.timeline for case in cases])
    return [replace(case, ranks=waits) for case in cases]


def limit_among(case: TimelineCase, balance: RankBalance | None) -> RunLimit | None:
    """Return what limits the run of *case*, where *balance* measures how long its rank waited.

    Of a rank alone that is an estimate.
    """
    waited = measured_wait(case, balance)
    if waited is None:
        return case.limit
    return limit_of(case.timeline, replace(case.run, rank_wait_seconds=waited))


def measured_wait(case: TimelineCase, balance: RankBalance | None) -> float | None:
    """Return the seconds that the rank of *case* waited for others by *balance*; None where that does not say.

    They are no more than the communication that is judged: none of first steps that are the program's start.
    """
    line = case.timeline
    number = line.gpu if line.rank is None else line.rank
    waits = [one for one in balance.ranks if one.rank == number] if balance is not None else []
    if not waits:
        return None
    return min(waits[0].exposed_wait_ns / _NS, case.run.exposed_communication_seconds)


def line_name(line: Timeline) -> str:
    """Return which GPU *line* is of, with the rank where it is known."""
    return f"GPU {line.gpu}" if line.rank is None else f"rank {line.rank}, GPU {line.gpu}"


def timelines_in(
    path: str, device: Device | None, progress: Callable[[int], None] | None = None
) -> Iterator[TimelineCase]:
    """Yield the timeline of each GPU in the file or folder *path* (``-``: stdin), a recording at a time.

    *device* is the GPU of files that name none; *progress* is told the bytes read so far. Raises
    BadInput for a file that is no timeline, and for one without work of a GPU.
    """
    from gpuadvise.advisor.timelines.read import read_recordings

    for recording in read_recordings(path, progress=progress):
        yield from cases_in(recording, path, device)


def cases_in(recording: Recording, path: str, device: Device | None) -> Iterator[TimelineCase]:
    """Yield the timeline of each GPU in *recording*, which the file or folder *path* holds.

    Raises BadInput where no GPU worked.
    """
    from gpuadvise.advisor.timelines.timeline import timelines_of

    try:
        timelines = timelines_of(recording, device=device)
    except BadInput as error:
        raise BadInput(f"{quoted_path(path)}: {error.message}") from None
    for timeline in timelines:
        yield TimelineCase(file=path, member=recording.member, timeline=timeline)
