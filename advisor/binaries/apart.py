"""The images of one large file read by several processes.

Kernels and damage come in the order of the file, kernels after their entries, but entries of
later containers may come before them.
"""

from __future__ import annotations

import signal
from collections import deque
from contextlib import contextmanager
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.entries import Packed
from gpuadvise.advisor.binaries.errands import run_errands
from gpuadvise.advisor.binaries.model import Damage, Entry, Kernel, as_kernel
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkContext, SpawnContext

    from gpuadvise.advisor.binaries.errands import Errand, Rows
    from gpuadvise.advisor.binaries.want import Want

# Unpacked bytes of one errand at most and at least, payloads and damage in it, and errands that a
# process may have before it, so that it unpacks the next while it reads the last. A file unpacks
# to about four times its size: each process gets sixteen errands or more.
_ERRAND = 1 << 26
_LEAST_ERRAND = 1 << 24
_MOST_STEPS = 1 << 12
_ERRANDS = 8
_ALONE = "Try --jobs 1."


def read_apart(
    steps: Iterable[Entry | Damage | Packed], path: str, size: int, want: Want
) -> Iterator[Kernel | Entry | Damage]:
    """Yield *steps*, the payloads of the file of *size* bytes at *path* as their kernels.

    Raises Unavailable when a process dies, or a package to unpack is missing.
    """
    waiting: deque[Entry | _Reader] = deque()
    with _readers(path, want) as readers:
        share = size // (4 * want.processes)
        for step in _errands(steps, min(_ERRAND, max(_LEAST_ERRAND, share))):
            if not isinstance(step, list):
                waiting.append(step)
                continue
            while (reader := min(readers, key=_Reader.load)).load() == _ERRANDS:
                yield from _told(waiting.popleft())
            reader.give(step)
            waiting.append(reader)
        while waiting:
            yield from _told(waiting.popleft())


class _Reader:
    """A process that reads errands in the order they are given."""

    def __init__(
        self, context: ForkContext | SpawnContext, path: str, others: list[Connection], want: Want
    ):
        self.link, theirs = context.Pipe()
        arguments = (theirs, path, [*others, self.link], want.instructions)
        self._process = context.Process(target=run_errands, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self._load = 0

    def load(self) -> int:
        """Return how many errands are before it."""
        return self._load

    def give(self, errand: Errand) -> None:
        """Send an errand."""
        self._load += 1
        self.link.send(errand)

    def take(self) -> Rows:
        """Wait for the rows of its first errand; raises what went wrong there."""
        self._load -= 1
        answer: Rows | Exception = self.link.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def stop(self) -> None:
        """Stop the process, whatever it does."""
        self._process.terminate()
        self.link.close()

    def join(self) -> None:
        """Wait until it has stopped."""
        self._process.join()


@contextmanager
def _readers(path: str, want: Want) -> Iterator[list[_Reader]]:
    """Start the processes, and stop them in the end."""
    context = _context()
    readers: list[_Reader] = []
    try:
        try:
            with _uninterrupted(context):
                for _ in range(want.processes):
                    readers.append(_Reader(context, path, [one.link for one in readers], want))
        except OSError as error:
            raise Unavailable(
                f"No process can be started to read images: {error.strerror}.", hint=_ALONE
            ) from None
        yield readers
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise Unavailable(
            "A process that read images died.", hint=f"Memory may be short. {_ALONE}"
        ) from None
    finally:
        for reader in readers:
            reader.stop()
        for reader in readers:
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


def _told(step: Entry | _Reader) -> Iterator[Kernel | Entry | Damage]:
    if not isinstance(step, _Reader):
        yield step
        return
    for rows in step.take():
        if isinstance(rows, Damage):
            yield rows
        else:
            yield from map(as_kernel, zip(*rows, strict=True))
