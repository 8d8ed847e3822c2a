"""Work over many inputs in this process, or in several of this machine."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from gpuadvise.advisor.engines.engine import Broken, answered
from gpuadvise.advisor.errors import GpuAdviseError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from gpuadvise.advisor.engines.engine import Lost, Work

I = TypeVar("I")  # noqa: E741 - of an input
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """One process, this one, or up to *jobs* where each has *worth* inputs or more.

    *modules* are imported before the processes fork, so that they share their memory.
    """

    jobs: int = 1
    worth: int = 1
    modules: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()  # nothing ever is

    def map(
        self,
        work: Work[I, R],
        inputs: Iterable[I],
        *,
        batch: int = 1,
        named: Callable[[I], str] = str,
        here: Callable[[I], bool] = lambda item: False,
    ) -> Iterator[R | Lost]:
        """Yield the result of *work* on each of *inputs*, in order; raises what it raised there.

        One process asks for the next input when its result is asked for. Raises Unavailable where
        one of several processes dies.
        """
        if self.jobs > 1:
            whole = list(inputs)
            jobs = min(self.jobs, len(whole) // self.worth)
            if jobs > 1:
                yield from self._spread(work, whole, jobs, batch)
                return
            inputs = whole
        yield from work(inputs)

    def _spread(
        self, work: Work[I, R], inputs: Sequence[I], jobs: int, batch: int
    ) -> Iterator[R | Lost]:
        from gpuadvise.advisor.backends.worker_processes import workers

        for module in self.modules:
            import_module(module)
        tasks = [(work, inputs[number::jobs], batch) for number in range(jobs)]
        with workers(send_results, tasks) as connections:
            if not connections:
                yield from work(inputs)
                return
            for result in _received(connections, len(inputs)):
                if isinstance(result, GpuAdviseError):
                    raise result
                if isinstance(result, Broken):
                    raise RuntimeError(result.fault)
                yield result


def send_results(
    send: Callable[[list[Any]], None], task: tuple[Work[I, R], Sequence[I], int]
) -> None:
    """Send what the work of *task* says of each of its inputs, so many together as it says."""
    work, inputs, size = task
    batch: list[Any] = []
    for result in answered(work, inputs):
        batch.append(result)
        if len(batch) == size:
            send(batch)
            batch = []
    send(batch)


def _received(connections: Sequence[Connection], count: int) -> Iterator[Any]:
    """Yield the results of *count* inputs, of which each process has every so-manieth."""
    waiting: list[list[Any]] = [[] for _ in connections]
    for number in range(count):
        place = number % len(connections)
        if not waiting[place]:
            try:
                waiting[place] = connections[place].recv()[::-1]
            except (EOFError, OSError):
                raise Unavailable(
                    "A process that read files died.",
                    hint="Memory may be short: try --jobs 1.",
                ) from None
        yield waiting[place].pop()
