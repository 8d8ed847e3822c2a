"""The processes that read images for another one, and how they are started and stopped."""

from __future__ import annotations

import pickle
import signal
from collections import deque
from contextlib import contextmanager, suppress
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gpuadvise.advisor.binaries.errands import END, run_errands
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkContext, SpawnContext

    from gpuadvise.advisor.binaries.errands import Errand, Rows, Task
    from gpuadvise.advisor.binaries.model import Damage

_ALONE = "Try --jobs 1."
# Bytes of answers that may wait for their turn, from each process.
_MOST_WAITING = 1 << 25


class Reader:
    """A process that does the errands of *task* in the order they are given."""

    def __init__(
        self, context: ForkContext | SpawnContext, task: Task, others: list[Connection]
    ) -> None:
        self.link, theirs = context.Pipe()
        arguments = (theirs, task, [*others, self.link])
        self._process = context.Process(target=run_errands, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self.load = 0  # errands that it has not answered
        self._ended = False
        self._heard: deque[bytes | EOFError] = deque()
        self._waiting = 0  # bytes of that

    def give(self, errand: Errand) -> None:
        """Send an errand."""
        self.load += 1
        with suppress(BrokenPipeError, ConnectionResetError):  # what it said before is yet to take
            self.link.send(errand)

    def take(self, several: Sequence[Reader]) -> Iterator[Rows | Damage]:
        """Yield what it finds for its first errand, as it comes; raises what went wrong there.

        *several*, itself among them, are heard meanwhile: none waits until it is its turn.
        """
        while (heard := self._next(several)) != END:
            answer: Rows | Damage | Exception = pickle.loads(heard)
            if isinstance(answer, Exception):
                raise answer
            yield answer

    def _next(self, several: Sequence[Reader]) -> bytes:
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
def readers(task: Task, count: int) -> Iterator[list[Reader]]:
    """Start *count* processes, and stop them in the end; raises Unavailable when one dies."""
    context = _context()
    started: list[Reader] = []
    try:
        try:
            with _uninterrupted(context):
                for _ in range(count):
                    started.append(Reader(context, task, [one.link for one in started]))
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
