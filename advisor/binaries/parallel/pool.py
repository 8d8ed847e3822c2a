"""The processes that read images for another one, and how they are started and stopped."""

from __future__ import annotations

import pickle
import signal
from collections import deque
from contextlib import contextmanager, suppress
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import wait
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, cast

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


_ALONE = "Try --jobs 1."
# Bytes of answers that may wait for their turn, from each process.
_MOST_WAITING = 1 << 25


class WorkerHandle:
    """A process that does the errands of *task* in the order they are given."""

    def __init__(
        self, context: ForkContext | SpawnContext, task: Task, inherited: list[Connection]
    ) -> None:
        self.link, theirs = context.Pipe()
        arguments = (theirs, task, [*inherited, self.link])
        self._process = context.Process(target=run_worker, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self.load = 0  # errands that it has not answered
        self._ended = False
        self._heard: deque[bytes | EOFError] = deque()
        self._waiting = 0  # bytes of that

    def give(self, errand: WorkItem) -> None:
        """Send an errand."""
        self.load += 1
        with suppress(BrokenPipeError, ConnectionResetError):  # what it said before is yet to take
            self.link.send(errand)

    def take(self, several: Sequence[WorkerHandle]) -> Iterator[Rows | Damage]:
        """Yield what it finds for its first errand, as it comes; raises what went wrong there.

        *several*, itself among them, are heard meanwhile: none waits until it is its turn.
        """
        while (heard := self._next(several)) != END:
            answer: Rows | Damage | Exception = pickle.loads(heard)
            if isinstance(answer, Exception):
                raise answer
            yield answer

    def _next(self, several: Sequence[WorkerHandle]) -> bytes:
        while not self._heard:
            speaking = {one.link: one for one in several if one is self or one._may_speak()}
            for link in wait(speaking):
                speaking[cast("Connection", link)]._hear()
        heard = self._heard.popleft()
        if isinstance(heard, EOFError):
            raise heard
        self._waiting -= len(heard)
        return heard

    def _may_speak(self) -> bool:
        return not self._ended and self._waiting < _MOST_WAITING

    def _hear(self) -> None:
        """Receive what it says, or that it will say nothing more."""
        try:
            heard = self.link.recv_bytes()
        except (EOFError, OSError):  # an OSError where it ended in the middle of an answer
            self._ended = True
            self._heard.append(EOFError())
            return
        self._heard.append(heard)
        self._waiting += len(heard)
        self.load -= heard == END

    def stop(self) -> None:
        """Stop the process, whatever it does."""
        self._process.kill()  # there is nothing to tidy up
        self.link.close()

    def join(self) -> None:
        """Wait until it has stopped."""
        self._process.join()


@contextmanager
def started_workers(task: Task, count: int) -> Iterator[list[WorkerHandle]]:
    """Start *count* processes, and stop them in the end; raises Unavailable when one dies."""
    context = _context()
    started: list[WorkerHandle] = []
    try:
        try:
            with _uninterrupted(context):
                for _ in range(count):
                    started.append(WorkerHandle(context, task, [one.link for one in started]))
        except OSError as error:
            raise Unavailable(
                f"No process can be started to read images: {error.strerror}.", hint=_ALONE
            ) from None
        yield started
    except EOFError:
        raise Unavailable(
            "A process that read images died.", hint=f"Memory may be short. {_ALONE}"
        ) from None
    finally:
        for reader in started:
            reader.stop()
        for reader in started:
            reader.join()


@contextmanager
def _uninterrupted(context: ForkContext | SpawnContext) -> Iterator[None]:
    """Let Ctrl-C wait: half-started processes would speak of it at length, or swallow ours.

    What starts inherits that it waits, until it ignores it.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    if context.get_start_method() == "spawn":
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()  # the first start of it would let Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _context() -> ForkContext | SpawnContext:
    """Return how processes start: as copies of this one, which is ten times as fast, if it is safe.

    A copy of a process with several threads may wait for ever for one that it does not have.
    """
    threads = Path("/proc/self/task")
    alone = threads.is_dir() and len(list(threads.iterdir())) == 1
    if alone and "fork" in get_all_start_methods():
        return get_context("fork")
    return get_context("spawn")


# Unpacked bytes of one errand at most and at least, payloads and damage in it, and errands for each
# process whose rows are yet to be taken, so that it unpacks the next while it reads the last. A
# file unpacks to about four times its size: each process gets sixteen errands or more.
_ERRAND = 1 << 26
_LEAST_ERRAND = 1 << 24
_MOST_STEPS = 1 << 12
_ERRANDS = 8


def read_in_parallel(
    steps: Iterable[Entry | Damage | Packed], path: str, span: FileSpan, want: ReadOptions
) -> Iterator[Kernel | Entry | Damage]:
    """Yield *steps*, the payloads of the whole file at *path*, open as *span*, as their kernels.

    Raises Unavailable when a process dies, the file is replaced, or a package to unpack is missing.
    """
    waiting: deque[Entry | WorkerHandle] = deque()
    task = Task(path, span.file_id(), want.instructions)
    with started_workers(task, want.processes) as several:
        share, given = span.size // (4 * want.processes), 0
        for step in _errands(steps, min(_ERRAND, max(_LEAST_ERRAND, share))):
            if not isinstance(step, list):
                waiting.append(step)
                continue
            while given == _ERRANDS * want.processes:
                given -= isinstance(waiting[0], WorkerHandle)
                yield from _told(waiting.popleft(), several)
            reader = min(several, key=attrgetter("load"))
            reader.give(step)
            waiting.append(reader)
            given += 1
        while waiting:
            yield from _told(waiting.popleft(), several)


def _errands(steps: Iterable[Entry | Damage | Packed], enough: int) -> Iterator[Entry | WorkItem]:
    """Yield *steps*, payloads gathered until there are *enough* bytes for one errand.

    Damage goes with them, and comes back in its place among theirs.
    """
    errand: WorkItem = []
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


def _told(
    step: Entry | WorkerHandle, several: Sequence[WorkerHandle]
) -> Iterator[Kernel | Entry | Damage]:
    if not isinstance(step, WorkerHandle):
        yield step
        return
    for answer in step.take(several):
        if isinstance(answer, Damage):
            yield answer
        else:
            yield from map(as_kernel, zip(*answer, strict=True))
