"""One kernel launch as the occupancy model sees it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import StrEnum
from operator import attrgetter
from typing import Any

from gpuadvise.advisor.errors import BadInput

# Largest block, grid or shared-memory figure that can still be an honest question.
_LARGEST = 2**31 - 1
# Registers of a whole multiprocessor; more for one thread is a slip of the keyboard.
_MOST_REGISTERS = 65_536


class CachePreference(StrEnum):
    """What ``cudaFuncSetCacheConfig`` was told; from cc 7.0 on it is read as a carveout."""

    NONE = "none"
    SHARED = "shared"
    L1 = "l1"
    EQUAL = "equal"


class GlobalCaching(StrEnum):
    """Partitioned caching of global loads in L1 (cc 5.2, 5.3, 6.1, 6.2); elsewhere without effect."""

    OFF = "off"
    ON = "on"  # given up when a block does not fit half a multiprocessor
    STRICT = "strict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What a kernel takes and how it is launched; sizes in bytes per block.

    ``None`` means not given: an unknown register count sets no limit. Raises BadInput for
    values that no launch can have; values beyond a device's limits are questions, not errors.
    """

    threads: int  # per block
    registers: int | None = None  # per thread
    static_shared: int = 0
    dynamic_shared: int = 0
    dynamic_per_thread: int = 0  # bytes of dynamic_shared that come with each thread of the block
    max_dynamic_shared: int | None = None  # attribute MaxDynamicSharedMemorySize, when it was set
    optin: bool = True  # answer as if that attribute were set where the launch needs it
    carveout: int | None = None  # preferred shared-memory carveout, per cent
    cache: CachePreference = CachePreference.NONE
    barriers: int = 1  # named barriers
    caching: GlobalCaching = GlobalCaching.OFF
    block_dim: tuple[int, int, int] | None = None
    grid_dim: tuple[int, int, int] | None = None  # in blocks
    cluster_dim: tuple[int, int, int] = (1, 1, 1)  # in blocks
    nonportable_cluster: bool = False  # attribute NonPortableClusterSizeAllowed
    max_threads: int | None = None  # T of __launch_bounds__(T, B)
    assumed_threads: bool = False  # nobody said how many: a usual block stands for the launch's

    def __post_init__(self) -> None:
        """Refuse what no launch can have."""
        if self.optin is False and self.max_dynamic_shared is not None:
            raise BadInput(
                "A maximum of dynamic shared memory is itself an opt-in; give one of them."
            )
        _within("Threads per block", self.threads, 1, _LARGEST)
        _within("Static shared memory", self.static_shared, 0, _LARGEST)
        _within("Dynamic shared memory", self.dynamic_shared, 0, _LARGEST)
        _within("Dynamic shared memory per thread", self.dynamic_per_thread, 0, _LARGEST)
        _within("Named barriers", self.barriers, 0, _LARGEST)
        if self.registers is not None:
            _within("Registers per thread", self.registers, 1, _MOST_REGISTERS)
        if self.max_dynamic_shared is not None:
            _within("The maximum of dynamic shared memory", self.max_dynamic_shared, 0, _LARGEST)
        if self.carveout is not None:
            _within("The carveout", self.carveout, 0, 100, " per cent")
        if self.max_threads is not None:
            _within("Threads of the launch bounds", self.max_threads, 1, _LARGEST)
        if self.block_dim or self.grid_dim or self.cluster_dim != (1, 1, 1):
            self._check_dimensions()

    def _check_dimensions(self) -> None:
        for name, dimensions in (
            ("block", self.block_dim),
            ("grid", self.grid_dim),
            ("cluster", self.cluster_dim),
        ):
            if dimensions and not 1 <= min(dimensions) <= max(dimensions) <= _LARGEST:
                for axis, size in zip("xyz", dimensions, strict=False):
                    _within(f"The {name}'s {axis} dimension", size, 1, _LARGEST)
        if self.block_dim and math.prod(self.block_dim) != self.threads:
            shape = "x".join(map(str, self.block_dim))
            raise BadInput(f"A block of {shape} does not have {self.threads} threads.")

    def __hash__(self) -> int:
        """Return the hash of what mostly differs: caches ask for it kernel after kernel."""
        return hash((self.threads, self.registers, self.static_shared, self.dynamic_shared))

    def but(self, **changed: Any) -> Launch:
        """Return this launch with fields *changed*, as `replace` does in twice the time."""
        return Launch(**(dict(zip(_FIELDS, _VALUES(self), strict=True)) | changed))

    def with_threads(self, threads: int, block_dim: tuple[int, int, int] | None = None) -> Launch:
        """Return this launch with blocks of *threads*, whose dynamic memory follows their size."""
        grown = self.dynamic_shared + self.dynamic_per_thread * (threads - self.threads)
        return self.but(threads=threads, block_dim=block_dim, dynamic_shared=max(0, grown))

    @property
    def shared_memory(self) -> int:
        """Shared memory the program asks for, static and dynamic, in bytes."""
        return self.static_shared + self.dynamic_shared

    @property
    def cluster_size(self) -> int:
        """Blocks per cluster; 1 without clusters."""
        return math.prod(self.cluster_dim)


def _within(what: str, value: int, least: int, most: int, unit: str = "") -> None:
    if not least <= value <= most:
        raise BadInput(f"{what} must be from {least} to {most}{unit}, not {value}.")


_FIELDS = tuple(item.name for item in fields(Launch))
_VALUES = attrgetter(*_FIELDS)
