"""The picture of a warp's access: which bytes of which lines are used, moved, untouched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.transactions import LINE, SECTOR
from gpuadvise.cli.memory.warp import shown_lanes

if TYPE_CHECKING:
    from gpuadvise.advisor.memory.coalescing import Access
    from gpuadvise.advisor.memory.pattern import Pattern

# One mark stands for 4 bytes: used, moved but unused, not moved.
USED, MOVED, ASIDE = "#", "-", "."
_MARK = 4
_MOST_LINES = 32


def picture(pattern: Pattern, access: Access) -> str:
    """Return the lines of memory that *access* touches, one row per 128 bytes."""
    used = {
        byte // _MARK
        for start in pattern.starts
        for byte in range(start, start + pattern.element_bytes)
    }
    moved = set(access.touched)
    lines = sorted({sector * SECTOR // LINE for sector in moved})
    width = len(str(lines[min(len(lines), _MOST_LINES) - 1] * LINE))
    drawn = [f"{'byte':>{width}}  sector 0 sector 1 sector 2 sector 3  lanes"]
    for line in lines[:_MOST_LINES]:
        sectors = (_sector(line * 4 + n, used, moved) for n in range(4))
        drawn.append(f"{line * LINE:>{width}}  {' '.join(sectors)}  {_lanes(pattern, line)}")
    if len(lines) > _MOST_LINES:
        drawn.append(f"and {len(lines) - _MOST_LINES} lines more")
    drawn.append(f"{USED} used  {MOVED} moved but unused  {ASIDE} not moved; one mark is 4 bytes")
    return "\n".join(drawn)


def _sector(number: int, used: set[int], moved: set[int]) -> str:
    if number not in moved:
        return ASIDE * (SECTOR // _MARK)
    marks = range(number * SECTOR // _MARK, (number + 1) * SECTOR // _MARK)
    return "".join(USED if mark in used else MOVED for mark in marks)


def _lanes(pattern: Pattern, line: int) -> str:
    """Return the lanes that take a byte of *line*."""
    first, last = line * LINE, (line + 1) * LINE
    return shown_lanes(
        lane
        for start, lane in zip(pattern.starts, pattern.lanes, strict=True)
        if start < last and start + pattern.element_bytes > first
    )
