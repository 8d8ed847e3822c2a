"""The answer of ``gpuadvise overlap``: its fields, and what each of them says."""

from __future__ import annotations

from typing import Annotated, Literal

from gpuadvise.api.answers.fields import (
    BYTES,
    BYTES_PER_SECOND,
    SECONDS,
    AnswerDeclaration,
    Count,
    Keywords,
    May,
    NotNegative,
    Positive,
    Record,
    Share,
    record,
)


@record
class OverlapModel(Record):
    """Model, in the answer of ``overlap``."""

    h2d_rate: Annotated[Positive, BYTES_PER_SECOND]
    """Pinned copies to the device, bytes/s."""
    d2h_rate: Annotated[Positive, BYTES_PER_SECOND]
    """Pinned copies to the host, bytes/s."""
    pageable_h2d_rate: Annotated[Positive, BYTES_PER_SECOND]
    """Pageable copies to the device, bytes/s."""
    pageable_d2h_rate: Annotated[Positive, BYTES_PER_SECOND]
    """Pageable copies to the host, bytes/s."""
    copy_latency: Annotated[NotNegative, SECONDS]
    """Time of an empty copy, seconds."""
    kernel_latency: Annotated[NotNegative, SECONDS]
    """Time of an empty kernel, seconds."""
    copy_cost: Annotated[NotNegative, SECONDS]
    """Host time to issue a copy, seconds."""
    launch_cost: Annotated[NotNegative, SECONDS]
    """Host time to launch a kernel, seconds."""
    duplex_slowdown: Annotated[float, Keywords(minimum=1)]
    """How much longer a copy takes while one runs the other way."""
    duplex_latency: Annotated[NotNegative, SECONDS]
    """What copies both ways at once add to a copy's latency, seconds."""
    engines: Count
    """Copy engines (asyncEngineCount)."""
    engines_source: May[str] = None
    """Where the count of engines comes from; source speaks of the rates."""
    source: str
    """Where it comes from."""


@record
class OverlapSwept(Record):
    """Swept, in the answer of ``overlap``."""

    streams: Count
    """Streams."""
    predicted: Annotated[Positive, SECONDS]
    """Predicted time, seconds."""
    speedup: Positive
    """Time before / time after."""
    chunk_bytes: Annotated[Count, BYTES] | None
    """Bytes of each piece but the last."""
    pieces: Count
    """Pieces the data are cut into."""


@record
class OverlapTimeline(Record):
    """Timeline, in the answer of ``overlap``."""

    engine: Literal["h2d", "kernel", "d2h"]
    """What carries it out: h2d, kernel, d2h."""
    piece: Count
    """Number of the piece."""
    start: Annotated[float, SECONDS]
    """When it starts, seconds."""
    end: Annotated[float, SECONDS]
    """When it ends, seconds."""


@record
class OverlapTraced(Record):
    """With --from-timeline: what the run did, over all passes; the prediction is for one."""

    passes: Count
    """Rounds of copy and kernel."""
    pageable: bool
    """Whether the host memory is pageable."""
    copy_streams: Count
    """Streams that carried copies."""
    kernel_seconds: Annotated[NotNegative, SECONDS]
    """Time in which kernels ran."""
    copy_seconds: Annotated[NotNegative, SECONDS]
    """Time in which copies ran."""
    overlapped_copy_seconds: Annotated[NotNegative, SECONDS]
    """Copy time in which a kernel ran as well."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time of the traced passes."""
    achieved: Share
    """Hidden copy time / copy time that could hide."""


@record
class OverlapResult(Record):
    """What ``overlap`` answers."""

    sequential: Annotated[Positive, SECONDS]
    """Copy, kernel and copy back in turn, seconds."""
    predicted: Annotated[Positive, SECONDS]
    """Predicted time, seconds."""
    streams: Count
    """Streams of the prediction."""
    best_streams: Count
    """The fewest streams that reach the best time."""
    best_pieces: Count
    """The fewest pieces that reach the best time."""
    best: Annotated[Positive, SECONDS]
    """Time of the best staging, seconds."""
    speedup: Positive
    """Time before / time after."""
    worthwhile: bool
    """Whether it saves at least 5 %."""
    guide: float | None
    """What the guide's own formula gives."""
    floor: Positive
    """Time of the busiest engine: no staging is faster."""
    limiter: Literal["h2d", "kernel", "d2h"]
    """The engine that the floor is of."""
    pieces: Count
    """Pieces the data are cut into."""
    chunk_bytes: Annotated[Count, BYTES] | None
    """Bytes of each piece but the last."""
    break_even_bytes: Annotated[Count, BYTES] | None
    """Data from which staging saves 5 %."""
    model: OverlapModel
    """The link as it is modelled."""
    sweep: tuple[OverlapSwept, ...]
    """One row per number of pieces."""
    timeline: tuple[OverlapTimeline, ...]
    """When each piece is on which engine."""
    remarks: tuple[str, ...]
    """What else there is to know."""
    skeleton: str | None
    """Code that stages like this."""
    traced: OverlapTraced | None
    """What the timeline shows.

    With --from-timeline: what the run did, over all passes; the prediction is for one.
    """


@record
class OverlapInput(Record):
    """What ``overlap`` was asked."""

    kernel_seconds: Annotated[Positive, SECONDS]
    h2d_bytes: Annotated[Count, BYTES]
    h2d_seconds: Annotated[float, SECONDS]
    d2h_bytes: Annotated[Count, BYTES]
    d2h_seconds: Annotated[float, SECONDS]
    pageable: bool
    streams: Count | None
    granularity: Count
    chunks: Count | None
    from_timeline: str | None = None


DECLARATION = AnswerDeclaration(
    command="overlap",
    title="JSON answer of gpuadvise overlap",
    description="Seconds, bytes, bytes per second. predicted and timeline are for the streams asked for, else for the best. guide is the guide's own estimate, null where its formula does not apply. floor is the busiest engine's time: no staging is faster.",
    input=OverlapInput,
    results=(OverlapResult,),
    rows=(OverlapSwept,),
)
