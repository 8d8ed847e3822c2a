"""Whether overlapping copies and kernels pays, with how many pieces over how many streams."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.transfers.copies import WORTHWHILE
from gpuadvise.advisor.transfers.pipeline import (
    MOST_PIECES,
    Engine,
    EngineSpan,
    StagedWork,
    cut,
    shares,
    simulate,
)

if TYPE_CHECKING:
    from gpuadvise.advisor.transfers.links import LinkModel


# More pieces, and a stream for each, never pay: every piece costs the host, and hardware queues run
# out (a device has 32, CUDA_DEVICE_MAX_CONNECTIONS).
MOST_STREAMS = 32
# Fewer pieces are preferred to a gain that no measurement would show.
NEGLIGIBLE = 0.01
# Fewer streams are preferred to a gain within the error of the model.
_SAME = 0.005
# A few pieces that win this much of what the best do are the place to begin.
_MOST_OF_IT = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """One way of staging and what it takes: seconds, stream and piece counts, time line."""

    streams: int
    pieces: int
    chunk_bytes: int | None  # of every piece but the last; None when bytes are not known
    seconds: float
    spans: tuple[EngineSpan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Sequential against staged, in seconds.

    ``speedup`` is sequential / best. No staging takes less than ``floor``, the time of what
    ``limiter`` names (a copy may share link or engine with the other one). ``guide`` is the
    guide's own estimate, None where its two-stage formula does not apply.
    """

    sequential: float
    requested: Staging | None
    best: Staging
    tried: tuple[Staging, ...]  # 1, 2, 3 … pieces, each over the fewest streams
    guide: float | None
    floor: float
    limiter: Engine

    @property
    def speedup(self) -> float:
        """Sequential time / best staged time."""
        return self.sequential / self.best.seconds

    @property
    def knee(self) -> Staging:
        """The fewest pieces that save three quarters of what the best do."""
        saved = self.sequential - self.best.seconds
        enough = self.sequential - _MOST_OF_IT * saved
        return next(staging for staging in self.tried if staging.seconds <= enough)

    @property
    def worthwhile(self) -> bool:
        """Whether staging saves at least 5 % of the sequential time."""
        return self.best.seconds <= self.sequential * (1 - WORTHWHILE)


def guide_estimate(transfer: float, kernel: float, streams: int) -> float:
    """Return the guide's seconds: tE + tT/n when the kernel is longer, else tT + tE/n."""
    return max(transfer, kernel) + min(transfer, kernel) / streams


def sequential_seconds(work: StagedWork, model: LinkModel) -> float:
    """Return the seconds of copy, kernel and copy back one after the other, in one stream.

    The host's calls cost what they cost in any staging, which therefore never loses to this one.
    """
    return stage(work, model, 1).seconds


def stage(
    work: StagedWork,
    model: LinkModel,
    streams: int,
    *,
    pieces: int | None = None,
    granularity: int = 1,
) -> Staging:
    """Return what *streams* streams with one piece each (or *pieces* in all) take.

    Pageable copies block the host and wait for each other, so they never overlap. Chunks of
    known size are multiples of *granularity* bytes. Raises BadInput for streams or pieces outside
    1 to MOST_PIECES.
    """
    if not 1 <= streams <= MOST_PIECES:
        raise BadInput(f"Streams number 1 to {MOST_PIECES}, not {streams}.")
    total = work.h2d_bytes or work.d2h_bytes
    parts = shares(pieces or streams, total, granularity)
    if work.pageable:
        model = replace(model, engines=0)
    spans = simulate(cut(work, model, parts), streams, model)
    return Staging(
        streams=min(streams, len(parts)),
        pieces=len(parts),
        chunk_bytes=round(parts[0] * total) if total else None,
        seconds=max(span.end for span in spans),
        spans=spans,
    )


def overlap(
    work: StagedWork,
    model: LinkModel,
    *,
    streams: int | None = None,
    pieces: int | None = None,
    most_streams: int = MOST_STREAMS,
    granularity: int = 1,
) -> Overlap:
    """Return the prediction for *streams* (and *pieces*), and the best of 1 to *most_streams* pieces.

    Best are the fewest pieces within 1 % of the least time, over the fewest streams that are as
    fast as a stream for each piece: more only cost memory.

    Raises BadInput when there is nothing to copy or to compute.
    """
    if not (work.kernel_seconds > 0 and (work.copies_in or work.copies_out)):
        raise BadInput("Overlap needs a kernel time and at least one copy.")
    tried = _tried(work, model, most_streams, granularity)
    least = min(staging.seconds for staging in tried)
    best = next(staging for staging in tried if staging.seconds <= least * (1 + NEGLIGIBLE))
    busy = _busy(work, model)
    floor, limiter = _floor(busy, model, pageable=work.pageable)
    requested = _requested_staging(work, model, streams, pieces, granularity)
    return Overlap(
        sequential=sequential_seconds(work, model),
        requested=requested,
        best=best,
        tried=tuple(tried),
        guide=_guide(busy, (requested or best).pieces, work),
        floor=floor,
        limiter=limiter,
    )


