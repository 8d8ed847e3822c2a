"""From measured copies to the parameters that predictions of this machine use."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.calls import call
from gpuadvise.advisor.backends.measure.copies import Copy, CopyKind
from gpuadvise.advisor.backends.measure.kernels import THREADS, WORK_WORD, Kernels
from gpuadvise.advisor.backends.measure.timing import by_clock, in_turns, undisturbed
from gpuadvise.advisor.transfers.links import LinkModel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.advisor.backends.measure.session import Session


# Streams used in turn, and pieces issued: few enough that no queue fills and makes the host wait.
_STREAMS = 16
_ISSUED_PIECES = 32
_ISSUE_REPEATS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueCosts:
    """Host seconds per launch and per copy."""

    launch: float
    copy: float


def issue_costs(session: Session) -> IssueCosts:
    """Return what the host spends now: its pace changes with its clock and its neighbours."""
    with session.scope():
        kernels, streams = Kernels(session), [session.stream() for _ in range(_STREAMS)]
        memory, host = session.device_bytes(WORK_WORD), session.pinned_bytes(WORK_WORD)
        staged: list[Callable[[], object]] = []
        copied: list[Callable[[], object]] = []
        for stream in streams * (_ISSUED_PIECES // _STREAMS):
            h2d = partial(call, "cuMemcpyHtoDAsync", memory, host, WORK_WORD, stream)
            d2h = partial(call, "cuMemcpyDtoHAsync", host, memory, WORK_WORD, stream)
            staged += [h2d, kernels.launcher("work", 1, stream, memory, 1, 1), d2h]
            copied += [h2d, d2h]
        with_launches, without = _issue_seconds(staged), _issue_seconds(copied)
    launch = max(0.0, with_launches - without) / _ISSUED_PIECES
    return IssueCosts(launch=launch, copy=without / len(copied))


def _issue_seconds(operations: Sequence[Callable[[], object]]) -> float:
    """Return the host's seconds for issuing *operations*, the device idle before."""
    seconds = []
    with undisturbed():
        for _ in range(_ISSUE_REPEATS):
            call("cuCtxSynchronize")
            start = time.perf_counter()
            for operation in operations:
                operation()
            seconds.append(time.perf_counter() - start)
    return median(seconds)


_REPEATS = 61
# Copies from this size on show the rate.
_LARGE = 16 << 20
# A piece that takes a link long enough for the host to keep up.
_PIECE = 1 << 20
_PIECES = 16
_FEW_PIECES = 4
_PIECES_BACK = 6
# Bytes cut into few and into many pieces.
_CUT = 16 << 20
# Bytes of a copy that takes longer than the host needs to launch what waits for it.
_AWAITED = 4 << 20


def calibrated(session: Session, copies: Sequence[Copy]) -> LinkModel:
    """Return the link model that *copies* and a few launches of this machine show."""
    costs = issue_costs(session)
    properties = session.properties()
    rate = _rate(copies, CopyKind.PINNED_H2D)
    slowdown = _slowdown(copies, rate)
    return LinkModel(
        h2d_rate=rate,
        d2h_rate=_rate(copies, CopyKind.PINNED_D2H),
        pageable_h2d_rate=_rate(copies, CopyKind.PAGEABLE_H2D),
        pageable_d2h_rate=_rate(copies, CopyKind.PAGEABLE_D2H),
        copy_latency=_piece_latency(session),
        kernel_latency=_kernel_latency(session),
        copy_cost=costs.copy,
        launch_cost=costs.launch,
        duplex_slowdown=slowdown,
        duplex_latency=_duplex_latency(session, slowdown, rate),
        engines=properties.async_engines,
        engines_source="driver",
        source=f"measured on {properties.name}",
    )


def _large(copies: Sequence[Copy], kind: CopyKind) -> list[Copy]:
    """Return the copies of *kind* that show its rate: the largest alone where all are small."""
    of_kind = [copy for copy in copies if copy.kind is kind]
    return [copy for copy in of_kind if copy.bytes >= _LARGE] or of_kind[-1:]


def _rate(copies: Sequence[Copy], kind: CopyKind) -> float:
    return median(copy.rate for copy in _large(copies, kind))


def _slowdown(copies: Sequence[Copy], rate: float) -> float:
    """Return how much longer a large copy at *rate* takes while one comes back.

    Of the repetition that others disturbed least: traffic both ways is what they slow down most.
    """
    both = _large(copies, CopyKind.PINNED_BOTH)
    return max(1.0, min(copy.seconds.low / copy.bytes for copy in both) * rate)


def _piece_latency(session: Session) -> float:
    """Return the device's seconds that one piece more takes, of the same bytes: a copy, a launch."""
    with session.scope():
        kernels, streams = Kernels(session), [session.stream() for _ in range(_PIECES)]
        host = session.pinned_bytes(_CUT)
        device = session.device_bytes(_CUT, like=host)
        launches = [kernels.launcher("work", 1, stream, device, 1, 1) for stream in streams]

        def copied(count: int) -> None:
            for launch, stream in zip(launches[:count], streams, strict=False):
                call("cuMemcpyHtoDAsync", device, host, _CUT // count, stream)
                launch()

        (few, _), (many, _) = in_turns(
            [by_clock(partial(copied, count)) for count in (_FEW_PIECES, _PIECES)], _REPEATS
        )
    return max(0.0, many.median - few.median) / (_PIECES - _FEW_PIECES)


def _duplex_latency(session: Session, slowdown: float, rate: float) -> float:
    """Return the seconds that a piece costs more when pieces are copied back meanwhile.

    Few pieces, as staging has them, for most of it comes with the first.
    """
    with session.scope():
        streams = [session.stream() for _ in range(_PIECES_BACK)]
        host = session.pinned_bytes(_PIECE)
        device = session.device_bytes(_PIECE, like=host)

        def staged(count: int, back: bool) -> None:
            for stream in streams[:count]:
                call("cuMemcpyHtoDAsync", device, host, _PIECE, stream)
                if back:
                    call("cuMemcpyDtoHAsync", host, device, _PIECE, stream)

        trials = [
            by_clock(partial(staged, count, back))
            for back in (False, True)
            for count in (1, _PIECES_BACK)
        ]
        single, few, single_back, few_back = (done.median for done, _ in in_turns(trials, _REPEATS))
    more = ((few_back - single_back) - (few - single)) / (_PIECES_BACK - 1)
    return max(0.0, more - (slowdown - 1) * _PIECE / rate)


def _kernel_latency(session: Session) -> float:
    """Return what the shortest kernel that fills the device adds to the copy it waits for."""
    with session.scope():
        kernels, stream = Kernels(session), session.stream()
        host = session.pinned_bytes(_AWAITED)
        device = session.device_bytes(_AWAITED, like=host)
        blocks = session.properties().grid(THREADS)
        launch = kernels.launcher("work", blocks, stream, device, 1, 1)

        def copied() -> None:
            call("cuMemcpyHtoDAsync", device, host, _AWAITED, stream)

        def followed() -> None:
            copied()
            launch()

        (alone, _), (both, _) = in_turns([by_clock(copied), by_clock(followed)], _REPEATS)
    return max(0.0, both.median - alone.median)
