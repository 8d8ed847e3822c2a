"""Staged copies and kernels on their engines, event by event.

Guide, "Asynchronous and Overlapping Transfers with Computation": with one stream per piece,
kernels of some pieces run while others are copied. One engine does one thing at a time, one
stream keeps its order, and the host issues one operation after another.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.transfers.copies import Direction, copy_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.transfers.links import LinkModel


class Engine(StrEnum):
    """What carries an operation out."""

    H2D = "h2d"
    KERNEL = "kernel"
    D2H = "d2h"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpan:
    """One operation of one piece on the time line, in seconds from the first issue."""

    engine: Engine
    piece: int
    start: float
    end: float


@dataclass(slots=True, kw_only=True)
class EngineOperation:
    """An operation, what is left of it, and the one its stream must finish before it.

    Its engine is free again ``drain`` before its end.
    """

    engine: Engine
    piece: int
    issued: float
    fixed: float
    moving: float
    drain: float
    before: EngineOperation | None = None
    start: float = inf
    end: float = inf

    def ready(self) -> float:
        """Return the time from which it may run, infinity while that is not known."""
        return max(self.issued, self.before.end if self.before else 0.0)


# The queues of one resource: one per kind of operation, each in the order of issue.
_Queues = list[deque[EngineOperation]]


def simulate(pieces: Sequence[Piece], streams: int, model: LinkModel) -> tuple[EngineSpan, ...]:
    """Return every operation's start and end, in order of their starts.

    Piece i goes into stream ``i mod streams``. Copies share an engine when ``model.engines``
    is 1; with 0 they share it with the kernels, so that nothing overlaps.
    """
    operations = issue(pieces, streams, model)
    if _keeps_order(operations, model):
        run_in_order(operations, model.engines)
    else:
        run_by_events(operations, model)
    spans = [
        EngineSpan(engine=o.engine, piece=o.piece, start=o.start, end=o.end) for o in operations
    ]
    return tuple(sorted(spans, key=lambda span: (span.start, span.end)))


def issue(pieces: Sequence[Piece], streams: int, model: LinkModel) -> list[EngineOperation]:
    """Return the operations in the order of issue: piece by piece, in, kernel, out."""
    operations: list[EngineOperation] = []
    last: dict[int, EngineOperation] = {}
    issued = 0.0
    for number, piece in enumerate(pieces):
        for engine, stage in (
            (Engine.H2D, piece.h2d),
            (Engine.KERNEL, piece.kernel),
            (Engine.D2H, piece.d2h),
        ):
            if stage is None:
                continue
            issued += model.launch_cost if engine is Engine.KERNEL else model.copy_cost
            # The next stream's blocks start while the last ones of a kernel finish.
            drains = engine is Engine.KERNEL and model.engines > 0 and stage.moving > 0
            operation = EngineOperation(
                engine=engine,
                piece=number,
                issued=issued,
                fixed=0.0 if drains else stage.fixed,
                moving=stage.moving,
                drain=stage.fixed if drains else 0.0,
                before=last.get(number % streams),
            )
            last[number % streams] = operation
            operations.append(operation)
    return operations


def _keeps_order(operations: list[EngineOperation], model: LinkModel) -> bool:
    """Return whether every engine takes its operations as issued, and none slows another down."""
    ways = {o.engine for o in operations if o.engine is not Engine.KERNEL}
    undisturbed = model.duplex_slowdown == 1 and not model.duplex_latency
    return len(ways) < 2 or model.engines == 0 or (model.engines > 1 and undisturbed)


def run_in_order(operations: list[EngineOperation], engines: int) -> None:
    """Set when each operation runs: once its stream, the host and its engine have come so far."""
    free: dict[Engine | None, float] = {}
    for operation in operations:
        engine = operation.engine if engines else None
        operation.start = max(operation.ready(), free.get(engine, 0.0))
        free[engine] = operation.start + operation.fixed + operation.moving
        operation.end = free[engine] + operation.drain


def run_by_events(operations: list[EngineOperation], model: LinkModel) -> None:
    """Set when each operation runs, from event to event: copies of both ways meet."""
    resources = _resources(operations, model.engines)
    running: dict[int, EngineOperation] = {}
    now = 0.0
    while running or any(any(queues) for queues in resources):
        ready = _start(resources, running, now)
        now = _advance(running, now, ready, model)


def _resources(operations: list[EngineOperation], engines: int) -> list[_Queues]:
    """Return what can work at the same time, each with its queues."""
    h2d, kernel, d2h = (deque(o for o in operations if o.engine is engine) for engine in Engine)
    if engines == 0:
        return [[h2d, kernel, d2h]]
    if engines == 1:
        return [[h2d, d2h], [kernel]]
    return [[h2d], [kernel], [d2h]]


def _start(resources: list[_Queues], running: dict[int, EngineOperation], now: float) -> float:
    """Start on each idle resource the operation that was issued first of those ready.

    Returns when the first operation of a resource that stays idle becomes ready.
    """
    later = inf
    for number, queues in enumerate(resources):
        if number in running:
            continue
        heads = [(queue[0].ready(), queue) for queue in queues if queue]
        ready = [queue for time, queue in heads if time <= now]
        if ready:
            operation = min(ready, key=lambda queue: queue[0].issued).popleft()
            operation.start = now
            running[number] = operation
        else:
            later = min([later, *(time for time, _ in heads)])
    return later


def _advance(
    running: dict[int, EngineOperation], now: float, ready: float, model: LinkModel
) -> float:
    """Let time pass until something ends, or becomes *ready* on an idle resource; return the new time."""
    duplex = sum(o.engine is not Engine.KERNEL for o in running.values()) > 1
    paces = {n: _pace(o, model) if duplex else 1.0 for n, o in running.items()}
    ends = {n: now + (o.fixed or o.moving) * paces[n] for n, o in running.items()}
    then = min([ready, *ends.values()])
    for number, end in ends.items():
        operation = running[number]
        _progress(operation, (then - now) / paces[number], end <= then)
        if not operation.fixed and not operation.moving:
            operation.end = then + operation.drain
            del running[number]
    return then


def _pace(operation: EngineOperation, model: LinkModel) -> float:
    """Return how much longer *operation* takes while both directions copy."""
    if operation.engine is Engine.KERNEL:
        return 1.0
    if operation.fixed and model.copy_latency:
        return 1 + model.duplex_latency / model.copy_latency
    return model.duplex_slowdown


def _progress(operation: EngineOperation, time: float, whole: bool) -> None:
    """Take *time* off what *operation* is doing, or all of it when it ends just now."""
    if operation.fixed:
        operation.fixed = 0.0 if whole else operation.fixed - time
    else:
        operation.moving = 0.0 if whole else operation.moving - time


MOST_PIECES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedWork:
    """One kernel with its copies: each copy as bytes or as seconds, never both; 0 for none.

    ``kernel_seconds`` is the time of the whole kernel. A *pageable* copy blocks the host.
    """

    kernel_seconds: float
    h2d_bytes: int = 0
    h2d_seconds: float = 0.0
    d2h_bytes: int = 0
    d2h_seconds: float = 0.0
    pageable: bool = False

    @property
    def copies_in(self) -> bool:
        """Whether data go to the device."""
        return bool(self.h2d_bytes or self.h2d_seconds)

    @property
    def copies_out(self) -> bool:
        """Whether data come back."""
        return bool(self.d2h_bytes or self.d2h_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedPart:
    """One engine's part of one piece: a fixed time, then time that the link may stretch."""

    fixed: float
    moving: float

    @property
    def seconds(self) -> float:
        """Time of the stage when nothing else is going on."""
        return self.fixed + self.moving


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One chunk of the data on its way: copy in, kernel, copy out; None where there is none."""

    h2d: StagedPart | None
    kernel: StagedPart | None
    d2h: StagedPart | None


def shares(pieces: int, total: int | None = None, granularity: int = 1) -> list[float]:
    """Return the share of the data in each piece; they sum to 1 and the last may be smaller.

    With *total* bytes every piece but the last holds the same multiple of *granularity*, and
    fewer pieces result when the data run out before. Raises BadInput for a number of pieces outside
    1 to MOST_PIECES.
    """
    if not 1 <= pieces <= MOST_PIECES:
        raise BadInput(f"Data are cut into 1 to {MOST_PIECES} pieces, not {pieces}.")
    if not total:
        return [1 / pieces] * pieces
    chunk = -(-total // pieces)
    chunk = -(-chunk // granularity) * granularity
    whole, rest = divmod(total, chunk)
    return [chunk / total] * whole + ([rest / total] if rest else [])


def cut(work: StagedWork, model: LinkModel, parts: list[float]) -> list[Piece]:
    """Return the pieces of *work* when piece i holds the share ``parts[i]`` of the data."""
    h2d_rate = copy_rate(model, Direction.H2D, pageable=work.pageable)
    d2h_rate = copy_rate(model, Direction.D2H, pageable=work.pageable)
    lag = model.copy_latency
    h2d_time = work.h2d_seconds or (work.h2d_bytes and lag + work.h2d_bytes / h2d_rate)
    d2h_time = work.d2h_seconds or (work.d2h_bytes and lag + work.d2h_bytes / d2h_rate)
    return [
        Piece(
            h2d=_stage(h2d_time, lag, part),
            kernel=_stage(work.kernel_seconds, model.kernel_latency, part),
            d2h=_stage(d2h_time, lag, part),
        )
        for part in parts
    ]


def _stage(whole: float, least: float, part: float) -> StagedPart | None:
    """Return the share *part* of a stage of *whole* seconds, *least* of which are fixed."""
    if not whole:
        return None
    fixed = min(least, whole)
    return StagedPart(fixed=fixed, moving=(whole - fixed) * part)
