"""Functions of a build log that wait for lines which carry no name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from gpuadvise.advisor.binaries.log_line import Frame, Use

if TYPE_CHECKING:
    from gpuadvise.advisor.capability import Capability

Value = TypeVar("Value", Frame, Use)


@dataclass(slots=True, kw_only=True, eq=False)
class Draft:
    """A function whose lines are still coming."""

    name: str
    capability: Capability | None
    line: int
    entry: bool = True
    frame: Frame | None = None


@dataclass(slots=True)
class Pending(Generic[Value]):
    """Functions that wait for a line without a name, and such lines not given out yet."""

    drafts: list[Draft] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def settle(self, value: Value) -> list[tuple[Draft, Value | None]]:
        """Return who got what, once each that waits has a line; None: they cannot be matched."""
        if not self.drafts:
            return []
        self.values.append(value)
        if len(self.values) < len(self.drafts):
            return []
        agreed = value if all(other == value for other in self.values) else None
        settled = [(draft, agreed) for draft in self.drafts]
        self.clear()
        return settled

    def clear(self) -> None:
        """Forget all that waits."""
        self.drafts.clear()
        self.values.clear()
