"""How resources and occupancy are said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.answer import Resource
from gpuadvise.cli.blocks import Tone

if TYPE_CHECKING:
    from gpuadvise.advisor.occupancy.answer import Occupancy

NOUNS = {
    Resource.WARPS: "warps",
    Resource.BLOCKS: "blocks",
    Resource.REGISTERS: "registers",
    Resource.SHARED_MEMORY: "shared memory",
    Resource.BARRIERS: "barriers",
}
# From here on more occupancy seldom helps: best practices guide, "Thread and Block Heuristics".
ENOUGH = 0.5


def tone(found: Occupancy) -> Tone:
    """Return how good an occupancy is."""
    if found.fault:
        return Tone.BAD
    return Tone.GOOD if found.occupancy >= ENOUGH else Tone.POOR


def exact_bytes(size: int) -> str:
    """Return *size* without rounding: ``17 KiB``, or ``17,536 B``."""
    return f"{size // 1024:,} KiB" if size and size % 1024 == 0 else f"{size:,} B"
