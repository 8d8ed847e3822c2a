"""Which findings make a run fail: what ``--fail-on`` names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.rules.model import Category, Priority


@dataclass(frozen=True, slots=True)
class FailOn:
    """Which findings make a run fail: *least* is the least urgent priority that does, by category (None: any).

    Advice on how to work fails where its category is named, and only there.
    """

    words: str
    least: tuple[tuple[Category | None, Priority], ...]

    def meets(self, category: Category, priority: Priority) -> bool:
        """Return whether a finding, or a rule, of *category* and *priority* makes a run fail."""
        return any(
            priority.rank <= least.rank and (named is category if named else category != "process")
            for named, least in self.least
        )

    def __str__(self) -> str:
        """Return the words as they were given."""
        return self.words
