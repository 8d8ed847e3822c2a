"""What ``timeline`` is asked, and the timelines of its files."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

from gpuadvise.advisor.backends.remote_files import located
from gpuadvise.advisor.backends.user_files import is_file
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import inert
from gpuadvise.advisor.timelines.signatures import SUFFIXES
from gpuadvise.cli.options import EngineOptions, GpuOptions, Share, Text, Whole, pick
from gpuadvise.cli.parameters import argument
from gpuadvise.cli.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.engines.engine import TaskEngine
    from gpuadvise.advisor.timelines.case import TimelineCase
    from gpuadvise.advisor.timelines.memory_timeline import MemoryByCategory
    from gpuadvise.advisor.timelines.operators import Operators
    from gpuadvise.cli.not_judged import NotJudged

STDIN = "-"


class TimelineRequest(NamedTuple):
    """The files, and the options about them."""

    files: Annotated[
        list[str],
        argument(
            "FILE...",
            "Trace of PyTorch or JAX, SQLite export of Nsight Systems, or a folder; -: stdin.",
        ),
    ]
    limit: Annotated[
        Whole, pick("limit", "Most kernels to list; 0: all. Text lists 10, data all unless given.")
    ] = None
    operators: Annotated[bool, pick("operators")] = False
    show: Annotated[bool, pick("show", "Draw when kernels and copies ran and the host waited.")] = (
        False
    )
    plot: Annotated[Text, pick("plot")] = None
    least_busy: Annotated[Share, pick("fail_under")] = None
    gpu: GpuOptions = GpuOptions()
    engine: EngineOptions = EngineOptions()


def parse_files(files: list[str]) -> list[str]:
    """Return *files*; raises BadInput when standard input is named twice."""
    if files.count(STDIN) > 1:
        raise BadInput("Standard input can be read only once.")
    return located(files, SUFFIXES)


def with_memory(request: TimelineRequest) -> tuple[TimelineRequest, list[MemoryByCategory]]:
    """Return *request* without its files on memory by category, and what these hold.

    Alone they stay: they are no timelines, and the reader says so.
    """
    from gpuadvise.advisor.timelines.memory_timeline import is_memory_timeline, read_memory_timeline

    of_memory = [path for path in request.files if path != STDIN and is_memory_timeline(path)]
    traces = [path for path in request.files if path not in of_memory]
    if not of_memory or not traces:
        return request, []
    return request._replace(files=traces), [read_memory_timeline(path) for path in of_memory]


def operators_of(case: TimelineCase) -> Operators:
    """Return what the file of *case* says of its operators, which is read once more.

    Raises BadInput for what comes through a pipe, and for what PyTorch did not write.
    """
    from gpuadvise.advisor.timelines.operators import operators_in
    from gpuadvise.advisor.timelines.read import pytorch_events

    if case.file == STDIN or not is_file(case.place):
        raise BadInput("--operators reads a file twice.", hint="Name the file instead of a pipe.")
    with pytorch_events(case.place) as events:
        return operators_in(events)


def timelines_in(paths: Sequence[str], device: Device | None) -> Iterator[TimelineCase]:
    """Yield the timeline of each GPU in each file, and show how far reading has come.

    Raises BadInput as the reader of a file does.
    """
    from gpuadvise.advisor.timelines import case

    for path in paths:
        progress = Progress()
        try:
            told = partial(progress.reading_bytes, whole=_plain_size(path))
            yield from case.timelines_in(path, device, told)
        finally:
            progress.end()


def timelines_by(
    engine: TaskEngine, paths: Sequence[str], device: Device | None, left: list[NotJudged]
) -> Iterator[TimelineCase]:
    """Yield what ``timelines_in`` does, read by *engine*; what nobody could read is added to *left*."""
    from gpuadvise.advisor.timelines import rank_files
    from gpuadvise.cli.not_judged import NotJudged

    def lose(path: str, reason: str) -> None:
        left.append(NotJudged(path=inert(path), reason=reason))

    return rank_files.timelines_by(engine, paths, device, lose)


def _plain_size(path: str) -> int | None:
    """Return the bytes of the file *path*; None for what is packed, a folder or no file."""
    if path.endswith((".gz", ".zst", ".zip")) or not os.path.isfile(path):
        return None
    return os.path.getsize(path)
