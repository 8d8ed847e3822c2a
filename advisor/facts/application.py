"""What only the author of a program can say about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# What cp.async.bulk moves: PTX ISA, "cp.async.bulk".
BULK_BYTES = 16


class StagePlace(StrEnum):
    """Where a stage of the program runs."""

    HOST = "host"
    DEVICE = "device"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """How much of the run time can be spread, over how many processors.

    *parallel* is the fraction (0-1) of the sequential run time, *target* the wanted speed-up,
    *grows* whether the problem grows with the machine.
    """

    parallel: float
    processors: int
    target: float | None = None
    grows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Offload:
    """What moving a piece of work to the GPU costs and saves, in seconds and counts.

    *transfer_seconds* covers both directions. *operations* and *elements* count the
    arithmetic and the elements transferred, *bytes* what is copied.
    """

    host_seconds: float
    kernel_seconds: float
    transfer_seconds: float
    operations: int | None = None
    elements: int | None = None
    bytes: int | None = None

    @property
    def device_seconds(self) -> float:
        """What the GPU takes with its copies, one after the other."""
        return self.kernel_seconds + self.transfer_seconds

    @property
    def factor(self) -> float | None:
        """How many times as long the host takes; above 1 the GPU pays. None for no time at all."""
        return self.host_seconds / self.device_seconds if self.device_seconds else None

    @property
    def break_even_bytes(self) -> int | None:
        """How much can be copied before host and GPU take the same time; None: not known, or nothing."""
        saved = self.host_seconds - self.kernel_seconds
        if self.bytes is None or not self.transfer_seconds or saved <= 0:
            return None
        return int(self.bytes * saved / self.transfer_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of a pipeline; *input_bytes* are what it reads from the step before."""

    name: str
    place: StagePlace
    input_bytes: int
    output_bytes: int
    host_needed: bool = False  # must run on the host: file, network, user
    seconds: float | None = None
    device_seconds: float | None = None  # what it would take on the device


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocations:
    """Calls of cudaMalloc and cudaFree per iteration of the main loop."""

    per_iteration: int
    iterations: int
    stream_ordered: bool = False  # cudaMallocAsync and a pool
    pool_keeps_memory: bool | None = None  # release threshold raised


@dataclass(frozen=True, slots=True, kw_only=True)
class Managed:
    """Unified memory that a kernel touches; *taken_back* of it the host fetches back page by page.

    Its faults take *taken_back_seconds* at most, None where they were not counted.
    """

    bytes: int
    prefetched: bool
    advised: bool = False
    taken_back: int = 0
    taken_back_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """Page-locked host memory, and all the host memory there is."""

    bytes: int
    host_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """Host memory that a kernel reads in place, *reads* times per byte."""

    bytes: int
    reads: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """Global bytes that one block reads more than once.

    *factor* is how often each byte is read, *tile_bytes* the shared memory a block needs to
    keep them, *total_bytes* what all blocks together read now.
    """

    factor: float
    tile_bytes: int
    total_bytes: int | None = None
    staged: bool = False  # already kept in shared memory


@dataclass(frozen=True, slots=True, kw_only=True)
class HotRegion:
    """A region of global memory that is read again and again across blocks or launches."""

    bytes: int
    passes: float
    pinned: bool = False  # an access-policy window is set
    streamed_bytes: int | None = None  # other traffic that pushes it out


class TilePath(StrEnum):
    """What carries a tile from global to shared memory."""

    REGISTERS = "registers"  # load, then store
    ASYNC = "async"  # cp.async, cuda::memcpy_async
    BULK = "bulk"  # the tensor memory accelerator


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A tile of global memory that a block copies to shared memory."""

    bytes: int
    element_bytes: int
    through: TilePath
    row_stride_bytes: int | None = None

    @property
    def bulk(self) -> bool:
        """Whether size and row stride (if any) suit bulk copies: multiples of 16 bytes."""
        return not (self.bytes % BULK_BYTES or (self.row_stride_bytes or 0) % BULK_BYTES)
