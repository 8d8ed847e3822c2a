"""Copies and a kernel staged over streams, timed for every number of streams."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.measure.calls import call
from gpuadvise.advisor.backends.measure.kernels import THREADS, WORK_WORD, Kernels
from gpuadvise.advisor.backends.measure.timing import by_clock, in_turns
from gpuadvise.advisor.transfers.overlap import stage
from gpuadvise.advisor.transfers.pipeline import StagedWork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.backends.measure.timing import Trial
    from gpuadvise.advisor.measurement import Sample
    from gpuadvise.advisor.transfers.links import LinkModel


STREAMS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
QUICK_STREAMS = (1, 2, 4, 8, 16)
MIB = 1 << 20
# Copies alone are repeated up to this, for which the time of an event is nothing.
LONG = 64 * MIB
_REPEATS = 31
_MOST_TIMES = 4
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


def repeats(mix: Mix, *, quick: bool) -> int:
    """Return the rounds of *mix*: more of short ones, which a late microsecond changes more."""
    return (_QUICK_REPEATS if quick else _REPEATS) * min(LONG // mix.bytes or 1, _MOST_TIMES)


# Pieces begin on pages: copies from odd addresses are slower by a few per cent.
GRANULARITY = 4096
# Copies both ways are cut as staging cuts them.
_MOST_CROSSED = 16
_LEAST_CROSSED = 2 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The stages of a mix, each alone: seconds of the copies and of the whole kernel.

    *both* are the copies both ways at once, in *pieces* each way; it and *d2h* are None without a
    copy back.
    """

    h2d: Sample
    kernel: Sample
    d2h: Sample | None = None
    both: Sample | None = None
    pieces: int = 1


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
            yield from _Job(session, mix, repeats(mix, quick=quick)).staged(
                QUICK_STREAMS if quick else STREAMS
            )


class _Job:
    """The buffers, streams and kernel of one mix."""

    def __init__(self, session: Session, mix: Mix, repeats: int) -> None:
        self.session, self.mix, self.repeats = session, mix, repeats
        # Every piece fills the device, so that pieces never share it and time divides exactly.
        self.blocks = session.properties().grid(THREADS)
        self.kernels = Kernels(session)
        self.host = session.pinned_bytes(mix.bytes)
        self.device = session.device_bytes(mix.bytes, like=self.host)
        self.streams = [session.stream() for _ in range(max(STREAMS))]
        self.times = max(1, LONG // mix.bytes)
        self.pieces = min(_MOST_CROSSED, mix.bytes // _LEAST_CROSSED)
        copy = session.timed(self._h2d(0, mix.bytes, self.streams[0]), self.streams[:1], repeats)
        self.rounds = self._rounds(copy.median * mix.balance)

    def staged(self, counts: Sequence[int]) -> Iterator[Staged]:
        """Yield the mix over *counts* streams, the first of them 1, all measured in turns."""
        work = [self._operations(count) for count in counts]
        one_stream = self.session.by_events(partial(_issue, work[0]), self.streams[:1])
        rows = [by_clock(partial(_issue, operations)) for operations in work]
        samples = in_turns([one_stream, *rows, *self._alone()], self.repeats)
        (known,), staged, alone = samples[0], samples[1 : 1 + len(rows)], samples[1 + len(rows) :]
        parts = self._parts(*(stage for (stage,) in alone))
        # By how much later than its events the host knows that one stream is done.
        lag = staged[0][0].median - known.median
        for count, operations, (done, issued) in zip(counts, work, staged, strict=True):
            yield Staged(
                mix=self.mix,
                streams=count,
                seconds=done.less(lag),
                issue_cost=issued.median / len(operations),
                parts=parts,
            )

    def _alone(self) -> list[Trial]:
        """Return the trials of the stages: kernel and copy, and with a copy back it and both."""
        first, second = self.streams[:2]
        kernel = [self._kernel(0, self.mix.bytes, self.rounds, first)]
        copies = [[self._h2d(0, self.mix.bytes, first)]]
        if self.mix.copy_back:
            copies += [[self._d2h(0, self.mix.bytes, first)], self._crossed(first, second)]
        trials = [self.session.by_events(partial(_issue, kernel), [first])]
        for operations in copies:
            often = partial(_issue, operations * self.times)
            trials.append(self.session.by_events(often, [first, second]))
        return trials

    def _crossed(self, first: Any, second: Any) -> list[Callable[[], None]]:
        """Return copies both ways at once, each half of the bytes in while the other comes back.

        In pieces: large copies both ways meet disturbances that staged ones never see.
        """
        size = self.mix.bytes // self.pieces
        starts = range(0, self.mix.bytes, size)
        operations: list[Callable[[], None]] = []
        for there, back in zip(starts, [*starts[len(starts) // 2 :], *starts], strict=False):
            operations += [self._h2d(there, size, first), self._d2h(back, size, second)]
        return operations

    def _parts(
        self, kernel: Sample, h2d: Sample, d2h: Sample | None = None, both: Sample | None = None
    ) -> Parts:
        return Parts(
            kernel=kernel,
            h2d=h2d.each(self.times),
            d2h=d2h and d2h.each(self.times),
            both=both and both.each(self.times),
            pieces=self.pieces,
        )

    def _rounds(self, seconds: float) -> int:
        """Return the kernel's rounds that take *seconds*, from two trial lengths."""
        few, many = 2_000, 22_000
        first_stream = self.streams[:1]
        short, long = (
            self.session.timed(
                self._kernel(0, self.mix.bytes, n, first_stream[0]), first_stream, 5
            ).median
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


def predicted_seconds(staged: Staged, model: LinkModel) -> float:
    """Return what the overlap model says of *staged*, its kernel's time and costs as measured."""
    mix, parts = staged.mix, staged.parts
    work = StagedWork(
        kernel_seconds=parts.kernel.median,
        h2d_bytes=mix.bytes,
        d2h_bytes=mix.bytes if mix.copy_back else 0,
    )
    here = replace(model, copy_cost=staged.issue_cost, launch_cost=staged.issue_cost)
    return stage(work, here, staged.streams, granularity=GRANULARITY).seconds


def in_place(model: LinkModel, staged: Staged) -> LinkModel:
    """Return *model* with the rates that the copies of *staged* alone had in the same rounds."""
    size, parts = staged.mix.bytes, staged.parts
    model = replace(model, h2d_rate=_rate(size, parts.h2d.median, model.copy_latency))
    if parts.d2h is None or parts.both is None:
        return model
    model = replace(model, d2h_rate=_rate(size, parts.d2h.median, model.copy_latency))
    fixed = parts.pieces * (model.copy_latency + model.duplex_latency)
    slowdown = (parts.both.median - fixed) * min(model.h2d_rate, model.d2h_rate) / size
    return replace(model, duplex_slowdown=max(1.0, slowdown))


def _rate(size: int, seconds: float, latency: float) -> float:
    return size / max(seconds - latency, seconds / 2)
