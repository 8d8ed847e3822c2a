"""How the ranks of a distributed program waited for each other, as far as rules ask for it."""

from __future__ import annotations

from dataclasses import dataclass

from gpuadvise.advisor.prose import and_list

_MOST_NAMED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWaits:
    """Seconds of the mean rank; *late* are the ranks that the others wait for, the worst first.

    *waited_seconds* is what no kernel hid of the time from a rank's arrival at a collective to that
    of the last one; *exposed_seconds* is all communication that no kernel hid, those waits included,
    and *computing_seconds* the time in which kernels computed, None = not known.
    """

    count: int
    span_seconds: float
    waited_seconds: float
    late: tuple[int, ...] = ()
    collectives: int = 0
    exposed_seconds: float | None = None
    computing_seconds: float | None = None

    @property
    def sending_seconds(self) -> float | None:
        """Exposed communication beside the waits, which even ranks would still have; None: not known."""
        if self.exposed_seconds is None:
            return None
        return max(0.0, self.exposed_seconds - self.waited_seconds)

    @property
    def share(self) -> float:
        """The wait as a share of the span, 0 to 1."""
        return self.share_of_span(self.waited_seconds)

    def share_of_span(self, seconds: float) -> float:
        """Return the share (0 to 1) of the span that *seconds* are."""
        return min(1.0, seconds / self.span_seconds) if self.span_seconds > 0 else 0.0

    @property
    def late_words(self) -> str:
        """The late ranks by their numbers: ``rank 7``, ``ranks 2, 5 and 7``."""
        names = [str(rank) for rank in self.late[:_MOST_NAMED]]
        if more := len(self.late) - len(names):
            names.append(f"{more} more")
        return f"rank{'s' if len(self.late) > 1 else ''} {and_list(names)}"
