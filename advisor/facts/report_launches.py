"""What other launches of the same report say of one: who wrote what it reads, and the same kernel otherwise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """*read_bytes* that this launch reads and the one before it, *kernel*, wrote, with the traffic and times of both.

    A profiler tells no addresses. The same two launches after each other *times* in a report are steps of a loop.
    """

    kernel: str
    read_bytes: float
    written_bytes: float  # by this launch
    seconds: float  # of this launch
    before_read_bytes: float
    before_seconds: float
    other_bytes: float = 0.0  # that this launch reads beside
    times: int = 1

    @property
    def saved_bytes(self) -> float:
        """What one kernel for both need neither write nor read."""
        return 2 * self.read_bytes

    @property
    def bytes(self) -> float:
        """What both launches move."""
        return self.before_read_bytes + self.saved_bytes + self.other_bytes + self.written_bytes

    @property
    def bound(self) -> float:
        """How many times as fast as both one kernel may be: by the time of the launch before, or by what is left to move."""
        seconds = self.seconds + self.before_seconds
        left = self.bytes - self.saved_bytes
        return max(seconds / self.before_seconds, self.bytes / left if left else 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassChain:
    """Launches in a row, *kernels*, that each pass once over arrays of *array_bytes*, with their traffic and times together.

    *one_shape* are those with as many threads for as many elements; a page without counts tells no sizes of arrays.
    """

    kernels: tuple[str, ...]
    bytes: float  # that all of them load and store
    most_bytes: float  # that one of them does
    seconds: float  # of all of them
    longest_seconds: float  # of one of them
    array_bytes: float | None = None
    one_shape: bool = False
    least_seconds: float | None = None  # for `most_bytes`, at the rate of device memory
    ends_bytes: float | None = None  # that the first loads and the last stores

    @property
    def bound(self) -> float:
        """How many times as fast as all of them one kernel may be that loads what the first does and stores what the last does."""
        left = self.ends_bytes or self.most_bytes
        if not left:
            return max(self.seconds / (self.least_seconds or self.longest_seconds), 1.0)
        seconds = (self.least_seconds or self.longest_seconds) * left / (self.most_bytes or left)
        return max(self.seconds / seconds, self.bytes / left)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherLaunch:
    """A launch of the same kernel that does the same work otherwise: its shape and its time."""

    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    seconds: float
    registers: int | None = None
    name: str | None = None  # where its template or version differs

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]
