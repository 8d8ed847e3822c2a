"""Work over many inputs on the workers of a running Dask cluster."""

from __future__ import annotations

import os
import pickle
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gpuadvise.advisor.engines.batch import PACKAGE, BatchAnswer, Fate, own_version, run_batch
from gpuadvise.advisor.engines.engine import Broken, Lost, for_elsewhere, in_order
from gpuadvise.advisor.errors import BadInput, GpuAdviseError, Unavailable
from gpuadvise.advisor.prose import and_list, plural, quoted
from gpuadvise.advisor.quantity import show_bytes, show_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from distributed import Client

    from gpuadvise.advisor.engines.engine import Work

Input = TypeVar("Input")
Result = TypeVar("Result")

_CONNECT_SECONDS = 10.0
_FETCH_SECONDS = 60.0
_FAREWELL_SECONDS = 2.0
_LOOK_SECONDS = 1.0  # between two looks at the workers, longer where there are many
_WORKERS_A_SECOND = 500
_MOST_TRIES = 2  # of an input that ended its child: the second on another worker
# Batches that wait at the scheduler for each thread, so that what adapts clusters sees them.
_WAITING = 4
_LEAST_WAITING = 64
_MOST_REASONS = 3
_START = "docs/clusters.md has how to start scheduler and workers."
DEFAULT_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DaskCluster:
    """The workers of the scheduler at *address*, which may be the file that it wrote.

    Each batch is a child process of a worker; an input may take *seconds* of it. *say* is told what
    a person must know, *told* how many inputs are done. A worker that is not heard of for *silence*
    seconds gets no more work; a scheduler, or the first worker, may take *patience* seconds to
    appear. *lost* has the reason of each input that has no result.
    """

    address: str
    seconds: float = DEFAULT_SECONDS
    say: Callable[[str], None] = print
    told: Callable[[int], None] = lambda done: None
    silence: float = 30.0
    patience: float = 30.0
    lost: list[str] = field(default_factory=list)

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

        What cannot be had, whoever is asked, is Lost. Raises Unavailable where no scheduler or no
        worker answers before any result is there, and where all is lost.
        """
        whole = list(inputs)
        away = [number for number, item in enumerate(whole) if not here(item)]
        if not away:
            yield from work(whole)
            return
        with _client(self.address, self.patience) as client:
            results = _Mapping(self, client, work, whole, named).results(away, batch)
            for result in in_order(whole, here, work, results):
                if isinstance(result, GpuAdviseError):
                    raise result
                yield result
        if len(self.lost) == len(whole):
            count = plural(len(whole), "input")
            raise Unavailable(f"No worker could do any of {count}. {self.lost[0]}")

    def on_each_host(self, work: Work[str, Result]) -> Iterator[tuple[str, Result | Lost]]:
        """Yield each host of the cluster with the result of *work* on its name, done there.

        One worker of each does it. Raises as ``map`` does.
        """
        with _client(self.address, self.patience) as client:
            deadline = time.monotonic() + self.patience
            while not (there := client.scheduler_info(n_workers=-1)["workers"]):
                if time.monotonic() > deadline:
                    raise _nobody(self.address)
                time.sleep(_LOOK_SECONDS)
            hosts = sorted({about["host"] for about in there.values()})
            mapping = _Mapping(self, client, work, hosts, str, placed=True)
            for host, result in zip(hosts, mapping.results(range(len(hosts)), 1), strict=True):
                yield host, Lost(result.message) if isinstance(result, GpuAdviseError) else result


def _nobody(address: str) -> Unavailable:
    return Unavailable(f"No worker of the scheduler {address} is there.", hint=_START)


@contextmanager
def _client(address: str, patience: float) -> Iterator[Client]:
    """Yield a client of the scheduler at *address*; raises BadInput and Unavailable.

    It waits *patience* seconds for one that is gone.
    """
    import logging
    import warnings

    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # what matters of it is said in a sentence of ours
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions: ours is compared, and by more than that
            client = _connected(address)
        client._timeout = patience
        try:
            yield client
        finally:
            with suppress(Exception):  # a scheduler that is gone cannot be told farewell
                client.close(timeout=_FAREWELL_SECONDS)
    finally:
        logger.setLevel(level)


def _connected(address: str) -> Client:
    try:
        from distributed import Client
    except ImportError:
        raise Unavailable(
            "--engine dask needs the package distributed, which is not installed.",
            hint="Install it here and on the workers: pip install 'gpuadvise[fleet]'.",
        ) from None
    from distributed.comm import parse_address

    try:
        if os.path.isfile(address):
            return Client(scheduler_file=address, timeout=_CONNECT_SECONDS, set_as_default=False)
        parse_address(address)
        return Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except OSError:
        raise Unavailable(
            f"No scheduler of Dask answers at {quoted(address)}.",
            hint=_START,
        ) from None
    except (ValueError, KeyError, TypeError, ImportError, RuntimeError) as error:
        raise BadInput(
            f"--scheduler: {quoted(address)} is no address of a scheduler: {error}.",
            hint="Write tcp://host:8786, or the file of dask scheduler --scheduler-file.",
        ) from None


@dataclass(slots=True, kw_only=True, eq=False)
class _Batch:
    """Inputs that go together, by number; *avoid* are workers that they must not go to again.

    *host* is the only one that they may go to, where that is not all the same.
    """

    numbers: list[int]
    tries: int = 1
    avoid: frozenset[str] = frozenset()
    host: str | None = None
    allowed: tuple[str, ...] = ()  # none: any
    stuck: float | None = None  # since when no worker may take it
    future: Any = None  # of distributed


class _Mapping(Generic[Input, Result]):
    """One mapping: which batches are under way where, and what has come."""

    def __init__(
        self,
        engine: DaskCluster,
        client: Client,
        work: Work[Input, Result],
        inputs: Sequence[Input],
        named: Callable[[Input], str],
        *,
        placed: bool = False,
    ) -> None:
        self._placed = placed  # each input is the host that it is for
        self._engine, self._client, self._work = engine, client, work
        self._inputs, self._named = inputs, named
        self._folder, self._version = os.getcwd(), own_version()
        self._came: SimpleQueue[tuple[_Batch, Any]] = SimpleQueue()
        self._waiting: deque[_Batch] = deque()
        self._under_way: set[_Batch] = set()
        self._results: dict[int, Result | Lost | GpuAdviseError] = {}
        self._done = 0
        self._refused: dict[str, str] = {}  # workers that may run nothing, and why
        self._workers: dict[str, str] = {}  # and the host of each
        self._heard: dict[str, tuple[float, float]] = {}  # what each said last, and when it came
        self._silent: set[str] = set()
        self._deserted: float | None = None  # since when there is no worker
        self._looked = 0.0
        self._rest: Iterator[int] = iter(())  # inputs that are in no batch yet

    def results(
        self, numbers: Sequence[int], size: int
    ) -> Iterator[Result | Lost | GpuAdviseError]:
        """Yield the results of the inputs *numbers* in order, up to *size* of them in a batch."""
        there = self._client.scheduler_info(n_workers=-1)["workers"]
        self._workers = {worker: about["host"] for worker, about in there.items()}
        self._compare_versions()  # a worker without our modules breaks on what it is sent
        threads = sum(about["nthreads"] for about in there.values())
        size = max(1, min(size, len(numbers) // (2 * max(threads, 1))))
        self._rest = iter(numbers)
        most = max(_LEAST_WAITING, _WAITING * threads)
        for number in numbers:
            while number not in self._results:
                while len(self._under_way) + len(self._waiting) < most:
                    following = list(islice(self._rest, size))
                    if not following:
                        break
                    host = str(self._inputs[following[0]]) if self._placed else None
                    self._waiting.append(_Batch(numbers=following, host=host))
                self._submit()
                self._receive()
            yield self._results.pop(number)

    def _compare_versions(self) -> bool:
        """Refuse workers without this version, which cannot say so; return whether there was one."""
        known = len(self._refused)
        with suppress(OSError, TimeoutError, ValueError):
            said = self._client.sync(
                self._client._get_versions, packages=[PACKAGE], callback_timeout=_CONNECT_SECONDS
            )
            for worker, about in said["workers"].items():
                if other := self._other_version(about):
                    self._refuse(worker, other)
            if other := self._other_version(said["scheduler"]):
                # It reads what it hands on, so it needs the package as well.
                self._give_up(f"The scheduler {self._engine.address} {other}.")
        return len(self._refused) > known

    def _other_version(self, about: dict[str, Any]) -> str:
        """Return which version somebody has; empty for this one."""
        version = about["packages"].get(PACKAGE)
        if version == self._version:
            return ""
        has = f"has gpuadvise {version}" if version else "has no gpuadvise"
        return f"{has}, and here is {self._version}"

    def _refuse(self, worker: str, why: str) -> None:
        if worker not in self._refused:
            self._refused[worker] = why
            self._engine.say(f"The worker {worker} {why}: it gets no work.")

    def _usable(self, avoid: Collection[str] = (), host: str | None = None) -> tuple[str, ...]:
        out = {*self._refused, *self._silent, *avoid}
        there = {w for w, its in self._workers.items() if host is None or its == host}
        return tuple(sorted(there - out))

    def _submit(self) -> None:
        """Hand to the scheduler what waits and some worker may take."""
        if self._workers and self._workers.keys() <= self._refused.keys():
            reasons = list(dict.fromkeys(self._refused.values()))
            self._give_up(f"No worker can be used: each {and_list(reasons[:_MOST_REASONS], 'or')}.")
        waiting, now = list(self._waiting), time.monotonic()
        self._waiting.clear()
        for batch in waiting:
            limited = bool(self._refused or self._silent or batch.avoid or batch.host)
            if limited:
                batch.allowed = self._usable(batch.avoid, batch.host) or self._usable(
                    host=batch.host
                )
            if limited and not batch.allowed:
                batch.stuck = batch.stuck or now
                if batch.host and now - batch.stuck > self._engine.patience:
                    self._lose(batch.numbers[0], f"No worker of the host {batch.host} answers.")
                else:
                    self._waiting.append(batch)
                continue
            inputs = [self._inputs[number] for number in batch.numbers]
            batch.future = self._client.submit(
                run_batch,
                self._version,
                self._folder,
                pickle.dumps((for_elsewhere(self._work), inputs)),
                self._engine.seconds,
                pure=False,
                retries=0,
                workers=list(batch.allowed) or None,
                allow_other_workers=False,
            )
            self._under_way.add(batch)
            self._tell(batch)

    def _tell(self, batch: _Batch) -> None:
        future = batch.future
        future.add_done_callback(lambda done: self._came.put((batch, done)))

    def _receive(self) -> None:
        """Take what comes next, or look after the workers where nothing comes."""
        pause = max(_LOOK_SECONDS, len(self._workers) / _WORKERS_A_SECOND)
        try:
            batch, future = self._came.get(timeout=pause)
        except Empty:
            self._look()
            return
        if batch not in self._under_way or batch.future is not future:
            return  # given to another worker meanwhile
        if future.status == "cancelled":
            self._rejoin()
        elif future.status == "error":
            self._under_way.discard(batch)
            self._failed(batch, future)
        else:
            self._finished(batch, future)
        if time.monotonic() - self._looked > pause:
            self._look()

    def _finished(self, batch: _Batch, future: Any) -> None:
        from asyncio import CancelledError

        try:
            answer: BatchAnswer = future.result(timeout=_FETCH_SECONDS)
        except (OSError, TimeoutError, CancelledError):  # its worker went before it was fetched
            return self._again(batch)
        self._under_way.discard(batch)
        batch.future = None
        if answer.refused:
            self._refuse(answer.worker, answer.refused)
            if batch.host and not self._usable(host=batch.host):
                self._lose(batch.numbers[0], f"The worker {answer.worker} {answer.refused}.")
            else:
                self._waiting.append(batch)
            return None
        for number, content in zip(batch.numbers, answer.results, strict=False):
            result: Result | GpuAdviseError | Broken = pickle.loads(content)
            if isinstance(result, Broken):
                self._lose(number, f"Reading it broke: {result.fault}")
            else:
                self._keep(number, result)
        left = batch.numbers[len(answer.results) :]
        if left:
            self._retry(left[0], batch, answer)
        if left[1:]:
            self._waiting.append(_Batch(numbers=left[1:]))
        return None

    def _retry(self, number: int, batch: _Batch, answer: BatchAnswer) -> None:
        """Give the input that ended a child to another worker, once."""
        why = self._sentence(answer)
        tries = batch.tries if len(batch.numbers) == 1 else 1
        avoid = batch.avoid | {answer.worker}
        if tries < _MOST_TRIES and self._usable(avoid, batch.host):
            name = quoted(self._named(self._inputs[number]))
            self._engine.say(f"{name}: {why} Another worker tries.")
            again = _Batch(numbers=[number], tries=tries + 1, avoid=avoid, host=batch.host)
            self._waiting.append(again)
        else:
            self._lose(number, why)

    def _sentence(self, answer: BatchAnswer) -> str:
        where = f"on the worker {answer.worker}"
        match answer.fate:
            case Fate.TIME:
                return f"Reading it took more than {show_seconds(self._engine.seconds)} {where}."
            case Fate.MEMORY:
                size = show_bytes(answer.memory) if answer.memory else "the memory"
                return f"Reading it needs more than {size} {where}."
            case _:
                return f"Its reader ended with {answer.detail or 'no answer'} {where}."

    def _failed(self, batch: _Batch, future: Any) -> None:
        """Split what worker after worker died of; lose what ends them alone."""
        from distributed.scheduler import KilledWorker

        fault = future.exception()
        batch.future = None
        if not isinstance(fault, KilledWorker):
            if self._compare_versions():
                self._waiting.append(batch)
                return
            for number in batch.numbers:
                self._lose(number, f"A worker cannot run it: {type(fault).__name__}: {fault}")
        elif len(batch.numbers) > 1:
            self._waiting.extend(_Batch(numbers=[number]) for number in batch.numbers)
        else:
            last = fault.last_worker.address
            self._lose(
                batch.numbers[0], f"Every worker that read it was lost, the last one {last}."
            )

    def _again(self, batch: _Batch) -> None:
        """Let *batch* wait once more, and forget what is under way of it."""
        self._under_way.discard(batch)
        future, batch.future = batch.future, None
        if future is not None:
            with suppress(Exception):
                future.cancel()
        self._waiting.append(batch)

    def _keep(self, number: int, result: Result | Lost | GpuAdviseError) -> None:
        self._results[number] = result
        self._done += 1
        self._engine.told(self._done)

    def _lose(self, number: int, reason: str) -> None:
        self._engine.lost.append(reason)
        self._keep(number, Lost(reason))

    def _look(self) -> None:
        """Name workers that are gone or silent, and give their work to others."""
        self._looked = now = time.monotonic()
        if self._client.status != "running":
            if self._client.status in ("closed", "closing"):
                self._give_up(f"The scheduler {self._engine.address} is gone.")
            return  # what is cancelled says so
        try:
            there: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, TimeoutError):
            return
        for worker in sorted(self._workers.keys() - there.keys()):
            self._engine.say(f"The worker {worker} is gone: others do what it had.")
        came = there.keys() - self._workers.keys()
        self._workers = {worker: about["host"] for worker, about in there.items()}
        if came:
            self._compare_versions()
        for worker, about in there.items():
            said, when = self._heard.get(worker, (None, now))
            seen = about["last_seen"]
            self._heard[worker] = (seen, now if seen != said else when)
        silent = {w for w in there if now - self._heard[w][1] > self._engine.silence}
        fresh, self._silent = silent - self._silent, silent
        for worker in sorted(fresh):
            self._engine.say(
                f"The worker {worker} has said nothing for {show_seconds(self._engine.silence)}: "
                "others do what it had."
            )
        if fresh:
            self._take_from(fresh)
        for batch in [b for b in self._under_way if b.allowed]:
            if not self._workers.keys() & set(batch.allowed):
                self._again(batch)
        self._mind_desertion(now)

    def _take_from(self, workers: Collection[str]) -> None:
        """Let the batches of *workers* wait for others."""
        with suppress(OSError, TimeoutError):
            processing = self._client.processing()
            keys = {key for worker in workers for key in processing.get(worker, ())}
            for batch in list(self._under_way):
                if batch.future is not None and batch.future.key in keys:
                    self._again(batch)

    def _mind_desertion(self, now: float) -> None:
        if self._workers.keys() - self._silent:
            self._deserted = None
            return
        self._deserted = self._deserted or now
        if now - self._deserted > self._engine.patience:
            state = "answers" if self._workers else "is there"
            self._give_up(f"No worker of the scheduler {self._engine.address} {state}.")

    def _rejoin(self) -> None:
        """Wait for a scheduler that is gone; what was under way is asked once more."""
        deadline = time.monotonic() + self._engine.patience
        while self._client.status != "running" and time.monotonic() < deadline:
            if self._client.status in ("closed", "closing"):
                break
            time.sleep(0.1)
        if self._client.status != "running":
            self._give_up(f"The scheduler {self._engine.address} is gone.")
            return
        left = list(self._under_way)
        self._engine.say(
            f"The scheduler {self._engine.address} was gone and is back: "
            f"{plural(sum(len(batch.numbers) for batch in left), 'input')} asked once more."
        )
        self._under_way.clear()
        for batch in left:
            batch.future = None
            self._waiting.append(batch)
        self._workers, self._deserted = {}, None
        self._heard.clear()
        self._refused.clear()
        self._look()

    def _give_up(self, reason: str) -> None:
        """Lose all that is left; raises Unavailable where nothing has come at all."""
        if not self._done:
            raise Unavailable(reason, hint=_START)
        self._engine.say(f"{reason} What had come until then is kept.")
        left = [*self._under_way, *self._waiting]
        self._under_way.clear()
        self._waiting.clear()
        for number in [n for batch in left for n in batch.numbers] + list(self._rest):
            self._lose(number, reason)
