"""From measured copies to the parameters that predictions of this machine use."""

from __future__ import annotations

import time
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.calls import call
from gpuadvise.advisor.backends.measure.copies import Copy, CopyKind
from gpuadvise.advisor.backends.measure.kernels import WORK_WORD, Kernels, Launcher
from gpuadvise.advisor.backends.measure.session import undisturbed
from gpuadvise.advisor.transfers.link_model import LinkModel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.advisor.backends.measure.session import Session

# Operations issued when the host's own cost is timed; few enough that the device's queue
# never fills and makes the host wait.
_OPERATIONS = 128
_STREAMS = 8
_REPEATS = 15
# Copies up to this size show the latency, copies from that size on the rate.
_SMALL = 4096
_LARGE = 16 << 20
# Copies that show what a piece costs more while the other direction copies too.
_PIECES = (1 << 20, 4 << 20)
# Rounds of a kernel that keeps the device busy while shorter ones queue up behind it.
_BUSY_ROUNDS = 200_000
_QUEUED = 33


def calibrated(session: Session, copies: Sequence[Copy]) -> LinkModel:
    """Return the link model that *copies* and a few launches of this machine show."""
    with session.scope():
        kernel_latency, launch_cost, copy_cost = _costs(session)
    properties = session.properties()
    slowdown, latency = _duplex(copies), _latency(copies)
    return LinkModel(
        h2d_rate=_rate(copies, CopyKind.PINNED_H2D),
        d2h_rate=_rate(copies, CopyKind.PINNED_D2H),
        pageable_h2d_rate=_rate(copies, CopyKind.PAGEABLE_H2D),
        pageable_d2h_rate=_rate(copies, CopyKind.PAGEABLE_D2H),
        copy_latency=latency,
        kernel_latency=kernel_latency,
        copy_cost=copy_cost,
        launch_cost=launch_cost,
        duplex_slowdown=slowdown,
        duplex_latency=_duplex_latency(copies, latency, slowdown),
        engines=properties.async_engines,
        source=f"measured on {properties.name}",
    )


def _large(copies: Sequence[Copy], kind: CopyKind) -> list[Copy]:
    """Return the copies of *kind* that show its rate: the largest alone where all are small."""
    found = [copy for copy in copies if copy.kind is kind]
    return [copy for copy in found if copy.bytes >= _LARGE] or found[-1:]


def _rate(copies: Sequence[Copy], kind: CopyKind) -> float:
    return median(copy.rate for copy in _large(copies, kind))


def _duplex(copies: Sequence[Copy]) -> float:
    """Return how much longer both directions at once take than one: 1 or more."""
    alone = {
        copy.bytes: copy.seconds.median
        for kind in (CopyKind.PINNED_H2D, CopyKind.PINNED_D2H)
        for copy in _large(copies, kind)
    }
    both = _large(copies, CopyKind.PINNED_BOTH)
    return max(1.0, median(copy.seconds.median / alone[copy.bytes] for copy in both))


def _latency(copies: Sequence[Copy]) -> float:
    return min(copy.seconds.median for copy in copies if copy.bytes <= _SMALL)


def _duplex_latency(copies: Sequence[Copy], latency: float, slowdown: float) -> float:
    """Return what pieces in both directions take beyond latency and stretched bytes."""
    rate = _rate(copies, CopyKind.PINNED_H2D)
    extra = [
        copy.seconds.median - latency - copy.bytes / rate * slowdown
        for copy in copies
        if copy.kind is CopyKind.PINNED_BOTH and copy.bytes in _PIECES
    ]
    return max(0.0, median(extra)) if extra else 0.0


def _costs(session: Session) -> tuple[float, float, float]:
    """Return the device seconds of a minimal kernel, the host's of a launch and of a copy."""
    kernels, streams = Kernels(session), [session.stream() for _ in range(_STREAMS)]
    memory, host = session.device_bytes(WORK_WORD), session.pinned_bytes(WORK_WORD)
    launches = [kernels.launcher("work", 1, stream, memory, 1, 1) for stream in streams]
    copies = [
        partial(call, *arguments, WORK_WORD, stream)
        for stream in streams
        for arguments in (("cuMemcpyHtoDAsync", memory, host), ("cuMemcpyDtoHAsync", host, memory))
    ]
    lone = _issue_seconds(copies)
    both = _issue_seconds([*copies, *launches * 2])
    busy = kernels.launcher("work", 1, streams[0], memory, 1, _BUSY_ROUNDS)
    return _queued_seconds(session, busy, launches[0], streams[0]), 2 * both - lone, lone


def _queued_seconds(
    session: Session, busy: Launcher, launch: Launcher, stream: object
) -> float:
    """Return the device's seconds for *launch*, queued behind *busy* so that no host is in it."""

    def queue(count: int) -> None:
        busy()
        for _ in range(count):
            launch()

    few, many = (
        session.timed(partial(queue, count), [stream], _REPEATS).median for count in (1, _QUEUED)
    )
    return max(0.0, (many - few) / (_QUEUED - 1))


def _issue_seconds(operations: Sequence[Callable[[], None]]) -> float:
    """Return the host's seconds for each of *operations*, issued in rounds without a wait."""
    rounds = list(operations) * (_OPERATIONS // len(operations))
    seconds = []
    with undisturbed():
        for _ in range(_REPEATS):
            call("cuCtxSynchronize")
            start = time.perf_counter()
            for operation in rounds:
                operation()
            seconds.append((time.perf_counter() - start) / len(rounds))
    return median(seconds)
