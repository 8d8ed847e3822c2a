"""One kernel in two builds: what changed, and whether it matters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.kernel_occupancy import NO_BLOCK
from gpuadvise.advisor.binaries.model import Exactness
from gpuadvise.advisor.binaries.names import stable_name
from gpuadvise.advisor.resource_diff.pairs import final, numbers, paired

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.kernel_occupancy import Residencies, Residency
    from gpuadvise.advisor.binaries.model import Kernel


# From half of the warps on, more of them seldom help: guide 11.3.
ENOUGH = 0.5


# Slow paths of sinf, or double mathematics, take some 40 bytes that few launches ever touch.
SMALL_FRAME = 64


class Status(StrEnum):
    """What became of a kernel, worst first."""

    WORSE = "worse"  # a lower occupancy tier for nothing, or it can no longer start
    SPILLS_MORE = "spills more"  # whatever tier that wins: local memory costs more than warps win
    MORE_STACK = "more stack"  # in its tier
    TRADE_OFF = "trade-off"  # occupancy against spills or stack: only a measurement can tell
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
        occupancy = self.residency.occupancy
        if occupancy is None:
            return 0.0 if self.residency.reason == NO_BLOCK else None
        return occupancy.occupancy

    @property
    def spills(self) -> int | None:
        """Bytes a thread spills and reads back; None when the file does not tell exactly."""
        kernel = self.kernel
        if kernel.spills_are is not Exactness.EXACT:
            return None
        return (kernel.spill_stores or 0) + (kernel.spill_loads or 0)

    @property
    def stack(self) -> int | None:
        """Bytes of a thread's stack, of the frame where that is all there is; None: not known."""
        return self.kernel.stack if self.kernel.stack is not None else self.kernel.frame


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelChange:
    """A kernel of either build, or of both."""

    old: Side | None
    new: Side | None
    status: Status

    @property
    def spills_more(self) -> bool:
        """Whether it spills more or needs more stack than before, whatever became of its tier."""
        if self.old is None or self.new is None:
            return False
        return _spills_more(self.old, self.new) or _more_stack(self.old, self.new)

    @property
    def tiers_known(self) -> bool:
        """Whether both builds tell an occupancy."""
        if self.old is None or self.new is None:
            return False
        return None not in (self.old.tier, self.new.tier)

    @property
    def spills_known(self) -> bool:
        """Whether both builds tell spills or stack."""
        if self.old is None or self.new is None:
            return False
        spills, stack = (self.old.spills, self.new.spills), (self.old.stack, self.new.stack)
        return None not in spills or None not in stack

    @property
    def renamed(self) -> bool:
        """Whether the builds call it by different names."""
        if self.old is None or self.new is None:
            return False
        return stable_name(self.old.kernel.name) != stable_name(self.new.kernel.name)

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

    for old_kernel, new_kernel in paired(final(old), final(new), by_target=by_target):
        before, after = side(old_kernel), side(new_kernel)
        yield KernelChange(old=before, new=after, status=status(before, after))


def status(old: Side | None, new: Side | None) -> Status:
    """Return what became of a kernel."""
    if old is None or new is None:
        return Status.NEW if old is None else Status.REMOVED
    if old.tier == new.tier and alike(old.kernel, new.kernel):
        return Status.UNCHANGED
    if _spills_more(old, new) and (new.tier is None or new.tier >= (old.tier or 0.0)):
        return Status.SPILLS_MORE
    if old.tier is None or new.tier is None or new.tier == old.tier:
        return _in_tier(old, new)
    if new.tier < old.tier:
        return _lower(old, new)
    return Status.TRADE_OFF if _more_stack(old, new) else Status.BETTER


def _lower(old: Side, new: Side) -> Status:
    """Return what a lower tier is.

    On an H200 kernels with fewer warps and no spills beat those with more warps and spills in 65
    of 71 cases, and lost in none; below half of the warps nobody has measured it.
    """
    if not new.tier or _spills_more(old, new):
        return Status.WORSE
    if _spills_far_less(old, new):
        return Status.BETTER if new.tier >= ENOUGH else Status.TRADE_OFF
    # An array that moved from the stack into registers is no spill, and seldom measured.
    return Status.TRADE_OFF if _far_less_stack(old, new) else Status.WORSE


def _in_tier(old: Side, new: Side) -> Status:
    if _more_stack(old, new):
        return Status.MORE_STACK
    return Status.UNKNOWN if None in (old.tier, new.tier) else Status.SAME_TIER


def alike(old: Kernel, new: Kernel) -> bool:
    """Return whether all numbers that both builds tell are the same."""
    both = zip(numbers(old), numbers(new), strict=True)
    return all(a == b or a is None or b is None for a, b in both)


def _spills_more(old: Side, new: Side) -> bool:
    return old.spills is not None and new.spills is not None and new.spills > old.spills


def _spills_far_less(old: Side, new: Side) -> bool:
    """Return whether at least half of the spilled bytes are gone: a gain that may pay for a tier."""
    return bool(old.spills) and new.spills is not None and new.spills * 2 <= (old.spills or 0)


def _far_less_stack(old: Side, new: Side) -> bool:
    """Return whether at least half of a stack is gone that is more than functions need for themselves."""
    if old.stack is None or new.stack is None or old.stack <= SMALL_FRAME:
        return False
    return new.stack * 2 <= old.stack


def _more_stack(old: Side, new: Side) -> bool:
    return old.stack is not None and new.stack is not None and new.stack > old.stack
