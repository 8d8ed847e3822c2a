"""Kernels of many images read at once: what ranks each of them, and whole rows on request."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.advisor.binaries.model import Kernel, Place
    from gpuadvise.advisor.capability import Capability


class Resources(NamedTuple):
    """What decides the occupancy of a kernel in a cubin, and its spills; fields as ``Kernel`` has them."""

    entry: bool
    capability: Capability | None
    registers: int | None
    static_smem: int | None
    barriers: int | None
    max_block: tuple[int, int, int] | None
    required_block: tuple[int, int, int] | None
    cluster: tuple[int, int, int] | None
    spill_stores: int | None
    spill_loads: int | None


# What Resources._make does, without its Python frame.
as_resources = partial(tuple.__new__, Resources)

_ENTRY = attrgetter("entry")


@dataclass(frozen=True, slots=True)
class KernelTable:
    """The kernels of cubins in their order.

    Whole rows take ten times as long as their resources: *kernels* makes those whose numbers it
    is given, before the next table is read.
    """

    resources: list[Resources]
    kernels: Callable[[Sequence[int]], list[Kernel]]
    place: Place | None = None  # of the last image

    @property
    def entries(self) -> int:
        """How many of them the host can launch."""
        return sum(map(_ENTRY, self.resources))
