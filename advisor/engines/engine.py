"""Work over many inputs: what it is, what comes of each, and who may run it."""

from __future__ import annotations

import os
from functools import partial
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from gpuadvise.advisor.backends.remote_files import any_located, known_size, remember, remembered
from gpuadvise.advisor.errors import GpuAdviseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

Input = TypeVar("Input")
Result = TypeVar("Result")
Away = TypeVar("Away")  # what an engine gives for an input

if TYPE_CHECKING:
    # From inputs to the result of each, in their order and one by one as they are asked for.
    Work: TypeAlias = Callable[[Iterable[Input]], Iterator[Result]]


class Lost(NamedTuple):
    """What stands in the place of a result that nobody could give; *reason* is a sentence."""

    reason: str


class Broken(NamedTuple):
    """A fault of the program, in the place of a result; *fault* names it."""

    fault: str


class TaskEngine(Protocol):
    """Who maps a function over inputs; whoever asks reduces the results, which come in order."""

    @property
    def lost(self) -> Sequence[str]:
        """The reason of each input that has no result."""
        ...

    def map(
        self,
        work: Work[Input, Result],
        inputs: Iterable[Input],
        *,
        batch: int = 1,
        named: Callable[[Input], str] = str,
        here: Callable[[Input], bool] = lambda item: False,
    ) -> Iterator[Result | Lost]:
        """Yield the result of *work* on each of *inputs*, in their order; raises what it raised there.

        *batch* is how many inputs may go together where that saves time, *named* what a person
        calls one of them. Those that are *here* alone, such as standard input, are never sent away.
        """
        ...


def files_together(files: Iterable[str], size: int, least_to_most: range) -> int:
    """Return how many of *files* go together: some *size* bytes by their mean, from least to most."""
    known = [length for file in files if (length := _size(file)) is not None]
    mean = max(sum(known) / len(known), 1) if known else size
    return int(min(max(size / mean, least_to_most[0]), least_to_most[-1]))


def _size(file: str) -> int | None:
    return os.path.getsize(file) if os.path.isfile(file) else known_size(file)


def for_elsewhere(work: Work[Input, Result]) -> Work[Input, Result]:
    """Return *work* as another process can do it: with what the names of addresses lead to in this one."""
    return partial(_placed, remembered(), work) if any_located() else work


def _placed(
    places: Mapping[str, Any], work: Work[Input, Result], inputs: Iterable[Input]
) -> Iterator[Result]:
    remember(places)
    yield from work(inputs)


def answered(
    work: Work[Input, Result], inputs: Sequence[Input]
) -> Iterator[Result | GpuAdviseError | Broken]:
    """Yield what *work* says of each of *inputs*: a result, or in its place what it raised."""
    done = 0
    while done < len(inputs):
        try:
            for result in work(inputs[done:]):
                done += 1
                yield result
            return
        except GpuAdviseError as error:
            yield error
        except MemoryError:
            raise
        except Exception as fault:
            yield Broken(f"{type(fault).__name__}: {fault}")
        done += 1


def in_order(
    inputs: Sequence[Input],
    here: Callable[[Input], bool],
    work: Work[Input, Result],
    results: Iterator[Away],
) -> Iterator[Result | Away]:
    """Yield what *work* says of those *inputs* that are *here*, and the *results* of the others."""
    for is_here, items in groupby(inputs, here):
        if is_here:
            yield from work(list(items))
        else:
            yield from islice(results, sum(1 for _ in items))
