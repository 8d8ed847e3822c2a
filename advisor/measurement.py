"""Repeated measurements as one value: median, spread and count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Seconds of *n* repetitions: their median, least and most."""

    median: float
    low: float
    high: float
    n: int

    @property
    def spread(self) -> float:
        """(most - least) / median: how far the repetitions disagree."""
        return (self.high - self.low) / self.median if self.median else 0.0

    def less(self, seconds: float) -> Sample:
        """Return the sample with *seconds* taken off each repetition."""
        return replace(
            self, median=self.median - seconds, low=self.low - seconds, high=self.high - seconds
        )

    def each(self, count: int) -> Sample:
        """Return the sample of one of *count* equal parts of each repetition."""
        return replace(
            self, median=self.median / count, low=self.low / count, high=self.high / count
        )


def sample(seconds: Sequence[float]) -> Sample:
    """Return *seconds* (one or more) as one sample."""
    return Sample(median=median(seconds), low=min(seconds), high=max(seconds), n=len(seconds))
