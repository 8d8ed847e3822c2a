"""Work over many inputs in this process, or in several of this machine."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from gpuadvise.advisor.engines.engine import Broken, answered, for_elsewhere, in_order
from gpuadvise.advisor.errors import GpuAdviseError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from gpuadvise.advisor.engines.engine import Lost, Work

Input = TypeVar("Input")
Result = TypeVar("Result")


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
        work: Work[Input, Result],
        inputs: Iterable[Input],
        *,
        batch: int = 1,
        named: Callable[[Input], str] = str,
        here: Callable[[Input], bool] = lambda item: False,
    ) -> Iterator[Result | Lost]:
        """Yield the result of *work* on each of *inputs*, in order; raises what it raised there.

        One process asks for the next input when its result is asked for. Raises Unavailable where
        one of several processes dies.
        """
        if self.jobs > 1:
            whole = list(inputs)
            away = [item for item in whole if not here(item)]
            jobs = min(self.jobs, len(away) // self.worth)
            if jobs > 1:
                with closing(self._spread(work, away, jobs, batch)) as results:
                    yield from in_order(whole, here, work, results)
                return
            inputs = whole
        yield from work(inputs)

    def _spread(
        self, work: Work[Input, Result], inputs: Sequence[Input], jobs: int, batch: int
    ) -> Generator[Result | Lost, None, None]:
        from gpuadvise.advisor.backends.worker_processes import workers

        for module in self.modules:
            import_module(module)
        tasks = [(for_elsewhere(work), inputs[number::jobs], batch) for number in range(jobs)]
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
    send: Callable[[list[Any]], None], task: tuple[Work[Input, Result], Sequence[Input], int]
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
