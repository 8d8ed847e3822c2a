"""A pool of worker processes that read the images of one large file.

Where a process, or a thread in one, cannot be started, this process reads what it would have read.
"""

from __future__ import annotations

import pickle
from collections import deque
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, cast

from gpuadvise.advisor.backends.worker_processes import (
    REFUSED,
    may_start_processes,
    start_context,
    uninterrupted,
)
from gpuadvise.advisor.binaries.fatbin.entry import Packed
from gpuadvise.advisor.binaries.model import Damage, Entry, Kernel, as_kernel
from gpuadvise.advisor.binaries.parallel.worker import END, Task, WithoutThreads, run_worker
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkContext, SpawnContext

    from gpuadvise.advisor.binaries.options import ReadOptions
    from gpuadvise.advisor.binaries.parallel.worker import Rows, WorkItem
    from gpuadvise.advisor.binaries.span import FileSpan


_JOBS_HINT = "Try --jobs 1."
# Bytes of results that may wait for their turn, from each worker.
_MAX_PENDING_BYTES = 1 << 25


class WorkerHandle:
    """A worker process; it answers work items of *task* in the order they are submitted."""

    def __init__(
        self, context: ForkContext | SpawnContext, task: Task, inherited: list[Connection]
    ) -> None:
        self.connection, worker_end = context.Pipe()
        arguments = (worker_end, task, [*inherited, self.connection])
        self._process = context.Process(target=run_worker, args=arguments, daemon=True)
        self._process.start()
        worker_end.close()
        self.load = 0  # work items that it has not answered
        self.without_threads = False  # it has said that it answers none
        self._closed = False
        self._messages: deque[bytes | EOFError] = deque()
        self._pending_bytes = 0  # of those messages

    def submit(self, work_item: WorkItem) -> None:
        """Send a work item."""
        self.load += 1
        with suppress(BrokenPipeError, ConnectionResetError):  # ``results`` will say why it ended
            self.connection.send(work_item)

    def results(self, workers: Sequence[WorkerHandle]) -> Iterator[Rows | Damage]:
        """Yield the results of its oldest work item as they arrive; raises what went wrong there.

        Raises WithoutThreads for every item of a worker that cannot read any.
        Messages of all *workers*, this one among them, are received meanwhile, so that none has
        to wait until its results are wanted.
        """
        while (message := self._next(workers)) != END:
            answer: Rows | Damage | Exception = pickle.loads(message)
            self.without_threads = isinstance(answer, WithoutThreads)
            if isinstance(answer, Exception):
                raise answer
            yield answer

    def _next(self, workers: Sequence[WorkerHandle]) -> bytes:
        from multiprocessing.connection import wait

        if self.without_threads:
            raise WithoutThreads
        while not self._messages:
            by_connection = {
                worker.connection: worker
                for worker in workers
                if worker is self or worker._may_receive()
            }
            for connection in wait(by_connection):
                by_connection[cast("Connection", connection)]._receive()
        message = self._messages.popleft()
        if isinstance(message, EOFError):
            raise message
        self._pending_bytes -= len(message)
        return message

    def _may_receive(self) -> bool:
        return not self._closed and self._pending_bytes < _MAX_PENDING_BYTES

    def _receive(self) -> None:
        """Receive one message, or note that there will be no more."""
        try:
            message = self.connection.recv_bytes()
        except (EOFError, OSError):  # an OSError where it ended in the middle of a message
            self._closed = True
            self._messages.append(EOFError())
            return
        self._messages.append(message)
        self._pending_bytes += len(message)
        self.load -= message == END

    def stop(self) -> None:
        """Stop the process, whatever it does."""
        self._process.kill()  # it has nothing to clean up
        self.connection.close()

    def join(self) -> None:
        """Wait until it has stopped."""
        self._process.join()


