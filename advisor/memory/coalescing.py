"""How much of what a warp's global access moves is used, and what would move less."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import repeat
from operator import sub
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.transactions import (
    LINE,
    SECTOR,
    CachePath,
    cache_path,
    transactions,
)
from gpuadvise.advisor.memory.word_size import instruction_width, lane_addresses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.memory.pattern import Pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessCost:
    """What one warp's access to one element per lane costs.

    ``sectors`` and ``lines`` are summed over the instructions that the element needs;
    ``distinct_sectors`` counts each once, as if a cache kept them between the instructions.
    ``bytes_used`` counts every byte that some lane asked for once: a broadcast uses one word.
    ``efficiency`` is bytes used / bytes moved, ``cached_efficiency`` the same with each
    sector moved once. ``aligned`` is false when an address is no multiple of the alignment,
    which the hardware rejects or the compiler must split.
    """

    path: CachePath
    instructions: int
    width: int
    sectors: int
    distinct_sectors: int
    lines: int
    ideal_sectors: int
    bytes_moved: int
    bytes_used: int
    aligned: bool
    touched: tuple[int, ...]  # sector numbers that are moved, ascending

    @property
    def efficiency(self) -> float:
        """Bytes used / bytes moved, 0 to 1."""
        return self.bytes_used / self.bytes_moved

    @property
    def cached_efficiency(self) -> float:
        """Bytes used / bytes moved when a cache keeps sectors between the instructions."""
        return self.bytes_used / (self.distinct_sectors * SECTOR)


def coalesce(pattern: Pattern, capability: Capability, path: CachePath | None = None) -> AccessCost:
    """Return what *pattern* costs on *capability*; raises BadInput for a path it lacks.

    *path* overrides the caches that a load goes through by default.
    """
    path = cache_path(capability, path)
    width = instruction_width(pattern.element_bytes, pattern.starts, pattern.alignment)
    calls = lane_addresses(pattern.starts, pattern.element_bytes, width)
    moved = [
        t for call in calls for t in transactions(call, pattern.lanes, width, capability, path)
    ]
    sectors = [range(start // SECTOR, (start + size) // SECTOR) for start, size in moved]
    touched = sorted(set().union(*sectors))
    used = used_bytes(pattern)
    total = sum(size for _, size in moved)
    return AccessCost(
        path=path,
        instructions=len(calls),
        width=width,
        sectors=total // SECTOR,
        distinct_sectors=len(touched),
        lines=sum(len({(a // LINE) for a in call}) for call in calls),
        ideal_sectors=-(-used // SECTOR),
        bytes_moved=total,
        bytes_used=used,
        aligned=math.gcd(*pattern.starts) % pattern.alignment == 0,
        touched=tuple(touched),
    )


def used_bytes(pattern: Pattern) -> int:
    """Return the bytes that at least one lane asks for, each counted once."""
    size, starts = pattern.element_bytes, sorted(pattern.starts)
    gaps: Iterator[int] = map(sub, starts[1:], starts)
    disjoint: int = sum(map(min, gaps, repeat(size)))
    return size + disjoint
