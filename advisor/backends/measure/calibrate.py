"""From measured copies to the parameters that predictions of this machine use."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.copies import Copy, CopyKind
from gpuadvise.advisor.backends.measure.issue import issue_costs
from gpuadvise.advisor.backends.measure.kernels import WORK_WORD, Kernels, Launcher
from gpuadvise.advisor.transfers.link_model import LinkModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.backends.measure.session import Session

_REPEATS = 15
# Copies up to this size show the latency, copies from that size on the rate.
_SMALL = 4096
_LARGE = 16 << 20
_CHUNK = 64 << 20
# Copies that show what a piece costs more while the other direction copies too.
_PIECES = (1 << 20, 4 << 20)
# Rounds of a kernel that keeps the device busy while shorter ones queue up behind it.
_BUSY_ROUNDS = 200_000
_QUEUED = 33


def calibrated(session: Session, copies: Sequence[Copy]) -> LinkModel:
    """Return the link model that *copies* and a few launches of this machine show."""
    with session.scope():
        kernel_latency = _kernel_latency(session)
    costs = issue_costs(session)
    properties = session.properties()
    slowdown, latency = _duplex(copies), _latency(copies)
    return LinkModel(
        h2d_rate=_rate(copies, CopyKind.PINNED_H2D),
        d2h_rate=_rate(copies, CopyKind.PINNED_D2H),
        pageable_h2d_rate=_rate(copies, CopyKind.PAGEABLE_H2D),
        pageable_d2h_rate=_rate(copies, CopyKind.PAGEABLE_D2H),
        copy_latency=latency,
        kernel_latency=kernel_latency,
        copy_cost=costs.copy,
        launch_cost=costs.launch,
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
    """Return how much longer both directions at once take than one: 1 or more.

    The least of the sizes that chunks have; a busy host stretches larger ones further.
    """
    alone = {copy.bytes: copy.seconds.low for copy in copies if copy.kind is CopyKind.PINNED_H2D}
    both = [copy for copy in _large(copies, CopyKind.PINNED_BOTH) if copy.bytes <= _CHUNK]
    return max(1.0, min(copy.seconds.low / alone[copy.bytes] for copy in both))


def _latency(copies: Sequence[Copy]) -> float:
    # The least: a slow moment of the host between the start and the copy is not the link's.
    return min(copy.seconds.low for copy in copies if copy.bytes <= _SMALL)


def _duplex_latency(copies: Sequence[Copy], latency: float, slowdown: float) -> float:
    """Return what pieces in both directions take beyond *latency* and stretched bytes."""
    rate = _rate(copies, CopyKind.PINNED_H2D)
    extra = [
        copy.seconds.low - latency - copy.bytes / rate * slowdown
        for copy in copies
        if copy.kind is CopyKind.PINNED_BOTH and copy.bytes in _PIECES
    ]
    return max(0.0, *extra) if extra else 0.0


def _kernel_latency(session: Session) -> float:
    """Return the device's seconds for a minimal kernel."""
    kernels, stream = Kernels(session), session.stream()
    memory = session.device_bytes(WORK_WORD)
    busy = kernels.launcher("work", 1, stream, memory, 1, _BUSY_ROUNDS)
    return _queued_seconds(session, busy, kernels.launcher("work", 1, stream, memory, 1, 1), stream)


def _queued_seconds(session: Session, busy: Launcher, launch: Launcher, stream: object) -> float:
    """Return the device's seconds for *launch*, queued behind *busy* so that no host is in it."""

    def queue(count: int) -> None:
        busy()
        for _ in range(count):
            launch()

    few, many = (
        session.timed(partial(queue, count), [stream], _REPEATS).median for count in (1, _QUEUED)
    )
    return max(0.0, (many - few) / (_QUEUED - 1))
