"""The kernels that a person sees first, of all that go by: the others are only counted."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.kernel_counts import KernelCounts
from gpuadvise.advisor.binaries.kernel_order import ListedKernel, in_order, matters, rank

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.kernel_occupancy import Residencies
    from gpuadvise.advisor.binaries.kernel_table import KernelTable, Resources
    from gpuadvise.advisor.binaries.model import Kernel


class Screen:
    """The first *size* kernels in the order of what matters, and *counts* of all.

    Of tables, whole rows are made of those alone that may come to stand there. *functions*: count
    and show device functions as well.
    """

    def __init__(self, size: int, residencies: Residencies, *, functions: bool) -> None:
        self.counts = KernelCounts()
        self._size = size
        self._residencies = residencies
        self._functions = functions
        self._position = 0
        self._alone: list[tuple[int, ListedKernel]] = []
        self._best: list[tuple[Any, int, ListedKernel]] = []  # of tables, by their order

    def see(self, kernel: Kernel) -> None:
        """Take note of a kernel that stands in no table."""
        listed = ListedKernel(kernel, self._residencies.of(kernel))
        self.counts.add(kernel, listed.residency)
        self._alone.append((self._position, listed))
        self._position += 1

    def see_table(self, table: KernelTable) -> None:
        """Take note of all kernels of *table*."""
        chosen = self._chosen(table)
        rows = [row for row, resources in enumerate(table.resources) if resources in chosen]
        for row, kernel in zip(rows, table.kernels(rows) if rows else (), strict=True):
            listed = ListedKernel(kernel, self._residencies.of(kernel))
            self._best.append((matters(listed), self._position + row, listed))
        self._best = sorted(self._best, key=itemgetter(0, 1))[: self._size]
        self._position += len(table.resources)

    def _chosen(self, table: KernelTable) -> set[Resources]:
        """Count what *table* holds, and return the resources that may come to be shown."""
        ranked = []
        for resources, times in Counter(table.resources).items():
            if not (resources.entry or self._functions):
                continue
            residency = self._residencies.similar(resources)
            self.counts.add(resources, residency, times)
            spilled = (resources.spill_stores or 0) + (resources.spill_loads or 0)
            own = rank(residency, spilled, resources.registers)
            ranked.append((own, times, resources))
        ranked.sort(key=itemgetter(0))
        last = self._best[-1][0][:-1] if len(self._best) == self._size else None
        chosen: set[Resources] = set()
        better = 0  # kernels of this table
        for own, times, resources in ranked:
            if last is not None and own > last:
                break
            chosen.add(resources)
            better += times
            if better >= self._size and last is None:
                last = own  # others of the same rank may have the better name
        return chosen

    def first(self) -> list[ListedKernel]:
        """Return the kernels that stand first."""
        every = [*self._alone, *((position, listed) for _, position, listed in self._best)]
        every.sort(key=itemgetter(0))
        return in_order([listed for _, listed in every], None)[: self._size]