def _requested_staging(
    work: StagedWork, model: LinkModel, streams: int | None, pieces: int | None, granularity: int
) -> Staging | None:
    if streams is None:
        return None
    return stage(work, model, streams, pieces=pieces, granularity=granularity)


def _tried(work: StagedWork, model: LinkModel, most: int, granularity: int) -> list[Staging]:
    """Return a staging per number of pieces, without those that data run out for."""
    stagings: dict[int, Staging] = {}
    streams = 1  # more pieces never want fewer
    for pieces in range(1, most + 1):
        widest = stage(work, model, pieces, granularity=granularity)
        if widest.pieces not in stagings:
            staging = _over_fewest_streams(widest, streams, work, model, granularity)
            stagings[widest.pieces], streams = staging, staging.streams
    return list(stagings.values())


def _over_fewest_streams(
    widest: Staging, least: int, work: StagedWork, model: LinkModel, granularity: int
) -> Staging:
    """Return the staging of the same pieces over the fewest streams, *least* or more, as fast."""
    for streams in range(least, widest.streams):
        staging = stage(work, model, streams, pieces=widest.pieces, granularity=granularity)
        if staging.seconds <= widest.seconds * (1 + _SAME):
            return staging
    return widest


def _busy(work: StagedWork, model: LinkModel) -> dict[Engine, float]:
    """Return how long each kind of operation takes in one piece, alone."""
    whole = cut(work, model, [1.0])[0]
    stages = {Engine.H2D: whole.h2d, Engine.KERNEL: whole.kernel, Engine.D2H: whole.d2h}
    return {engine: part.seconds for engine, part in stages.items() if part}


def _floor(busy: dict[Engine, float], model: LinkModel, *, pageable: bool) -> tuple[float, Engine]:
    """Return the least seconds of any staging, and what takes them.

    Copies both ways share an engine, or else the link: of two that run together each takes
    ``duplex_slowdown`` times as long.
    """
    h2d, d2h = busy.get(Engine.H2D, 0.0), busy.get(Engine.D2H, 0.0)
    longest = max(busy, key=lambda engine: busy[engine])
    if pageable or model.engines == 0:
        return sum(busy.values()), longest
    both = abs(h2d - d2h) + min(2.0, model.duplex_slowdown) * min(h2d, d2h)
    copies = h2d + d2h if model.engines == 1 else both
    if copies > busy[Engine.KERNEL]:
        return copies, Engine.H2D if h2d >= d2h else Engine.D2H
    return busy[Engine.KERNEL], Engine.KERNEL


def _guide(busy: dict[Engine, float], streams: int, work: StagedWork) -> float | None:
    if len(busy) != 2 or work.pageable:
        return None
    transfer = sum(time for engine, time in busy.items() if engine is not Engine.KERNEL)
    return guide_estimate(transfer, busy[Engine.KERNEL], streams)


_FEW_STREAMS = (2, 3, 4)
_LARGEST = 2**40


def break_even_bytes(work: StagedWork, model: LinkModel) -> int | None:
    """Return the bytes to copy in (or else out) from which two to four streams save 5 %.

    Kernel time and the other copy grow in proportion. None when no size pays, or when *work*
    gives times instead of bytes.
    """
    given = work.h2d_bytes or work.d2h_bytes
    if not given or not _pays(work, model, _LARGEST / given):
        return None
    low, high = 0, _LARGEST  # pays at high, never at low
    while high - low > max(1, high // 100):
        middle = (low + high) // 2 if low else high // 2
        if middle and _pays(work, model, middle / given):
            high = middle
        else:
            low = middle
    return high


def _pays(work: StagedWork, model: LinkModel, factor: float) -> bool:
    scaled = replace(
        work,
        h2d_bytes=round(work.h2d_bytes * factor),
        h2d_seconds=_grown(work.h2d_seconds, model.copy_latency, factor),
        d2h_bytes=round(work.d2h_bytes * factor),
        d2h_seconds=_grown(work.d2h_seconds, model.copy_latency, factor),
        kernel_seconds=_grown(work.kernel_seconds, model.kernel_latency, factor),
    )
    limit = sequential_seconds(scaled, model) * (1 - WORTHWHILE)
    return any(stage(scaled, model, streams).seconds <= limit for streams in _FEW_STREAMS)


def _grown(seconds: float, latency: float, factor: float) -> float:
    """Return *seconds* for *factor* times the data: what lies above a latency grows."""
    fixed = min(latency, seconds)
    return fixed + (seconds - fixed) * factor
