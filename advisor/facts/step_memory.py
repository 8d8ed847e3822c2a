"""Memory of the GPU that a program holds at the end of each step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from gpuadvise.advisor.thresholds import number

if TYPE_CHECKING:
    from collections.abc import Sequence

_FEWEST_GROWTHS = number(
    2, "steps behind the first that leave memory behind, at least", "steps", "our judgement"
)
_NEARLY_EVERY = number(
    0.8, "steps that leave a like amount of memory behind", "share of the steps", "our judgement"
)
_LIKE = number(
    2.0, "amounts of memory that are alike, at most apart", "factor", "our judgement: batches vary"
)
# Batches that differ in size can end on more memory twice in a row by chance.
_SEVERAL = number(
    4, "steps that may leave amounts behind that are only alike, at least", "steps", "our judgement"
)
_LIKE_OF_FEW = number(
    1.05, "the same of fewer steps", "factor", "our judgement: a kept tensor has one size"
)
_WORTH_SAYING = number(
    1e-3,
    "memory that a step leaves behind, at least",
    "share of what is allocated",
    "our judgement",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMemory:
    """What PyTorch had handed out behind *steps* steps, and what nearly each of them left behind.

    *growth_bytes* is 0 where steps leave nothing, or amounts that are not alike.
    """

    steps: int
    growth_bytes: int  # the median of a step
    allocated_bytes: int  # at the end of the last step


def growth_of(ends: Sequence[int]) -> int:
    """Return the bytes by which nearly every step grows, of what is allocated at its end; 0 for none."""
    growths = [after - before for before, after in pairwise(ends)]
    if len(growths) < _FEWEST_GROWTHS:
        return 0
    middle = sorted(growths)[(len(growths) - 1) // 2]
    if middle <= 0 or middle < _WORTH_SAYING * ends[-1]:
        return 0
    apart = _LIKE if len(growths) >= _SEVERAL else _LIKE_OF_FEW
    alike = sum(middle / apart <= growth <= middle * apart for growth in growths)
    # What one step gives back, as at the end of a round, is no loss of it.
    kept = ends[-1] - ends[0] >= _NEARLY_EVERY * middle * len(growths)
    return middle if alike >= _NEARLY_EVERY * len(growths) and kept else 0
