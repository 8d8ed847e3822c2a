"""The answer of ``gpuadvise measure``: its fields, and what each of them says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from gpuadvise.api.answers.fields import (
    BYTES_PER_SECOND,
    SECONDS,
    AnswerDeclaration,
    Keywords,
    May,
    NotNegative,
    Positive,
    Record,
    record,
)


@record
class MeasureRow(Record):
    """One measurement.

    Median, least and most seconds of n repetitions. expected and ratio compare with the
    prediction; their unit is that of rate, efficiency or seconds.
    """

    seconds: Annotated[Positive, SECONDS]
    """Time, seconds."""
    low: Annotated[Positive, SECONDS]
    """Lower end of the spread, seconds."""
    high: Annotated[Positive, SECONDS]
    """Upper end of the spread, seconds."""
    spread: NotNegative
    """(High - low) / median."""
    n: Annotated[int, Keywords(minimum=1)]
    """Number of measurements."""
    rate: May[NotNegative] = None
    """Bytes or operations per second."""
    efficiency: May[NotNegative] = None
    """Useful bytes / moved bytes."""
    expected: float | None
    """What the model predicts."""
    ratio: float | None
    """Measured / expected."""


@record
class MeasureResult(Record):
    """What ``measure`` answers."""

    partial: bool
    """Whether the measurement ended early."""
    stopped: str | None
    """Why it ended early."""
    calibration: (
        Annotated[
            Mapping[str, float | str],
            Keywords(
                required=(
                    "h2d_rate",
                    "d2h_rate",
                    "pageable_h2d_rate",
                    "pageable_d2h_rate",
                    "source",
                )
            ),
        ]
        | None
    ) = None
    """The measured link model; overlap --calibration takes it."""
    memory_bandwidth: May[Annotated[Positive, BYTES_PER_SECOND]] = None
    """Theoretical bandwidth of device memory, bytes/s."""
    peaks: May[Mapping[str, Positive]] = None
    """Peaks by number type and unit, operations/s.

    FLOP/s that kernels reached, by unit and type.
    """
    median_error: May[NotNegative] = None
    """Median error of the prediction."""
    worst_error: May[NotNegative] = None
    """Largest error of the prediction."""
    best: May[tuple[Mapping[str, object], ...]] = None
    """The best combination."""
    rows: Annotated[tuple[MeasureRow, ...], Keywords(minItems=1)]
    """One record per measurement, or rows of the result."""


@record
class MeasureInput(Record):
    """What ``measure`` was asked."""

    subject: Literal["copies", "access", "bandwidth", "overlap", "kernel-rate", "p2p"]
    quick: bool
    word: Literal[4, 8, 16, None] = None
    save: May[bool] = None


DECLARATION = AnswerDeclaration(
    command="measure",
    title="gpuadvise measure",
    input=MeasureInput,
    results=(MeasureResult,),
    rows=(MeasureRow,),
    device="always",
)
