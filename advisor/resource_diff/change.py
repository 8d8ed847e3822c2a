"""One kernel in two builds: what changed, and whether it matters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.kernel_occupancy import NO_BLOCK
from gpuadvise.advisor.binaries.model import Exactness
from gpuadvise.advisor.resource_diff.pairs import final, numbers, paired

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.kernel_occupancy import Residencies, Residency
    from gpuadvise.advisor.binaries.model import Kernel


# From half of the warps on, more of them seldom help: guide 11.3.
ENOUGH = 0.5


class Status(StrEnum):
    """What became of a kernel, worst first."""

    WORSE = "worse"  # a lower occupancy tier for nothing, or it can no longer start
    SPILLS_MORE = "spills more"  # whatever tier that wins: local memory costs more than warps win
    BETTER = "better"
    SAME_TIER = "same tier"  # numbers changed, occupancy did not
    UNKNOWN = "unknown"  # numbers changed, and there is no occupancy to compare
    NEW = "new"
    REMOVED = "removed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A kernel as one build has it."""

    kernel: Kernel
    residency: Residency

    @property
    def tier(self) -> float | None:
        """Occupancy from 0 to 1, 0 when it cannot start; None when it is not known."""
        found = self.residency.occupancy
        if found is None:
            return 0.0 if self.residency.reason == NO_BLOCK else None
        return found.occupancy

    @property
    def spills(self) -> int | None:
        """Bytes a thread spills and reads back; None when the file does not tell exactly."""
        kernel = self.kernel
        if kernel.spills_are is not Exactness.EXACT:
            return None
        return (kernel.spill_stores or 0) + (kernel.spill_loads or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelChange:
    """A kernel of either build, or of both."""

    old: Side | None
    new: Side | None
    status: Status

    @property
    def spills_more(self) -> bool:
        """Whether it spills more than before, whatever became of its occupancy."""
        return self.old is not None and self.new is not None and _spills_more(self.old, self.new)

    @property
    def stack_more(self) -> bool:
        """Whether its stack frame grew, where nobody tells spills from local arrays."""
        if self.old is None or self.new is None or self.new.spills is not None:
            return False
        before, after = self.old.kernel.stack, self.new.kernel.stack
        return before is not None and after is not None and after > before

    @property
    def kernel(self) -> Kernel:
        """The kernel as it is now, or as it was."""
        side = self.new or self.old
        assert side is not None
        return side.kernel


def changes(
    old: Iterable[Kernel], new: Iterable[Kernel], residencies: Residencies, *, by_target: bool
) -> Iterator[KernelChange]:
    """Yield what became of each kernel; occupancies are those of *residencies*."""

    def side(kernel: Kernel | None) -> Side | None:
        return Side(kernel=kernel, residency=residencies.of(kernel)) if kernel else None

    for one, other in paired(final(old), final(new), by_target=by_target):
        before, after = side(one), side(other)
        yield KernelChange(old=before, new=after, status=status(before, after))


def status(old: Side | None, new: Side | None) -> Status:
    """Return what became of a kernel."""
    if old is None or new is None:
        return Status.NEW if old is None else Status.REMOVED
    if old.tier == new.tier and alike(old.kernel, new.kernel):
        return Status.UNCHANGED
    if old.tier is None or new.tier is None:
        return Status.SPILLS_MORE if _spills_more(old, new) else Status.UNKNOWN
    if not new.tier or not old.tier:
        return Status.WORSE if new.tier < old.tier else Status.BETTER
    if _spills_more(old, new) and new.tier >= old.tier:
        return Status.SPILLS_MORE
    if new.tier < old.tier:
        return Status.BETTER if _pays(old, new) else Status.WORSE
    return Status.BETTER if new.tier > old.tier else Status.SAME_TIER


def _pays(old: Side, new: Side) -> bool:
    """Return whether a lower tier ends spills, from half of the warps on.

    On an H200 kernels with fewer warps and no spills beat those with more warps and spills in 65
    of 71 cases, and lost in none.
    """
    ended = bool(old.spills) and new.spills is not None and 2 * new.spills <= (old.spills or 0)
    return ended and (new.tier or 0.0) >= ENOUGH


def alike(old: Kernel, new: Kernel) -> bool:
    """Return whether all numbers that both builds tell are the same."""
    both = zip(numbers(old), numbers(new), strict=True)
    return all(a == b or a is None or b is None for a, b in both)


def _spills_more(old: Side, new: Side) -> bool:
    return old.spills is not None and new.spills is not None and new.spills > old.spills
