"""The answer of ``gpuadvise access``: its fields, and what each of them says."""

from __future__ import annotations

from typing import Literal

from gpuadvise.api.answers.fields import AnswerDeclaration, Count, Record, Share, record


@record
class AccessRemedy(Record):
    """Remedy, in the answer of ``access``."""

    name: str
    """Its name."""
    how: str
    """What to do, or how it was computed."""
    instructions: Count
    """Memory instructions of a warp, or instructions of a kernel."""
    bytes_moved: Count
    """Bytes that the access moves."""
    efficiency: Share
    """Useful bytes / moved bytes."""


@record
class AccessSwept(Record):
    """Swept, in the answer of ``access``."""

    sectors: Count
    """32-byte sectors that are moved."""
    efficiency: Share
    """Useful bytes / moved bytes."""


@record
class AccessResult(Record):
    """What ``access`` answers."""

    sectors: Count
    """32-byte sectors that are moved."""
    distinct_sectors: Count
    """Different 32-byte sectors that the warp touches."""
    lines: Count
    """128-byte cache lines that the warp touches."""
    ideal_sectors: Count
    """Sectors of the same bytes side by side."""
    bytes_moved: Count
    """Bytes that the access moves."""
    bytes_used: Count
    """Bytes of those moved that a lane asked for."""
    efficiency: Share
    """Useful bytes / moved bytes."""
    cached_efficiency: Share
    """Efficiency when what is left over is used from the cache."""
    instructions: Count
    """Load or store instructions per warp."""
    width: Literal[1, 2, 4, 8, 16]
    """Bytes of one lane's instruction."""
    aligned: bool
    """Whether each lane's words are aligned to their size."""
    path: Literal["half-warp", "l1", "l2"]
    """How loads are cached: l1 or l2."""
    warps: Count
    """One record per warp."""
    row_sectors: float | None
    """Sectors of each row."""
    padded_pitch: Count | None
    """Elements per row after which every row is aligned."""
    remedies: tuple[AccessRemedy, ...]
    """Other ways to move the same data."""
    sweep: tuple[AccessSwept, ...] | None
    """One row per value."""


@record
class AccessInput(Record):
    """What ``access`` was asked."""

    word: Count
    alignment: Count
    starts: tuple[Count, ...]
    lanes: tuple[Count, ...]
    pitch: str | None


DECLARATION = AnswerDeclaration(
    command="access",
    title="JSON answer of gpuadvise access",
    description="Counts are summed over the warps. A sector has 32 bytes, a line 128. efficiency is bytes used / bytes moved; cached_efficiency counts each sector once, as if a cache kept them between instructions.",
    input=AccessInput,
    results=(AccessResult,),
)
