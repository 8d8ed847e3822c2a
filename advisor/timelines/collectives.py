"""What kernels send between GPUs: operations, sizes and groups, and when each ran.

Sizes and bandwidths are those of NVIDIA's nccl-tests (``doc/PERFORMANCE.md``): of the algorithm,
the size over the time; of the bus, that times what each link must carry, so that it can be held
against the link's own rate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.sorted_runs import SortedRuns

if TYPE_CHECKING:
    from collections.abc import Iterator

# Kinds of collectives that one recording keeps: beyond, sizes are no longer told apart.
_MOST_KINDS = 20_000


class Operation(StrEnum):
    """What a collective does."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    GATHER = "gather"
    SCATTER = "scatter"
    SEND_RECEIVE = "send-receive"
    BARRIER = "barrier"
    OTHER = "other"

    @property
    def between_all(self) -> bool:
        """Whether every rank of the group takes part, so that the last to come holds all up."""
        return self not in (Operation.SEND_RECEIVE, Operation.OTHER)


# By words of PyTorch and of NCCL's kernels, the longer ones first.
_WORDS = (
    (re.compile(r"all_?to_?all", re.IGNORECASE), Operation.ALL_TO_ALL),
    (re.compile(r"reduce_?scatter", re.IGNORECASE), Operation.REDUCE_SCATTER),
    (
        re.compile(r"all_?reduce|cross_device_reduce|(?:one|two)_?shot", re.IGNORECASE),
        Operation.ALL_REDUCE,
    ),
    (re.compile(r"all_?gather", re.IGNORECASE), Operation.ALL_GATHER),
    (re.compile(r"barrier", re.IGNORECASE), Operation.BARRIER),
    (re.compile(r"broadcast", re.IGNORECASE), Operation.BROADCAST),
    (re.compile(r"(?:nccl\w*_|^_?)reduce", re.IGNORECASE), Operation.REDUCE),
    (re.compile(r"(?:nccl\w*_|^_?)gather", re.IGNORECASE), Operation.GATHER),
    (re.compile(r"(?:nccl\w*_|^_?)scatter", re.IGNORECASE), Operation.SCATTER),
    (re.compile(r"send|recv|p2p", re.IGNORECASE), Operation.SEND_RECEIVE),
)
_ELEMENT_BYTES = {
    "double": 8, "long": 8, "int": 4, "float": 4, "half": 2, "bfloat16": 2, "short": 2,
    "char": 1, "byte": 1, "bool": 1, "complexfloat": 8, "complexdouble": 16,
}  # fmt: skip
_FLOAT_8 = "float8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """What one kernel communicates; None = not recorded.

    ``bytes`` is the size as nccl-tests counts it, ``group`` tells process groups apart.
    """

    operation: Operation
    bytes: int | None = None
    dtype: str | None = None
    ranks: int | None = None
    group: str = ""

    @property
    def bus_factor(self) -> float | None:
        """What each link carries of the size; None where the number of ranks is not known."""
        if self.ranks is None or self.ranks < 2:
            return None
        others = (self.ranks - 1) / self.ranks
        if self.operation is Operation.ALL_REDUCE:
            return 2 * others
        if self.operation in (
            Operation.ALL_GATHER,
            Operation.REDUCE_SCATTER,
            Operation.ALL_TO_ALL,
            Operation.GATHER,
            Operation.SCATTER,
        ):
            return others
        return 1.0

    def algorithm_rate(self, nanoseconds: int) -> float | None:
        """Return the bytes per second of a run that took *nanoseconds*."""
        return self.bytes / nanoseconds * 1e9 if self.bytes and nanoseconds else None

    def bus_rate(self, nanoseconds: int) -> float | None:
        """Return the bytes per second that each link carried."""
        rate, factor = self.algorithm_rate(nanoseconds), self.bus_factor
        return None if rate is None or factor is None else rate * factor


def operation_of(words: str) -> Operation:
    """Return the operation that a framework's word or a kernel's name stands for."""
    return next((kind for pattern, kind in _WORDS if pattern.search(words)), Operation.OTHER)


def collective_named(kernel: str) -> Collective:
    """Return what the name of a communicating kernel alone tells."""
    return Collective(operation=operation_of(kernel.split("(")[0]))


def collective_of(
    *,
    operation: str,
    elements_in: int | None,
    elements_out: int | None,
    dtype: str | None,
    ranks: int | None,
    group: str,
) -> Collective:
    """Return the collective that a framework describes; sizes are elements of one rank."""
    kind = operation_of(operation)
    gathers = kind in (Operation.ALL_GATHER, Operation.GATHER)
    elements = elements_out if gathers else elements_in
    each = element_bytes(dtype) if dtype else None
    return Collective(
        operation=kind,
        bytes=elements * each if elements is not None and each else None,
        dtype=dtype,
        ranks=ranks,
        group=group,
    )


def element_bytes(dtype: str) -> int | None:
    """Return the bytes of an element of *dtype*, as PyTorch calls it."""
    word = dtype.lower().removeprefix("c10::")
    return 1 if word.startswith(_FLOAT_8) else _ELEMENT_BYTES.get(word)


@dataclass(slots=True)
class CollectiveRuns:
    """Every collective of one GPU: when each ran, in order of time."""

    kinds: dict[Collective, int] = field(default_factory=dict)
    _runs: SortedRuns = field(default_factory=lambda: SortedRuns(width=3))

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, collective: Collective, start: int, end: int) -> None:
        """Add one that ran from *start* to *end*, nanoseconds of the recording's clock."""
        place = self.kinds.get(collective)
        if place is None:
            if len(self.kinds) >= _MOST_KINDS:
                collective = Collective(operation=collective.operation)
            place = self.kinds.setdefault(collective, len(self.kinds))
        self._runs.add(start, end, place)

    def __iter__(self) -> Iterator[tuple[Collective, int, int]]:
        """Yield each collective with its start and end, in order of their starts."""
        kinds = list(self.kinds)
        for start, end, place in self._runs:
            yield kinds[place], start, end
