"""Why a launch cannot start, and what the runtime says to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """The limit that a launch breaks, in the order in which a build and a launch meet them."""

    REGISTERS_PER_THREAD = "registers_per_thread"
    STATIC_SHARED_MEMORY = "static_shared_memory"
    BARRIERS = "barriers"
    THREADS = "threads"
    BLOCK_DIMENSION = "block_dimension"
    GRID_DIMENSION = "grid_dimension"
    LAUNCH_BOUNDS = "launch_bounds"
    CLUSTER = "cluster"
    CLUSTER_GRID = "cluster_grid"
    MAX_DYNAMIC_SHARED_MEMORY = "max_dynamic_shared_memory"
    DYNAMIC_SHARED_MEMORY = "dynamic_shared_memory"
    REGISTERS_PER_BLOCK = "registers_per_block"
    GLOBAL_CACHING = "global_caching"


class RuntimeFailure(StrEnum):
    """What the runtime returns for the launch; ``BUILD`` when nothing was built.

    Read off an H200 with the runtimes of CUDA 12.9, 13.0 and 13.5 (docs/occupancy.md).
    """

    INVALID_VALUE = "cudaErrorInvalidValue"
    INVALID_CONFIGURATION = "cudaErrorInvalidConfiguration"
    OUT_OF_RESOURCES = "cudaErrorLaunchOutOfResources"
    INVALID_CLUSTER_SIZE = "cudaErrorInvalidClusterSize"
    BUILD = "refused by the compiler"

    @property
    def code(self) -> int | None:
        """The runtime's number for it."""
        return _CODES.get(self)


_CODES = {
    RuntimeFailure.INVALID_VALUE: 1,
    RuntimeFailure.INVALID_CONFIGURATION: 9,
    RuntimeFailure.OUT_OF_RESOURCES: 701,
    RuntimeFailure.INVALID_CLUSTER_SIZE: 912,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFault:
    """One broken limit: what was asked, what is allowed, and what the runtime says.

    *subject* names what is too large, *limit* what there can be of it; where *subject* says both,
    *limit* is empty.
    """

    cause: Cause
    subject: str
    limit: str = ""
    failure: RuntimeFailure
    formerly: RuntimeFailure | None = None  # the answer of runtimes before CUDA 13, if another
    requested: int
    allowed: int

    @property
    def message(self) -> str:
        """Return both in a sentence."""
        return f"{self.subject}: {self.limit}." if self.limit else f"{self.subject}."

    @property
    def refusal(self) -> str:
        """Who refuses the launch, as a sentence."""
        if self.failure is RuntimeFailure.BUILD:
            return "The compiler refuses it."
        return f"The runtime answers with {self.failure}."
