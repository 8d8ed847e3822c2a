"""The answer of ``gpuadvise scaling``: its fields, and what each of them says."""

from __future__ import annotations

from gpuadvise.api.answers.fields import AnswerDeclaration, Count, Positive, Record, Share, record


@record
class ScalingResult(Record):
    """What ``scaling`` answers."""

    amdahl: Positive
    """Speed-up on that many processors, work fixed."""
    amdahl_limit: float | None
    """Speed-up on any number of processors, work fixed."""
    gustafson: Positive
    """Speed-up when the work grows with the processors."""
    target_reached: bool | None
    """Whether the target can be reached."""
    needed_parallel: float | None
    """Parallel share that reaches the target."""
    needed_processors: Count | None
    """Processors that reach the target."""


@record
class ScalingRow(Record):
    """What a number of processors wins, in a line of CSV and NDJSON."""

    processors: Count
    """Processors."""
    amdahl: Positive
    """Speed-up on that many processors, work fixed."""
    gustafson: Positive
    """Speed-up when the work grows with the processors."""


@record
class ScalingInput(Record):
    """What ``scaling`` was asked."""

    parallel: Share
    processors: Count
    target: float | None


DECLARATION = AnswerDeclaration(
    command="scaling",
    title="JSON answer of gpuadvise scaling",
    description="Speed-ups. amdahl_limit is null when there is no limit; what is needed is null without a target, or where nothing reaches it.",
    input=ScalingInput,
    results=(ScalingResult,),
    rows=(ScalingRow,),
)
