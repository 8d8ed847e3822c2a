"""Worker threads: as many as the system gives, and none where it gives none."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class _WorkItem(NamedTuple):
    """Work that was submitted, and the future that gets its result."""

    future: Future[Any]
    work: Callable[[], Any]

    def settle(self) -> None:
        """Do the work, unless it was cancelled; what it raises is for whoever asks for the result."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self.work()
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class WorkerThreads(Executor):
    """An executor of up to *count* threads, which start as work comes.

    Where no thread can be started (a limit of processes and threads, a browser), work is done by
    the thread that submits it, with the same results. ``ThreadPoolExecutor`` raises there, and
    still does the work later when it has another thread: its memory may be in use again by then.
    """

    def __init__(self, count: int) -> None:
        self._most = count
        self._threads: list[Thread] = []
        self._waiting: SimpleQueue[_WorkItem | None] = SimpleQueue()

    def submit(
        self,
        fn: Callable[_Arguments, _Result],
        /,
        *args: _Arguments.args,
        **kwargs: _Arguments.kwargs,
    ) -> Future[_Result]:
        """Return what *fn* will return, or has returned."""
        future: Future[_Result] = Future()
        item = _WorkItem(future, partial(fn, *args, **kwargs))
        if len(self._threads) < self._most:
            self._start_thread()
        if self._threads:
            self._waiting.put(item)
        else:
            item.settle()
        return future

    def _start_thread(self) -> None:
        thread = Thread(target=self._work, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._most = len(self._threads)
        else:
            self._threads.append(thread)

    def _work(self) -> None:
        while (item := self._waiting.get()) is not None:
            item.settle()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end after the work that was submitted and not cancelled; *wait* for them."""
        if cancel_futures:
            with suppress(Empty):
                while (item := self._waiting.get_nowait()) is not None:
                    item.future.cancel()
        for _ in self._threads:
            self._waiting.put(None)
        if wait:
            for thread in self._threads:
                thread.join()
