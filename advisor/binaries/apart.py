"""The images of one large file read by several processes.

Kernels come in the order of the file and after their entries, but entries of later containers
may come before them.
"""

from __future__ import annotations

import signal
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import groupby
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gpuadvise.advisor.binaries.ahead import unpacked_ahead
from gpuadvise.advisor.binaries.buffers import Buffers
from gpuadvise.advisor.binaries.entries import Packed
from gpuadvise.advisor.binaries.images import Images
from gpuadvise.advisor.binaries.model import Damage, Entry, Kernel, as_kernel
from gpuadvise.advisor.binaries.span import FileSpan
from gpuadvise.advisor.binaries.together import read_together
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from gpuadvise.advisor.binaries.want import Want

# Unpacked bytes of one errand at most and at least, and errands that may be under way for each
# process. A file unpacks to about four times its size: each process gets eight errands or more.
_ERRAND = 1 << 27
_LEAST_ERRAND = 1 << 24
_ERRANDS = 2

# Kernels travel as columns: one by one, packing them up would take longer than reading them.
_Rows = list[tuple[tuple[Any, ...], ...] | Damage]


def read_apart(
    steps: Iterable[Entry | Damage | Packed], path: str, size: int, want: Want
) -> Iterator[Kernel | Entry | Damage]:
    """Yield *steps*, the payloads of the file of *size* bytes at *path* as their kernels.

    Raises Unavailable when a process dies, or a package to unpack is missing.
    """
    waiting: deque[Entry | Damage | Future[_Rows]] = deque()
    with ProcessPoolExecutor(
        want.processes,
        mp_context=get_context(_start_method()),
        initializer=_start,
        initargs=(path, want.instructions),
    ) as pool:
        try:
            busy = 0
            share = size // (2 * want.processes)
            for step in _errands(steps, min(_ERRAND, max(_LEAST_ERRAND, share))):
                busy += isinstance(step, list)
                waiting.append(pool.submit(_read, step) if isinstance(step, list) else step)
                while busy > _ERRANDS * want.processes:
                    busy -= isinstance(waiting[0], Future)
                    yield from _told(waiting.popleft())
            while waiting:
                yield from _told(waiting.popleft())
        except BrokenProcessPool:
            raise Unavailable(
                "A process that read images died.", hint="Memory may be short: try --jobs 1."
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _start_method() -> str:
    """Return how processes start: as copies of this one, which is ten times as fast, if it is safe.

    A copy of a process with several threads may wait for ever for one that it does not have.
    """
    threads = Path("/proc/self/task")
    alone = threads.is_dir() and len(list(threads.iterdir())) == 1
    return "fork" if alone and "fork" in get_all_start_methods() else "spawn"


def _errands(
    steps: Iterable[Entry | Damage | Packed], enough: int
) -> Iterator[Entry | Damage | list[Packed]]:
    """Yield *steps*, payloads gathered until there are *enough* bytes for one errand."""
    errand: list[Packed] = []
    size = 0
    for step in steps:
        if not isinstance(step, Packed):
            yield step
            continue
        errand.append(step)
        size += step.unpacked_size
        if size >= enough:
            yield errand
            errand, size = [], 0
    if errand:
        yield errand


def _told(step: Entry | Damage | Future[_Rows]) -> Iterator[Kernel | Entry | Damage]:
    if not isinstance(step, Future):
        yield step
        return
    for rows in step.result():
        if isinstance(rows, Damage):
            yield rows
        else:
            yield from map(as_kernel, zip(*rows, strict=True))


class _Here:
    """What one of the processes keeps while it lives."""

    file: BinaryIO
    images: Images
    memories: Buffers
    instructions: bool


def _start(path: str, instructions: bool) -> None:
    # Ctrl-C reaches every process: the first one ends the others, which would say so at length.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _open(path, instructions)


def _open(path: str, instructions: bool) -> None:
    file = Path(path).open("rb", buffering=0)  # noqa: SIM115 - open while the process lives
    _Here.file = cast("BinaryIO", file)
    _Here.instructions = instructions
    _Here.memories = Buffers()
    _Here.images = Images(FileSpan(_Here.file, Path(path).stat().st_size))


def _read(errand: list[Packed]) -> _Rows:
    found: _Rows = []
    for steps in unpacked_ahead(errand, _Here.images, _Here.memories, first=0.25):
        items = read_together(steps, arrays=True, instructions=_Here.instructions)
        for are_kernels, run in groupby(items, lambda item: isinstance(item, Kernel)):
            if are_kernels:
                found.append(tuple(zip(*run, strict=True)))
            else:
                found += cast("Iterator[Damage]", run)
    return found
