"""What a pitch does to the warps of all rows, not only to the one that was asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.remedies import average_sectors, padded_pitch
from gpuadvise.advisor.memory.transactions import LINE, SECTOR, CachePath, cache_path
from gpuadvise.advisor.memory.words import WARP_SIZE
from gpuadvise.cli.args import whole
from gpuadvise.cli.memory.warp import distance, element_bytes

if TYPE_CHECKING:
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.memory.pattern import Pattern
    from gpuadvise.cli.memory.warp import Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows *pitch* bytes apart: average sectors of a warp, and the next pitch that aligns them.

    *unit* is what the memory moves at least: a sector, or a line where whole lines are moved.
    """

    pitch: int
    sectors: float
    padded_pitch: int
    unit: int


def rows_of(
    words: Words, pattern: Pattern, capability: Capability, path: CachePath | None
) -> Rows | None:
    """Return what ``--pitch`` does to all rows; None without one, or where warps begin mid-row."""
    if words.pitch is None:
        return None
    width = whole("--row-threads", words.row_threads or str(WARP_SIZE), low=1, high=WARP_SIZE)
    pitch = distance("--pitch", words.pitch, element_bytes(words))
    if not pitch or WARP_SIZE % width:
        return None
    unit = SECTOR if cache_path(capability, path) is CachePath.SECTORS else LINE
    step = WARP_SIZE // width * pitch
    return Rows(
        pitch=pitch,
        sectors=average_sectors(pattern, step, capability, path),
        padded_pitch=padded_pitch(pitch, multiple=unit),
        unit=unit,
    )
