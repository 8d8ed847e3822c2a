"""A worker process: decompresses and reads the images of each work item it is sent, in order."""

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
from gpuadvise.advisor.binaries.parallel.prefetch import Buffers, decompressed_ahead
from gpuadvise.advisor.binaries.source import opened
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.prose import quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection

    from gpuadvise.advisor.binaries.fatbin.entry import Packed

WorkItem: TypeAlias = "list[Packed | Damage]"
# Kernels travel as columns: pickling them one by one takes longer than reading them.
Rows: TypeAlias = "tuple[tuple[Any, ...], ...]"
# Ends the results of a work item. Nothing pickles to these bytes.
END = b""
# Kernels of one message: forged ones have names of 16 KB.
_MAX_ROWS = 1 << 10
# The share of a batch to begin with: loading numpy takes longer than decompressing it.
_FIRST = 1 / 4


class WithoutThreads(Exception):
    """A worker that can start no thread reads nothing: its parent does."""


class Task(NamedTuple):
    """The file to read. *file_id* tells it from another that took its place at *path*.

    *instructions*: count those of its kernels.
    """

    path: str
    file_id: tuple[int, int]
    instructions: bool


def run_worker(connection: Connection, task: Task, inherited: Sequence[Connection]) -> None:
    """Receive work items over *connection*; send rows and damage of each, then END.

    An exception is sent in their place, and ends the process. *inherited* are copies of the
    parent's connections: open, they would hide from the other workers that the parent ended.
    """
    # Ctrl-C reaches every process. The parent stops its workers, which would print tracebacks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for inherited_connection in inherited:
        inherited_connection.close()
    queue = _TaskQueue()
    # A thread receives work items at once, so that the parent never waits to send one.
    receiving = Thread(target=_receive, args=(connection, queue), daemon=True)
    with suppress(OSError):  # the parent has closed its end
        for answer in _answers(receiving, task, queue):
            if answer is None:
                connection.send_bytes(END)
            else:
                connection.send(answer)


def _receive(connection: Connection, queue: _TaskQueue) -> None:
    with suppress(EOFError, OSError, MemoryError):
        while True:
            queue.received.put(connection.recv())
    queue.received.put(None)


def _answers(
    receiving: Thread, task: Task, queue: _TaskQueue
) -> Iterator[Rows | Damage | Exception | None]:
    """Yield the results of each work item, then None; an exception in place of the rest."""
    try:
        try:
            receiving.start()
        except RuntimeError:
            raise WithoutThreads from None
        array_reader()  # is loaded while the first work item is on its way
        with opened(task.path) as (_, span):
            if span.file_id() != task.file_id:
                raise Unavailable(
                    f"{quoted_path(task.path)} was replaced while it was read.",
                    hint="Run it again.",
                )
            yield from _read(queue, Images(span), task.instructions)
    except Exception as error:
        yield error


class _TaskQueue:
    """Work items received, and the number of those started and not answered."""

    def __init__(self) -> None:
        self.received: SimpleQueue[WorkItem | None] = SimpleQueue()
        self.unanswered = 0

    def items(self) -> Iterator[Packed | Damage | Mark]:
        """Yield the payloads and damage of all work items, with a mark after each item.

        Yields PAUSE while nothing has arrived and earlier items are unanswered.
        """
        while (work_item := self.received.get()) is not None:
            self.unanswered += 1
            yield from work_item
            yield Mark.END
            while self.unanswered and self.received.empty():
                yield Mark.PAUSE


def _read(queue: _TaskQueue, images: Images, instructions: bool) -> Iterator[Rows | Damage | None]:
    for batch in decompressed_ahead(queue.items(), images, Buffers(), first=_FIRST):
        items = read_batch(batch, arrays=True, instructions=instructions)
        for kind, run in groupby(items, type):
            if kind is Kernel:
                kernels = cast("Iterator[Kernel]", run)
                while rows := tuple(zip(*islice(kernels, _MAX_ROWS), strict=True)):
                    yield rows
            elif kind is Damage:
                yield from cast("Iterator[Damage]", run)
            else:
                for _ in run:  # ends of work items, some of which have no kernels
                    queue.unanswered -= 1
                    yield None
