"""Copies and a kernel staged over streams, timed for every number of streams."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.measure.calls import call
from gpuadvise.advisor.backends.measure.kernels import THREADS, WORK_WORD, Kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.measurement import Sample

STREAMS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
QUICK_STREAMS = (1, 2, 4, 8, 16)
MIB = 1 << 20
# Pieces begin on pages: copies from odd addresses are slower by a few per cent.
GRANULARITY = 4096
_REPEATS = 15
_QUICK_REPEATS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """A job: *bytes* down, a kernel *balance* times as long as that copy, perhaps bytes back."""

    name: str
    bytes: int
    balance: float
    copy_back: bool


MIXES = tuple(
    Mix(name=name, bytes=size * MIB, balance=balance, copy_back=back)
    for name, size, balance in (
        ("copy-bound", 64, 0.25),
        ("balanced", 64, 1.0),
        ("kernel-bound", 64, 4.0),
        ("small", 4, 1.0),
        ("large", 256, 1.0),
    )
    for back in (False, True)
)
QUICK_MIXES = tuple(mix for mix in MIXES if mix.name in {"balanced", "small"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The stages of a mix, each alone: seconds of the copies and of the whole kernel."""

    h2d: Sample
    kernel: Sample
    d2h: Sample | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """One mix over *streams* streams, a piece each; *parts* are its stages alone.

    ``issue_cost`` is the host's seconds for each operation in these very rounds: a host's pace
    changes from one moment to the next.
    """

    mix: Mix
    streams: int
    seconds: Sample
    issue_cost: float
    parts: Parts


def measure_overlap(session: Session, *, quick: bool = False) -> Iterator[Staged]:
    """Yield every mix with every number of streams; pinned memory, operations depth first."""
    for mix in QUICK_MIXES if quick else MIXES:
        if 4 * mix.bytes > session.free_bytes():
            continue
        with session.scope():
            yield from _Job(session, mix, _QUICK_REPEATS if quick else _REPEATS).staged(
                QUICK_STREAMS if quick else STREAMS
            )


class _Job:
    """The buffers, streams and kernel of one mix."""

    def __init__(self, session: Session, mix: Mix, repeats: int) -> None:
        self.session, self.mix, self.repeats = session, mix, repeats
        properties = session.properties()
        # Every piece fills the device, so that pieces never share it and time divides exactly.
        self.blocks = properties.sm_count * properties.threads_per_sm // THREADS
        self.kernels = Kernels(session)
        self.host = session.pinned_bytes(mix.bytes)
        self.device = session.device_bytes(mix.bytes, like=self.host)
        self.streams = [session.stream() for _ in range(max(STREAMS))]
        self.parts, self.rounds = self._alone()

    def staged(self, counts: Sequence[int]) -> Iterator[Staged]:
        lag = self._lag()
        for count in counts:
            operations = self._operations(count)
            done, issued = self.session.watched(partial(_issue, operations), self.repeats)
            yield Staged(
                mix=self.mix,
                streams=count,
                seconds=done.less(lag),
                issue_cost=issued.median / len(operations),
                parts=self.parts,
            )

    def _lag(self) -> float:
        """Return by how much the host knows later that one stream is done than its events."""
        issue = partial(_issue, self._operations(1))
        known, _ = self.session.watched(issue, self.repeats)
        return known.median - self.session.timed(issue, self.streams[:1], self.repeats).median

    def _alone(self) -> tuple[Parts, int]:
        lone = self.streams[:1]
        h2d = self.session.timed(self._h2d(0, self.mix.bytes, lone[0]), lone, self.repeats)
        d2h = self.session.timed(self._d2h(0, self.mix.bytes, lone[0]), lone, self.repeats)
        rounds = self._rounds(h2d.median * self.mix.balance)
        kernel = self.session.timed(
            self._kernel(0, self.mix.bytes, rounds, lone[0]), lone, self.repeats
        )
        return Parts(h2d=h2d, kernel=kernel, d2h=d2h if self.mix.copy_back else None), rounds

    def _rounds(self, seconds: float) -> int:
        """Return the kernel's rounds that take *seconds*, from two trial lengths."""
        few, many = 2_000, 22_000
        lone = self.streams[:1]
        short, long = (
            self.session.timed(self._kernel(0, self.mix.bytes, n, lone[0]), lone, 5).median
            for n in (few, many)
        )
        per_round = (long - short) / (many - few)
        return max(1, round(few + (seconds - short) / per_round))

    def _operations(self, count: int) -> list[Callable[[], None]]:
        """Return the operations of *count* pieces, depth first."""
        chunk = -(-self.mix.bytes // count // GRANULARITY) * GRANULARITY
        edges = [min(i * chunk, self.mix.bytes) for i in range(count + 1)]
        operations: list[Callable[[], None]] = []
        for start, end, stream in zip(edges, edges[1:], self.streams, strict=False):
            rounds = max(1, round(self.rounds * (end - start) / self.mix.bytes))
            operations.append(self._h2d(start, end - start, stream))
            operations.append(self._kernel(start, end - start, rounds, stream))
            if self.mix.copy_back:
                operations.append(self._d2h(start, end - start, stream))
        return operations

    def _h2d(self, start: int, size: int, stream: Any) -> Callable[[], None]:
        device, host = int(self.device) + start, self.host + start
        return lambda: call("cuMemcpyHtoDAsync", device, host, size, stream)

    def _d2h(self, start: int, size: int, stream: Any) -> Callable[[], None]:
        device, host = int(self.device) + start, self.host + start
        return lambda: call("cuMemcpyDtoHAsync", host, device, size, stream)

    def _kernel(self, start: int, size: int, rounds: int, stream: Any) -> Callable[[], None]:
        address = int(self.device) + start
        return self.kernels.launcher(
            "work", self.blocks, stream, address, size // WORK_WORD, rounds
        )


def _issue(operations: Sequence[Callable[[], None]]) -> None:
    for operation in operations:
        operation()
