"""What one of several processes does: it reads the images of each errand it is sent, in turn."""

from __future__ import annotations

import signal
from contextlib import suppress
from itertools import groupby, islice
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from gpuadvise.advisor.binaries.fatbin.images import Images
from gpuadvise.advisor.binaries.model import Damage, Kernel
from gpuadvise.advisor.binaries.parallel.batches import Mark, array_reader, read_batch
from gpuadvise.advisor.binaries.parallel.prefetch import Buffers, decompressed_ahead, startable
from gpuadvise.advisor.binaries.source import opened
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.prose import quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection

    from gpuadvise.advisor.binaries.fatbin.entry import Packed

WorkItem: TypeAlias = "list[Packed | Damage]"
# Kernels travel as columns: one by one, packing them up would take longer than reading them.
Rows: TypeAlias = "tuple[tuple[Any, ...], ...]"
# The message after the last answer to an errand, which nothing is packed up as.
END = b""
# Kernels of one answer: forged ones have names of 16 KB.
_MOST_ROWS = 1 << 10
# The share of a batch to begin with: loading numpy takes longer than unpacking it.
_FIRST = 1 / 4


class Task(NamedTuple):
    """The file that all errands are about, which *file_id* tells from others at its *path*.

    *instructions*: count those of its kernels.
    """

    path: str
    file_id: tuple[int, int]
    instructions: bool


def run_worker(link: Connection, task: Task, inherited: Sequence[Connection]) -> None:
    """Send rows and damage of each errand that comes over *link*, and its END.

    What goes wrong is sent instead. *inherited* are ends that this process has a copy of, and must
    not hold open: the end of the first process would go unnoticed.
    """
    # Ctrl-C reaches every process: the first one ends the others, which would say so at length.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in inherited:
        other.close()
    desk = _TaskQueue()
    # A thread takes errands from the link at once: the first process never waits for us to.
    receiving = Thread(target=_receive, args=(link, desk), daemon=True)
    with suppress(OSError):  # nobody listens any more
        for answer in _answers(receiving, task, desk):
            if answer is None:
                link.send_bytes(END)
            else:
                link.send(answer)


def _receive(link: Connection, desk: _TaskQueue) -> None:
    with suppress(EOFError, OSError, MemoryError):
        while True:
            desk.errands.put(link.recv())
    desk.errands.put(None)


def _answers(
    receiving: Thread, task: Task, desk: _TaskQueue
) -> Iterator[Rows | Damage | Exception | None]:
    """Yield what is found for each errand, then None, or why there is no more."""
    try:
        with startable():
            receiving.start()
        array_reader()  # is loaded while the first errand is on its way
        with opened(task.path) as (_, span):
            if span.file_id() != task.file_id:
                raise Unavailable(
                    f"{quoted_path(task.path)} was replaced while it was read.",
                    hint="Run it again.",
                )
            yield from _read(desk, Images(span), task.instructions)
    except Exception as error:
        yield error


class _TaskQueue:
    """Errands that came, and the number of those begun and not answered."""

    def __init__(self) -> None:
        self.errands: SimpleQueue[WorkItem | None] = SimpleQueue()
        self.begun = 0

    def steps(self) -> Iterator[Packed | Damage | Mark]:
        """Yield the payloads of all errands and the damage among them, with marks."""
        while (errand := self.errands.get()) is not None:
            self.begun += 1
            yield from errand
            yield Mark.END
            while self.begun and self.errands.empty():
                yield Mark.PAUSE


def _read(desk: _TaskQueue, images: Images, instructions: bool) -> Iterator[Rows | Damage | None]:
    for batch in decompressed_ahead(desk.steps(), images, Buffers(), first=_FIRST):
        items = read_batch(batch, arrays=True, instructions=instructions)
        for kind, run in groupby(items, type):
            if kind is Kernel:
                kernels = cast("Iterator[Kernel]", run)
                while rows := tuple(zip(*islice(kernels, _MOST_ROWS), strict=True)):
                    yield rows
            elif kind is Damage:
                yield from cast("Iterator[Damage]", run)
            else:
                for _ in run:  # ends of errands, of which one may have no kernels
                    desk.begun -= 1
                    yield None
