"""The files of many ranks, read by an engine: what each says, and all of them as one run."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.backends.user_files import is_file
from gpuadvise.advisor.engines.engine import Lost, files_together
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.timelines.case import TimelineCase, cases_in, timelines_in
from gpuadvise.advisor.timelines.read import left_out_notes, read_member, timeline_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.engines.engine import TaskEngine


# Traces that a worker reads together, packed or not: its process starts as fast as some MB are read.
_BATCH = range(1, 101)
_BATCH_BYTES = 4 << 20


class RankFile(NamedTuple):
    """A file of *path*, as the user named it; of a folder the *member*, and whether others are *beside* it."""

    path: str
    member: str | None = None
    beside: bool = False

    @property
    def place(self) -> str:
        """The file itself."""
        return self.member or self.path


class LeftOut(NamedTuple):
    """Why a file of a folder is no part of the run, which the others are without it."""

    error: BadInput


def rank_files(paths: Iterable[str]) -> Iterator[RankFile]:
    """Yield the files that *paths* name, folders file by file; raises BadInput as reading does."""
    for path in paths:
        if not (path and os.path.isdir(path)):
            yield RankFile(path)
            continue
        members = timeline_files(path)
        yield from (RankFile(path, member, len(members) > 1) for member in members)


def read_ranks(
    device: Device | None, files: Iterable[RankFile]
) -> Iterator[tuple[TimelineCase, ...] | LeftOut]:
    """Yield what each of *files* says, with all that follows from it; raises BadInput as ``timelines_in``."""
    for file in files:
        if file.member is None:
            yield tuple(map(_followed, timelines_in(file.path, device)))
            continue
        try:
            recording = read_member(file.member, beside=file.beside)
        except BadInput as error:
            yield LeftOut(error)
            continue
        yield tuple(map(_followed, cases_in(recording, file.path, device)))


def _followed(case: TimelineCase) -> TimelineCase:
    """Return *case* with what follows from it worked out: whoever asks for many has no time for that."""
    _ = case.changes, case.staged
    return case


def timelines_by(
    engine: TaskEngine,
    paths: Sequence[str],
    device: Device | None,
    lose: Callable[[str, str], None],
) -> Iterator[TimelineCase]:
    """Yield what ``timelines_in`` does of *paths*, read by *engine* a file at a time.

    *lose* is told each file that nobody could read, and why. Raises BadInput as reading here does,
    and as the engine does.
    """
    files = list(rank_files(paths))
    results = engine.map(
        partial(read_ranks, device),
        files,
        batch=files_together((file.place for file in files), _BATCH_BYTES, _BATCH),
        named=attrgetter("place"),
        here=lambda file: not is_file(file.place),
    )
    read = zip(files, results, strict=True)
    for _, group in groupby(read, key=lambda pair: pair[0].path):
        out: list[BadInput] = []
        last: tuple[TimelineCase, ...] = ()
        for file, result in group:
            if isinstance(result, Lost):
                lose(file.place, result.reason)
            elif isinstance(result, LeftOut):
                out.append(result.error)
            else:
                yield from last
                last = result
        if out and not last:
            raise out[0]
        # As reading here says it: in the notes of the last one of the folder.
        yield from _noted(last, left_out_notes([error.message for error in out]))


def _noted(cases: tuple[TimelineCase, ...], notes: list[str]) -> Iterator[TimelineCase]:
    for case in cases:
        if notes:
            line = replace(case.timeline, notes=(*case.timeline.notes, *notes))
            yield TimelineCase(file=case.file, member=case.member, timeline=line)
        else:
            yield case
