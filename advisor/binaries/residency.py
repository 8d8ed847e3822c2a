"""The occupancy of kernels found in files, which do not say how they are launched."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Source
from gpuadvise.advisor.catalogue.capabilities import limits_of
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.suggest import sizes

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Kernel
    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy

NO_BLOCK = "no block of any size can start"


class BlockFrom(StrEnum):
    """Where the block size of an answer comes from, the first that is known."""

    GIVEN = "given"
    LAUNCHED = "launch"  # that was profiled
    REQUIRED = "required block"
    LAUNCH_BOUNDS = "launch bounds"
    BEST = "best"  # nothing states it: the block that keeps most threads resident


@dataclass(frozen=True, slots=True, kw_only=True)
class Residency:
    """One kernel's occupancy, or the *reason* why it has none."""

    block_threads: int | None = None
    block_from: BlockFrom | None = None
    occupancy: Occupancy | None = None
    reason: str | None = None


@dataclass(slots=True, kw_only=True)
class Residencies:
    """Occupancies on one GPU's *limits*, or of each kernel on the target it was built for.

    Kernels of one library are alike, so answers are kept. *block* in threads and
    *dynamic_smem* in bytes are the user's, for all kernels.
    """

    limits: Limits | None = None
    block: int | None = None
    dynamic_smem: int = 0
    _known: dict[tuple[object, ...], Residency] = field(default_factory=dict)

    def of(self, kernel: Kernel) -> Residency:
        """Return the occupancy of *kernel*."""
        threads, block_from = self._block(kernel)
        key = (
            kernel.entry,
            kernel.source is Source.PTX,
            kernel.capability,
            kernel.registers,
            kernel.static_smem,
            kernel.barriers,
            threads,
            block_from,
            kernel.max_threads,
            kernel.launched_dynamic_smem,
        )
        if key not in self._known:
            self._known[key] = self._answer(kernel, threads, block_from)
        return self._known[key]

    def _block(self, kernel: Kernel) -> tuple[int | None, BlockFrom]:
        if self.block is not None:
            return self.block, BlockFrom.GIVEN
        if kernel.launched_block is not None:
            return math.prod(kernel.launched_block), BlockFrom.LAUNCHED
        if kernel.required_block is not None:
            return kernel.max_threads, BlockFrom.REQUIRED
        if kernel.max_threads is not None:
            return kernel.max_threads, BlockFrom.LAUNCH_BOUNDS
        return None, BlockFrom.BEST

    def _answer(self, kernel: Kernel, threads: int | None, block_from: BlockFrom) -> Residency:
        reason = _unanswerable(kernel)
        if reason:
            return Residency(reason=reason)
        try:
            limits = self.limits or _own_limits(kernel)
            launch = Launch(
                threads=1 if threads is None else threads,
                registers=kernel.registers,
                static_shared=kernel.static_smem or 0,
                dynamic_shared=self.dynamic_smem or kernel.launched_dynamic_smem or 0,
                barriers=1 if kernel.barriers is None else kernel.barriers,
                max_threads=kernel.max_threads,
            )
            return _resident(limits, launch, block_from)
        except BadInput as error:  # numbers that no kernel can have: the file is damaged
            return Residency(reason=error.message)


def _unanswerable(kernel: Kernel) -> str | None:
    if not kernel.entry:
        return "a device function runs as part of the kernels that call it"
    if kernel.source is Source.PTX:
        return "the registers are not decided before the driver compiles the PTX"
    return None if kernel.registers else "its registers are not known"


def _own_limits(kernel: Kernel) -> Limits:
    if kernel.capability is None:
        raise BadInput("its target is not known")
    return limits_of(kernel.capability)[0]


def _resident(limits: Limits, launch: Launch, block_from: BlockFrom) -> Residency:
    if block_from is BlockFrom.BEST:
        best = _best(limits, launch)
        if best is None:
            return Residency(reason=NO_BLOCK)
        found = best
    else:
        found = occupancy(limits, launch)
    return Residency(
        block_threads=found.launch.threads,
        block_from=block_from,
        occupancy=found,
        reason=found.reason,
    )


def _best(limits: Limits, launch: Launch) -> Occupancy | None:
    """Return the largest block that keeps most threads resident, as the runtime's helper does."""
    best: Occupancy | None = None
    for result in sizes(limits, launch):
        if result.threads_per_sm > (best.threads_per_sm if best else 0):
            best = result
            if result.threads_per_sm == limits.max_threads_per_sm:
                break
    return best
