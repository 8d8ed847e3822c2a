"""The occupancy of kernels found in files, which do not say how they are launched."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from gpuadvise.advisor.binaries.model import Kernel, Place, Source
from gpuadvise.advisor.catalogue.capabilities import limits_of
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.limits import RegisterAllocation
from gpuadvise.advisor.occupancy.allocation import per_warp
from gpuadvise.advisor.occupancy.block_sizes import helper_block
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy, shared_limit

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.kernel_table import Resources
    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy

T = TypeVar("T")

# Of a kernel; everything else leaves its occupancy as it is.
_DECIDING = (
    "entry",
    "source",
    "capability",
    "registers",
    "static_smem",
    "barriers",
    "max_block",
    "required_block",
    "launched_block",
    "launched_dynamic_smem",
    "cluster",
)
# By place: a third of the time that names take.
_what_decides = itemgetter(*map(Kernel._fields.index, _DECIDING))
# A kernel built for larger clusters is launched by a program that allows them.
_PORTABLE_CLUSTER = 8
# Answers kept: cuBLASLt's 49,066 kernels have 5,714. A file made to differ must not fill the memory.
_KEPT = 1 << 14
_NOWHERE = Place("")
# Of ``Resources``: what else decides, as it is.
_AFTER_SHARED, _BEFORE_SPILLS = 4, 8
NO_BLOCK = "no block of any size can start"


class BlockFrom(StrEnum):
    """Where the block size of an answer comes from, the first that is known."""

    GIVEN = "given"
    LAUNCHED = "launch"  # that was profiled, or that Triton states
    REQUIRED = "required block"
    LAUNCH_BOUNDS = "launch bounds"
    BEST = "best"  # nothing states it: the block that keeps most threads resident


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Residency:
    """One kernel's occupancy, or the *reason* why it has none; shared by kernels that are alike.

    Compared by identity, since hashing the whole of one costs more than working it out.
    """

    block_threads: int | None = None
    block_from: BlockFrom | None = None
    occupancy: Occupancy | None = None
    reason: str | None = None

    @property
    def share(self) -> float | None:
        """The occupancy, 0 to 1; None when it has none."""
        return None if self.occupancy is None else self.occupancy.occupancy

    @property
    def stuck(self) -> bool:
        """Whether it cannot be launched as asked."""
        return self.occupancy is not None and not self.occupancy.launchable


@dataclass(slots=True, kw_only=True)
class Residencies:
    """Occupancies on one GPU's *limits*, or of each kernel on the target it was built for.

    Kernels of one library are alike, so answers are kept. *block* in threads and
    *dynamic_smem* in bytes are the user's, for all kernels.
    """

    limits: Limits | None = None
    block: int | None = None
    dynamic_smem: int = 0
    _residencies: dict[tuple[object, ...], Residency] = field(default_factory=dict)
    _similar: dict[tuple[object, ...], Residency] = field(default_factory=dict)
    _warp_registers: dict[tuple[object, ...], int | None] = field(default_factory=dict)
    _by_shared: dict[tuple[object, ...], int] = field(default_factory=dict)

    def of(self, kernel: Kernel) -> Residency:
        """Return the occupancy of *kernel*."""
        key = _what_decides(kernel)
        residency = self._residencies.get(key)
        if residency is None:
            answer = self._answer(kernel, *self._block(kernel))
            residency = _kept(self._residencies, key, answer)
        return residency

    def similar(self, resources: Resources) -> Residency:
        """Return the residency of a kernel in a cubin that can start just as well, with this share.

        Kernels that differ in registers and bytes are often allocated the same: cuSOLVER's 14,531
        residencies are then 2,630.
        """
        try:
            limits = self.limits or _own_limits(resources)
            key = (
                resources.entry,
                resources.capability,
                self._registers(limits, resources),
                min(self._shared(limits, resources), self._most(limits, resources)),
                *resources[_AFTER_SHARED:_BEFORE_SPILLS],
            )
        except BadInput:
            return self.of(_kernel(resources))
        residency = self._similar.get(key)
        if residency is None:
            residency = _kept(self._similar, key, self.of(_kernel(resources)))
        return residency

    def _registers(self, limits: Limits, resources: Resources) -> int | None:
        """Return the registers that a warp is charged; the negative count where there is a doubt."""
        count = resources.registers
        key = (resources.capability, count)
        if key in self._warp_registers:
            return self._warp_registers[key]
        charge = count and -count
        by_warp = limits.register_allocation is RegisterAllocation.WARP
        if count and by_warp and count <= limits.max_registers_per_thread:
            charge = per_warp(limits, count)
        return _kept(self._warp_registers, key, charge)

    def _most(self, limits: Limits, resources: Resources) -> int:
        """Return how many blocks an SM holds at most, whatever they take."""
        block = resources.required_block or resources.max_block or (1, 1, 1)
        threads = self.block or max(1, math.prod(block))
        by_warps = limits.max_warps_per_sm // -(-threads // limits.warp_size)
        return min(limits.max_blocks_per_sm, by_warps)

    def _shared(self, limits: Limits, resources: Resources) -> int:
        """Return how many blocks the shared memory of an SM holds."""
        static = resources.static_smem or 0
        key = (resources.capability, static)
        if key in self._by_shared:
            return self._by_shared[key]
        launch = Launch(threads=1, static_shared=static, dynamic_shared=self.dynamic_smem)
        by_shared = shared_limit(limits, launch)[0]
        most = limits.max_blocks_per_sm if by_shared is None else by_shared
        return _kept(self._by_shared, key, most)

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
            cluster = kernel.cluster or (1, 1, 1)
            launch = Launch(
                threads=1 if threads is None else threads,
                registers=kernel.registers,
                static_shared=kernel.static_smem or 0,
                dynamic_shared=self.dynamic_smem or kernel.launched_dynamic_smem or 0,
                barriers=1 if kernel.barriers is None else kernel.barriers,
                cluster_dim=cluster,
                nonportable_cluster=math.prod(cluster) > _PORTABLE_CLUSTER,
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


def _kept(answers: dict[tuple[object, ...], T], key: tuple[object, ...], answer: T) -> T:
    """Return *answer*, which is kept among *answers*."""
    if len(answers) == _KEPT:
        answers.clear()
    answers[key] = answer
    return answer


def _kernel(resources: Resources) -> Kernel:
    """Return a kernel of these *resources*, somewhere in a cubin."""
    known = resources._asdict()
    return Kernel(name="", source=Source.CUBIN, place=_NOWHERE, **known)


def _own_limits(kernel: Kernel | Resources) -> Limits:
    if kernel.capability is None:
        raise BadInput("its target is not known")
    return limits_of(kernel.capability)[0]


def _resident(limits: Limits, launch: Launch, block_from: BlockFrom) -> Residency:
    answer = (
        helper_block(limits, launch) if block_from is BlockFrom.BEST else occupancy(limits, launch)
    )
    if answer is None:
        return Residency(reason=NO_BLOCK)
    return Residency(
        block_threads=answer.launch.threads,
        block_from=block_from,
        occupancy=answer,
        reason=answer.reason,
    )
