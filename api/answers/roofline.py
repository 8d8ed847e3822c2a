"""The answer of ``gpuadvise roofline``: its fields, and what each of them says."""

from __future__ import annotations

from typing import Annotated, Literal

from gpuadvise.api.answers.common import NotJudgedRecord
from gpuadvise.api.answers.fields import (
    BYTES,
    BYTES_PER_SECOND,
    FLOP_PER_SECOND,
    SECONDS,
    AnswerDeclaration,
    May,
    Positive,
    Record,
    record,
)


@record
class RooflineMove(Record):
    """Move, in the answer of ``roofline``."""

    name: str
    """Its name."""
    how: str
    """What to do, or how it was computed."""
    intensity: Positive
    """Operations per byte after the change."""
    attainable: Positive
    """The most that can be reached."""
    gain: Positive
    """What it wins, as a factor."""


@record
class RooflineKernel(Record):
    """Kernel, in the answer of ``roofline``."""

    kernel: str | None
    """Name of the kernel."""
    arithmetic_intensity: Positive
    """Operations per byte of device memory."""
    ridge_point: Positive
    """Operations per byte from which compute is the limit."""
    attainable: Positive
    """Operations/s that this intensity allows."""
    bound: Literal["memory", "compute"]
    """What limits it: memory or compute."""
    achieved: float | None
    """Operations/s that were reached."""
    share: float | None
    """Share of the whole, 0 to 1."""
    least_seconds: Annotated[Positive, SECONDS]
    """No kernel with these bytes and operations is faster."""
    peak: Annotated[Positive, FLOP_PER_SECOND]
    """Peak of the unit, operations/s."""
    unit: str
    """Unit, or the unit of the chip."""
    bandwidth: Annotated[Positive, BYTES_PER_SECOND]
    """Bandwidth of device memory, bytes/s."""
    flops: Positive
    """Operations."""
    bytes: Annotated[Positive, BYTES]
    """Bytes moved."""
    seconds: Annotated[float, SECONDS] | None
    """Time, seconds."""


@record
class RooflineRidge(Record):
    """Ridge, in the answer of ``roofline``."""

    unit: str
    """Unit, or the unit of the chip."""
    peak: Annotated[Positive, FLOP_PER_SECOND]
    """Peak of the unit, operations/s."""
    ridge_point: Positive
    """Operations per byte from which compute is the limit."""


@record
class RooflineResult(RooflineKernel):
    """Where the first kernel stands, what would move it, and where all of them stand."""

    moves: tuple[RooflineMove, ...]
    """What would raise the roof, and by how much."""
    kernels: tuple[RooflineKernel, ...]
    """One record per kernel."""
    ridges: tuple[RooflineRidge, ...]
    """The ridge point of each unit."""
    not_judged: May[tuple[NotJudgedRecord, ...]] = None
    """Kernels of which no share of the roof is known."""


@record
class RooflineInput(Record):
    """What ``roofline`` was asked."""

    flops: Positive
    bytes: Annotated[Positive, BYTES]
    dtype: str
    seconds: Annotated[float, SECONDS] | None


DECLARATION = AnswerDeclaration(
    command="roofline",
    title="JSON answer of gpuadvise roofline",
    description="Intensities in FLOP/byte, rates in FLOP/s and bytes per second. The result's own fields are those of the first kernel; kernels has all. share is achieved / attainable.",
    input=RooflineInput,
    results=(RooflineResult,),
    rows=(RooflineKernel,),
)