@contextmanager
def started_workers(task: Task, count: int) -> Iterator[list[WorkerHandle]]:
    """Start up to *count* workers, as many as may be, and stop them on leaving.

    Raises Unavailable when one dies.
    """
    workers: list[WorkerHandle] = []
    try:
        if may_start_processes():
            with suppress(*REFUSED):
                context = start_context()
                with uninterrupted(context):
                    for _ in range(count):
                        workers.append(
                            WorkerHandle(context, task, [worker.connection for worker in workers])
                        )
        yield workers
    except EOFError:
        raise Unavailable(
            "A process that read images died.", hint=f"Memory may be short. {_JOBS_HINT}"
        ) from None
    finally:
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join()


# Decompressed bytes of one work item at most and at least; payloads and damage in it; items in
# flight for each worker, so that it decompresses the next while it reads the last. A file
# decompresses to about four times its size: each worker gets sixteen items or more.
_MAX_ITEM_BYTES = 1 << 26
_MIN_ITEM_BYTES = 1 << 24
_MAX_ITEM_PAYLOADS = 1 << 12
_ITEMS_PER_WORKER = 8


class _Submitted(NamedTuple):
    """A work item, and the worker that reads it; without one, this process does."""

    item: WorkItem
    worker: WorkerHandle | None


def read_in_parallel(
    items: Iterable[Entry | Damage | Packed],
    path: str,
    span: FileSpan,
    options: ReadOptions,
    read_here: Callable[[Iterable[Entry | Damage | Packed]], Iterator[Kernel | Entry | Damage]],
) -> Iterator[Kernel | Entry | Damage]:
    """Yield *items*, payloads as their kernels, in order: workers read them in parallel.

    The items are those of the whole file at *path*, open as *span*; *read_here* reads items
    in this process. Raises Unavailable when a worker dies, the file is replaced, or a package to
    decompress is missing.
    """
    pending: deque[Entry | _Submitted] = deque()
    task = Task(path, span.file_id(), options.instructions)
    with started_workers(task, options.processes) as workers:
        if not workers:
            yield from read_here(items)
            return
        share, in_flight = span.size // (4 * options.processes), 0
        item_bytes = min(_MAX_ITEM_BYTES, max(_MIN_ITEM_BYTES, share))
        for item in _work_items(items, item_bytes):
            if not isinstance(item, list):
                pending.append(item)
                continue
            while in_flight == _ITEMS_PER_WORKER * options.processes:
                in_flight -= isinstance(pending[0], _Submitted)
                yield from _results(pending.popleft(), workers, read_here)
            able = [worker for worker in workers if not worker.without_threads]
            worker = min(able, key=attrgetter("load"), default=None)
            if worker is not None:
                worker.submit(item)
            pending.append(_Submitted(item, worker))
            in_flight += 1
        while pending:
            yield from _results(pending.popleft(), workers, read_here)


def _work_items(
    items: Iterable[Entry | Damage | Packed], enough: int
) -> Iterator[Entry | WorkItem]:
    """Yield entries as they are, and payloads in work items of about *enough* bytes.

    Damage goes with the payloads, and comes back in its place among their kernels.
    """
    work_item: WorkItem = []
    size = 0
    for item in items:
        if isinstance(item, Entry):
            yield item
            continue
        work_item.append(item)
        size += item.unpacked_size if isinstance(item, Packed) else 0
        if size >= enough or len(work_item) == _MAX_ITEM_PAYLOADS:
            yield work_item
            work_item, size = [], 0
    if work_item:
        yield work_item


def _results(
    item: Entry | _Submitted,
    workers: Sequence[WorkerHandle],
    read_here: Callable[[Iterable[Entry | Damage | Packed]], Iterator[Kernel | Entry | Damage]],
) -> Iterator[Kernel | Entry | Damage]:
    if not isinstance(item, _Submitted):
        yield item
        return
    if item.worker is None:
        yield from read_here(item.item)
        return
    try:
        for answer in item.worker.results(workers):
            if isinstance(answer, Damage):
                yield answer
            else:
                yield from map(as_kernel, zip(*answer, strict=True))
    except WithoutThreads:  # said in place of the first answer
        yield from read_here(item.item)
