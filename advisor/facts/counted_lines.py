"""Lines of a source, and what a report counts there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LineCount(StrEnum):
    """What the source counters of a report are shares of."""

    WAITS = "waits"
    SECTORS = "sectors"  # of global accesses, beyond those that are needed
    PASSES = "passes"  # of shared memory, likewise
    LOCAL = "local"  # sectors of local memory
    DOUBLES = "doubles"  # executed instructions in double precision
    DIVISIONS = "divisions"  # executed divisions of integers


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedLine:
    """A line of the source and its share of a kernel's count."""

    file: str
    line: int
    share: float
