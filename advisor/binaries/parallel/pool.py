"""A pool of worker processes that read the images of one large file."""

from __future__ import annotations

import pickle
from collections import deque
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from operator import attrgetter
from typing import TYPE_CHECKING, cast

from gpuadvise.advisor.backends.worker_processes import start_context, uninterrupted
from gpuadvise.advisor.binaries.fatbin.entry import Packed
from gpuadvise.advisor.binaries.model import Damage, Entry, Kernel, as_kernel
from gpuadvise.advisor.binaries.parallel.worker import END, Task, run_worker
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
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

        Messages of all *workers*, this one among them, are received meanwhile, so that none has
        to wait until its results are wanted.
        """
        while (message := self._next(workers)) != END:
            answer: Rows | Damage | Exception = pickle.loads(message)
            if isinstance(answer, Exception):
                raise answer
            yield answer

    def _next(self, workers: Sequence[WorkerHandle]) -> bytes:
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
    """Start *count* workers, and stop them on leaving; raises Unavailable when one dies."""
    context = start_context()
    workers: list[WorkerHandle] = []
    try:
        try:
            with uninterrupted(context):
                for _ in range(count):
                    workers.append(
                        WorkerHandle(context, task, [worker.connection for worker in workers])
                    )
        except OSError as error:
            raise Unavailable(
                f"No process can be started to read images: {error.strerror}.", hint=_JOBS_HINT
            ) from None
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


def read_in_parallel(
    items: Iterable[Entry | Damage | Packed], path: str, span: FileSpan, options: ReadOptions
) -> Iterator[Kernel | Entry | Damage]:
    """Yield *items*, payloads as their kernels, in order: workers read them in parallel.

    The items are those of the whole file at *path*, open as *span*. Raises Unavailable when a
    worker dies, the file is replaced, or a package to decompress is missing.
    """
    pending: deque[Entry | WorkerHandle] = deque()
    task = Task(path, span.file_id(), options.instructions)
    with started_workers(task, options.processes) as workers:
        share, in_flight = span.size // (4 * options.processes), 0
        item_bytes = min(_MAX_ITEM_BYTES, max(_MIN_ITEM_BYTES, share))
        for item in _work_items(items, item_bytes):
            if not isinstance(item, list):
                pending.append(item)
                continue
            while in_flight == _ITEMS_PER_WORKER * options.processes:
                in_flight -= isinstance(pending[0], WorkerHandle)
                yield from _results(pending.popleft(), workers)
            worker = min(workers, key=attrgetter("load"))
            worker.submit(item)
            pending.append(worker)
            in_flight += 1
        while pending:
            yield from _results(pending.popleft(), workers)


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
    item: Entry | WorkerHandle, workers: Sequence[WorkerHandle]
) -> Iterator[Kernel | Entry | Damage]:
    if not isinstance(item, WorkerHandle):
        yield item
        return
    for answer in item.results(workers):
        if isinstance(answer, Damage):
            yield answer
        else:
            yield from map(as_kernel, zip(*answer, strict=True))
