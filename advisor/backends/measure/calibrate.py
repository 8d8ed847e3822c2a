"""From measured copies to the parameters that predictions of this machine use."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.calls import call
from gpuadvise.advisor.backends.measure.copies import Copy, CopyKind
from gpuadvise.advisor.backends.measure.issue import issue_costs
from gpuadvise.advisor.backends.measure.kernels import WORK_WORD, Kernels, Launcher
from gpuadvise.advisor.transfers.link_model import LinkModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.backends.measure.session import Session

_REPEATS = 15
# Copies from this size on show the rate.
_LARGE = 16 << 20
# Pieces as staging has them; small ones take a link long enough for the host to keep up.
_PIECE_SIZES = (1 << 20, 8 << 20)
_PIECES = 16
# Rounds of a kernel that keeps the device busy while shorter ones queue up behind it.
_BUSY_ROUNDS = 200_000
_QUEUED = 33


def calibrated(session: Session, copies: Sequence[Copy]) -> LinkModel:
    """Return the link model that *copies* and a few launches of this machine show."""
    with session.scope():
        kernel_latency = _kernel_latency(session)
    pieces = {size: _piece_seconds(session, size) for size in _PIECE_SIZES}
    costs = issue_costs(session)
    properties = session.properties()
    rate, latency = _rate(copies, CopyKind.PINNED_H2D), _piece_latency(session)
    slowdown, duplex_latency = _duplex(pieces, rate, latency)
    return LinkModel(
        h2d_rate=rate,
        d2h_rate=_rate(copies, CopyKind.PINNED_D2H),
        pageable_h2d_rate=_rate(copies, CopyKind.PAGEABLE_H2D),
        pageable_d2h_rate=_rate(copies, CopyKind.PAGEABLE_D2H),
        copy_latency=latency,
        kernel_latency=kernel_latency,
        copy_cost=costs.copy,
        launch_cost=costs.launch,
        duplex_slowdown=slowdown,
        duplex_latency=duplex_latency,
        engines=properties.async_engines,
        source=f"measured on {properties.name}",
    )


def _large(copies: Sequence[Copy], kind: CopyKind) -> list[Copy]:
    """Return the copies of *kind* that show its rate: the largest alone where all are small."""
    found = [copy for copy in copies if copy.kind is kind]
    return [copy for copy in found if copy.bytes >= _LARGE] or found[-1:]


def _rate(copies: Sequence[Copy], kind: CopyKind) -> float:
    return median(copy.rate for copy in _large(copies, kind))


def _duplex(pieces: dict[int, float], rate: float, latency: float) -> tuple[float, float]:
    """Return the slow-down of bytes and what each piece costs more, by a line through *pieces*."""
    (small, few), (large, many) = sorted(pieces.items())
    per_byte = (many - few) / (large - small)
    slowdown = max(1.0, per_byte * rate)
    return slowdown, max(0.0, few - small * per_byte - latency)


def _piece_latency(session: Session) -> float:
    """Return the device's seconds for a piece of no size: copied in, and a minimal kernel.

    All pieces are queued behind a busy kernel, so that the host's pace is not in it.
    """
    with session.scope():
        kernels, first = Kernels(session), session.stream()
        streams = [session.stream() for _ in range(_PIECES)]
        memory, host = session.device_bytes(WORK_WORD), session.pinned_bytes(WORK_WORD)
        busy = kernels.launcher("work", 1, first, memory, 1, _BUSY_ROUNDS)
        launches = [kernels.launcher("work", 1, stream, memory, 1, 1) for stream in streams]
        gate = session.event()

        def queued() -> None:
            busy()
            call("cuEventRecord", gate, first)
            for launch, stream in zip(launches, streams, strict=True):
                call("cuStreamWaitEvent", stream, gate, 0)
                call("cuMemcpyHtoDAsync", memory, host, WORK_WORD, stream)
                launch()

        alone = session.timed(busy, [first], _REPEATS).median
        return max(0.0, session.timed(queued, [first, *streams], _REPEATS).median - alone) / _PIECES


def _piece_seconds(session: Session, size: int) -> float:
    """Return the seconds that one piece more takes: copied in, launched over, copied back."""
    with session.scope():
        kernels, streams = Kernels(session), [session.stream() for _ in range(_PIECES)]
        host = session.pinned_bytes(size)
        device = session.device_bytes(size, like=host)
        launches = [kernels.launcher("work", 1, stream, device, 1, 1) for stream in streams]

        def staged(count: int) -> None:
            for launch, stream in zip(launches[:count], streams, strict=False):
                call("cuMemcpyHtoDAsync", device, host, size, stream)
                launch()
                call("cuMemcpyDtoHAsync", host, device, size, stream)

        half = _PIECES // 2
        few, many = (
            session.timed(partial(staged, count), streams[:count], _REPEATS)
            for count in (half, _PIECES)
        )
    # A slow moment of the host is most of a small piece's time, and little of a large one's.
    if size == _PIECE_SIZES[0]:
        return (many.low - few.low) / half
    return (many.median - few.median) / half


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
