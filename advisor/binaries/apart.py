"""The images of one large file read by several processes.

Kernels and damage come in the order of the file, kernels after their entries, but entries of
later containers may come before them.
"""

from __future__ import annotations

from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.entries import Packed
from gpuadvise.advisor.binaries.errands import Task
from gpuadvise.advisor.binaries.model import Damage, Entry, Kernel, as_kernel
from gpuadvise.advisor.binaries.readers import Reader, readers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gpuadvise.advisor.binaries.errands import Errand
    from gpuadvise.advisor.binaries.span import FileSpan
    from gpuadvise.advisor.binaries.want import Want

# Unpacked bytes of one errand at most and at least, payloads and damage in it, and errands for each
# process whose rows are yet to be taken, so that it unpacks the next while it reads the last. A
# file unpacks to about four times its size: each process gets sixteen errands or more.
_ERRAND = 1 << 26
_LEAST_ERRAND = 1 << 24
_MOST_STEPS = 1 << 12
_ERRANDS = 8


def read_apart(
    steps: Iterable[Entry | Damage | Packed], path: str, span: FileSpan, want: Want
) -> Iterator[Kernel | Entry | Damage]:
    """Yield *steps*, the payloads of the whole file at *path*, open as *span*, as their kernels.

    Raises Unavailable when a process dies, the file is replaced, or a package to unpack is missing.
    """
    waiting: deque[Entry | Reader] = deque()
    task = Task(path, span.file_id(), want.instructions)
    with readers(task, want.processes) as several:
        share, given = span.size // (4 * want.processes), 0
        for step in _errands(steps, min(_ERRAND, max(_LEAST_ERRAND, share))):
            if not isinstance(step, list):
                waiting.append(step)
                continue
            while given == _ERRANDS * want.processes:
                given -= isinstance(waiting[0], Reader)
                yield from _told(waiting.popleft(), several)
            reader = min(several, key=attrgetter("load"))
            reader.give(step)
            waiting.append(reader)
            given += 1
        while waiting:
            yield from _told(waiting.popleft(), several)


def _errands(steps: Iterable[Entry | Damage | Packed], enough: int) -> Iterator[Entry | Errand]:
    """Yield *steps*, payloads gathered until there are *enough* bytes for one errand.

    Damage goes with them, and comes back in its place among theirs.
    """
    errand: Errand = []
    size = 0
    for step in steps:
        if isinstance(step, Entry):
            yield step
            continue
        errand.append(step)
        size += step.unpacked_size if isinstance(step, Packed) else 0
        if size >= enough or len(errand) == _MOST_STEPS:
            yield errand
            errand, size = [], 0
    if errand:
        yield errand


def _told(step: Entry | Reader, several: Sequence[Reader]) -> Iterator[Kernel | Entry | Damage]:
    if not isinstance(step, Reader):
        yield step
        return
    for answer in step.take(several):
        if isinstance(answer, Damage):
            yield answer
        else:
            yield from map(as_kernel, zip(*answer, strict=True))
