"""Worker processes: whether and how they start, and that none of them is left."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkContext, SpawnContext


def usable_cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


# What starting a process raises where the system gives none, or Python has no part for it.
REFUSED = (OSError, ImportError)


def may_start_processes() -> bool:
    """Return whether this process may start others at all; the system may refuse all the same.

    A daemonic process (a worker of a pool, or of Dask under a nanny) may not, and some builds of
    Python, such as those for browsers, have no processes.
    """
    try:
        import multiprocessing.connection
    except ImportError:
        return False
    return not multiprocessing.current_process().daemon


def start_context() -> ForkContext | SpawnContext:
    """Return how workers start: by fork, ten times as fast as spawn, where that is safe.

    A fork of a process with several threads may wait for ever for a lock that one of them holds.
    """
    from multiprocessing import get_all_start_methods, get_context

    threads = Path("/proc/self/task")
    single_threaded = threads.is_dir() and len(list(threads.iterdir())) == 1
    if single_threaded and "fork" in get_all_start_methods():
        return get_context("fork")
    return get_context("spawn")


@contextmanager
def uninterrupted(context: ForkContext | SpawnContext) -> Iterator[None]:
    """Hold Ctrl-C back: processes still starting would print tracebacks, or take it from us.

    They inherit the blocked signal, and ignore it as soon as they run.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    if context.get_start_method() == "spawn":
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()  # starting it later would unblock Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def workers(
    work: Callable[[Callable[[object], None], Any], None], tasks: Iterable[object]
) -> Iterator[list[Connection]]:
    """Start a process for each of *tasks* and yield what receives its answers; stop all on leaving.

    Each calls *work*, a function of a module, with what sends an answer and its task. Nothing is
    started, and the list is empty, where processes are refused: the work is then for this one.
    """
    if not may_start_processes():
        yield []
        return
    processes, receiving = [], []
    try:
        try:
            context = start_context()
            with uninterrupted(context):
                for task in tasks:
                    receiver, sender = context.Pipe(duplex=False)
                    receiving.append(receiver)
                    arguments = (work, task, sender, receiving)
                    process = context.Process(target=_run, args=arguments, daemon=True)
                    process.start()
                    processes.append(process)
                    sender.close()
        except REFUSED:
            for receiver in receiving:
                receiver.close()
            receiving.clear()
        yield receiving
    finally:
        for process in processes:
            process.kill()  # it has nothing to clean up
        for process in processes:
            process.join()


def _run(
    work: Callable[[Callable[[object], None], Any], None],
    task: object,
    sender: Connection,
    inherited: Sequence[Connection],
) -> None:
    """Do the *work* of a process until it is done, or nobody receives its answers any more.

    *inherited* are copies of the parent's connections: open, they would hide that the parent ended.
    """
    # Ctrl-C reaches every process. The parent stops its workers, which would print tracebacks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for receiver in inherited:
        receiver.close()
    with suppress(BrokenPipeError, ConnectionResetError):
        work(sender.send, task)
