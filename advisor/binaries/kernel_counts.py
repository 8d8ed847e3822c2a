"""What all kernels of a list come to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Kernel, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.binaries.kernel_occupancy import Residency
    from gpuadvise.advisor.binaries.kernel_order import ListedKernel
    from gpuadvise.advisor.binaries.kernel_table import Resources
    from gpuadvise.advisor.capability import Capability

LOW = 0.5  # guide, "Occupancy": below this, latency is hard to hide


@dataclass(slots=True)
class KernelCounts:
    """What the first line of a list says of all kernels."""

    kernels: int = 0
    ptx: int = 0
    stuck: int = 0  # that cannot start
    spills_known: bool = False  # of any
    spilling: int = 0
    occupied: int = 0  # that can start, with an occupancy
    low: int = 0  # of these, below LOW
    targets: set[Capability] = field(default_factory=set)

    def add(self, kernel: Kernel | Resources, residency: Residency, times: int = 1) -> None:
        """Count *times* kernels that are like *kernel*."""
        self.kernels += times
        if isinstance(kernel, Kernel) and kernel.source is Source.PTX:
            self.ptx += times
        if kernel.capability:
            self.targets.add(kernel.capability)
        if kernel.spill_stores is not None:
            self.spills_known = True
        if kernel.spill_stores or kernel.spill_loads:
            self.spilling += times
        if residency.stuck:
            self.stuck += times
        elif (share := residency.share) is not None:
            self.occupied += times
            self.low += times * (share < LOW)


def counts_of(kernels: Iterable[ListedKernel]) -> KernelCounts:
    """Return what all of *kernels* come to."""
    counts = KernelCounts()
    for kernel, residency in kernels:
        counts.add(kernel, residency)
    return counts
