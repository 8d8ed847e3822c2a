"""What a recording holds of one GPU, gathered event by event in little memory.

Readers add kernels, copies, memsets and calls of the host; ``timeline.py`` makes the timeline of
it. Times are whole nanoseconds on any clock, the same for all.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.intervals import Intervals

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device

# Latest time that 64 bits of nanoseconds hold with room for sums: 146 years.
LATEST = 2**62
# More than this of one recording is not kept: some 40 GB of PyTorch's trace.
MOST_ACTIVITIES = 20_000_000
# Kernels by name and launch shape; a program has hundreds.
MOST_SHAPES = 200_000
LONGEST_NAME = 2_000


class CopyPath(StrEnum):
    """Between what a copy goes."""

    H2D = "h2d"
    D2H = "d2h"
    D2D = "d2d"
    H2H = "h2h"
    P2P = "p2p"
    UNKNOWN = "unknown"


class MemoryKind(StrEnum):
    """What kind of memory a copy reads or writes."""

    PAGEABLE = "pageable"
    PINNED = "pinned"
    DEVICE = "device"
    ARRAY = "array"
    MANAGED = "managed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelShape:
    """A kernel and how it was launched; shared memory in bytes per block, None = not recorded.

    Where a recording holds static and dynamic shared memory as one sum, all of it stands as
    dynamic. ``reported_occupancy`` is the recorder's own figure, 0 to 1.
    """

    name: str
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    cluster: tuple[int, int, int] = (1, 1, 1)
    registers: int | None = None  # per thread
    static_shared: int = 0
    dynamic_shared: int | None = None
    local_memory: int | None = None  # bytes per thread: spills and arrays
    reported_occupancy: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRoute:
    """Copies of one direction between the same kinds of memory."""

    path: CopyPath
    source: MemoryKind
    target: MemoryKind
    asynchronous: bool | None = None  # by the call that began it; None: not recorded


@dataclass(slots=True)
class KernelRuns:
    """Every run of one kernel shape."""

    runs: Intervals = field(default_factory=Intervals)
    streams: set[int] = field(default_factory=set)
    in_graphs: int = 0


@dataclass(slots=True)
class CopyRuns:
    """Every copy of one kind, and its bytes in the same order."""

    runs: Intervals = field(default_factory=Intervals)
    sizes: array[int] = field(default_factory=lambda: array("q"))
    streams: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Activities:
    """What one GPU did, and what the host called meanwhile."""

    kernels: dict[KernelShape, KernelRuns] = field(default_factory=dict)
    copies: dict[CopyRoute, CopyRuns] = field(default_factory=dict)
    memsets: Intervals = field(default_factory=Intervals)
    memset_bytes: int = 0
    graph_runs: Intervals = field(default_factory=Intervals)  # replays recorded as one row

    def groups(self) -> list[Intervals]:
        """Return the intervals of everything the GPU did."""
        kernels = [kernel.runs for kernel in self.kernels.values()]
        copies = [copy.runs for copy in self.copies.values()]
        return [*kernels, *copies, self.memsets, self.graph_runs]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixProduct:
    """A matrix product that a framework called: M x N x K, how often, and of what type."""

    operator: str
    rows: int
    columns: int
    inner: int
    batch: int
    dtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedEvent:
    """An event that could not be read."""

    event: int  # counted from 1 in the file, or the row of a table
    reason: str


class Recorder(StrEnum):
    """Who wrote a recording."""

    PYTORCH = "pytorch"
    NSIGHT_SYSTEMS = "nsight-systems"
    JAX = "jax"


@dataclass(slots=True, kw_only=True)
class Recording:
    """One file: the GPUs it holds by their number, the host's calls, and what was left out."""

    recorder: Recorder
    member: str | None = None  # the file's name, where a folder was named
    version: str | None = None
    rank: int | None = None
    ranks: int | None = None
    gpus: dict[int, Activities] = field(default_factory=dict)
    devices: dict[int, Device] = field(default_factory=dict)
    calls: dict[str, Intervals] = field(default_factory=dict)
    products: dict[MatrixProduct, int] = field(default_factory=dict)
    skipped: list[SkippedEvent] = field(default_factory=list)  # the first of them
    skipped_count: int = 0
    notes: list[str] = field(default_factory=list)

    def gpu(self, number: int) -> Activities:
        """Return the activities of GPU *number*."""
        return self.gpus.setdefault(number, Activities())

    def skip(self, event: int, reason: str) -> None:
        """Count an event that could not be read."""
        self.skipped_count += 1
        if len(self.skipped) < 20:
            self.skipped.append(SkippedEvent(event=event, reason=reason))
