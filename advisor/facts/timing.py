"""Times and bytes that the user measured."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.peaks import arithmetic

if TYPE_CHECKING:
    from gpuadvise.advisor.memory.number_types import NumberType
    from gpuadvise.advisor.transfers.copies import Direction


class HostMemory(StrEnum):
    """What the host end of a transfer is."""

    PAGEABLE = "pageable"
    PINNED = "pinned"
    MAPPED = "mapped"
    MANAGED = "managed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Bytes a kernel reads and writes in device memory, and its time.

    *reported_rate* is the bytes/s that somebody else computed from the same run.
    """

    read_bytes: int
    written_bytes: int
    seconds: float
    reported_rate: float | None = None

    @property
    def rate(self) -> float:
        """Effective bandwidth in bytes/s: best practices guide, "Effective Bandwidth"."""
        return (self.read_bytes + self.written_bytes) / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Operations and bytes of one kernel; *dtype* names the arithmetic.

    *tensor* says whether tensor cores do it, where *dtype* (``bf16_tensor``) does not.
    """

    flops: float
    bytes: float
    dtype: str
    seconds: float | None = None
    tensor: bool | None = None

    @property
    def arithmetic(self) -> tuple[NumberType, bool | None]:
        """The number type, and whether tensor cores do it; None leaves that to the peaks."""
        number_type, tensor = arithmetic(self.dtype)
        return number_type, tensor if self.tensor is None else self.tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One kind of host-device copy; *seconds* is the time of one of its *count* copies."""

    direction: Direction
    bytes: int
    memory: HostMemory | None = None
    seconds: float | None = None
    count: int = 1
    blocking: bool | None = None  # cudaMemcpy, or a copy in the default stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Seconds of one pass, each part on its own, and how it is staged now."""

    kernel_seconds: float
    to_device_seconds: float = 0.0
    to_host_seconds: float = 0.0
    to_device_bytes: int = 0  # instead of the time, which follows from the device's link
    to_host_bytes: int = 0
    streams: int = 1
    per_operation_seconds: float = 0.0
    divisible: bool = True  # the data can be cut into independent chunks
    host_seconds: float | None = None  # that the host needs for the same work

    @property
    def untimed(self) -> bool:
        """Whether a copy is known by its bytes alone."""
        return bool(
            (self.to_device_bytes and not self.to_device_seconds)
            or (self.to_host_bytes and not self.to_host_seconds)
        )
