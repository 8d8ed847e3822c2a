"""Where every nanosecond of a span went: work of the GPU, or idle time by its cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.gaps import GapCause

if TYPE_CHECKING:
    from gpuadvise.advisor.timelines.gaps import IdleTime

# Work that comes once, however long the program runs.
ONCE = (GapCause.START_UP, GapCause.MODULE_LOAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The nanoseconds of a span, each counted once; raises ValueError where they are not all of it.

    ``communication_ns``: a kernel that communicates ran, and none that computes; ``copies_ns`` and
    ``memsets_ns``: no kernel ran, and of the latter no copy either.
    """

    span_ns: int
    computing_ns: int
    communication_ns: int
    copies_ns: int
    memsets_ns: int
    idle: tuple[IdleTime, ...]  # the longest total first

    def __post_init__(self) -> None:
        """Hold the parts against the span."""
        if self.busy_ns + self.idle_ns != self.span_ns:
            raise ValueError("the parts of an account are not its span")

    @property
    def busy_ns(self) -> int:
        """The time in which the GPU did anything."""
        return self.computing_ns + self.communication_ns + self.copies_ns + self.memsets_ns

    @property
    def idle_ns(self) -> int:
        """The time in which the GPU did nothing."""
        return sum(idle.total_ns for idle in self.idle)

    def idle_of(self, *causes: GapCause) -> int:
        """Return the idle nanoseconds of these causes."""
        return sum(idle.total_ns for idle in self.idle if idle.cause in causes)

    @property
    def start_up_ns(self) -> int:
        """Idle time of what a program does once."""
        return self.idle_of(*ONCE)

    @property
    def steady_ns(self) -> int:
        """The span without the idle time of what a program does once: what is judged."""
        return self.span_ns - self.start_up_ns
