"""Work over many inputs: what it is, what comes of each, and who may run it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from gpuadvise.advisor.errors import GpuAdviseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

I = TypeVar("I")  # noqa: E741 - of an input
R = TypeVar("R")

if TYPE_CHECKING:
    # From inputs to the result of each, in their order and one by one as they are asked for.
    Work: TypeAlias = Callable[[Iterable[I]], Iterator[R]]


class Lost(NamedTuple):
    """What stands in the place of a result that nobody could give; *reason* is a sentence."""

    reason: str


class Broken(NamedTuple):
    """A fault of the program, in the place of a result; *fault* names it."""

    fault: str


class Engine(Protocol):
    """Who maps a function over inputs; whoever asks reduces the results, which come in order."""

    @property
    def lost(self) -> Sequence[str]:
        """The reason of each input that has no result."""
        ...

    def map(
        self,
        work: Work[I, R],
        inputs: Iterable[I],
        *,
        batch: int = 1,
        named: Callable[[I], str] = str,
        here: Callable[[I], bool] = lambda item: False,
    ) -> Iterator[R | Lost]:
        """Yield the result of *work* on each of *inputs*, in their order; raises what it raised there.

        *batch* is how many inputs may go together where that saves time, *named* what a person
        calls one of them. Those that are *here* alone, such as standard input, are never sent away.
        """
        ...


def answered(work: Work[I, R], inputs: Sequence[I]) -> Iterator[R | GpuAdviseError | Broken]:
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
