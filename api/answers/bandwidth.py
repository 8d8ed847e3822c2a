"""The answer of ``gpuadvise bandwidth``: its fields, and what each of them says."""

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
    record,
)


@record
class BandwidthCopy(Record):
    """Of --h2d or --d2h.

    Theoretical, attainable and ratio are then of the link, and this is the time that such a copy
    takes.
    """

    direction: Literal["h2d", "d2h"]
    """Way of the copy: h2d, d2h, d2d."""
    pageable: bool
    """Whether the host memory is pageable."""
    expected_seconds: Annotated[Positive, SECONDS]
    """Time that such a copy takes here."""


@record
class BandwidthLink(Record):
    """Link, in the answer of ``bandwidth``."""

    name: str
    """Its name."""
    theoretical: Annotated[Positive, BYTES_PER_SECOND]
    """Theoretical bandwidth, bytes/s."""
    attainable: Annotated[Positive, BYTES_PER_SECOND]
    """What copies reach, bytes/s."""
    formula: str
    """How it was computed."""


@record
class BandwidthMeasured(Record):
    """Measured, in the answer of ``bandwidth``."""

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
    """Where the measurement comes from."""


@record
class BandwidthResult(Record):
    """What ``bandwidth`` answers."""

    copy: BandwidthCopy | None
    """Of --h2d or --d2h: theoretical, attainable and ratio are then of the link, and this is
    the time that such a copy takes.
    """
    theoretical: Annotated[Positive, BYTES_PER_SECOND]
    """Theoretical bandwidth, bytes/s."""
    effective: Annotated[float, BYTES_PER_SECOND] | None
    """Bandwidth that was used: (read + write) / time, bytes/s."""
    ratio: float | None
    """Effective / theoretical."""
    band: Literal["impossible", "bad", "poor", "fair", "good", None]
    """How good that is: a word."""
    source: str
    """Where it comes from."""
    formula: str | None
    """How it was computed."""
    derived: Annotated[float, BYTES_PER_SECOND] | None
    """Bandwidth from clock, width and rate, bytes/s."""
    published: Annotated[float, BYTES_PER_SECOND] | None
    """Bandwidth that the maker publishes, bytes/s."""
    agree: bool | None
    """Whether derived and published bandwidth agree."""
    attainable: Annotated[float, BYTES_PER_SECOND] | None
    """What a good kernel reaches, bytes/s."""
    causes: tuple[str, ...]
    """What may explain it."""
    links: tuple[BandwidthLink, ...]
    """Links to the host and to other GPUs."""
    measured: BandwidthMeasured | None
    """The link as it was measured."""


@record
class BandwidthInput(Record):
    """What ``bandwidth`` was asked."""

    h2d_bytes: Annotated[Count, BYTES] | None = None
    d2h_bytes: Annotated[Count, BYTES] | None = None
    read_bytes: Annotated[Count, BYTES] | None
    write_bytes: Annotated[Count, BYTES] | None
    seconds: Annotated[float, SECONDS] | None


DECLARATION = AnswerDeclaration(
    command="bandwidth",
    title="JSON answer of gpuadvise bandwidth",
    description="Rates in bytes per second, sizes in bytes, times in seconds. effective, ratio and band are null without bytes and a time. measured is the calibration in use.",
    input=BandwidthInput,
    results=(BandwidthResult,),
)
