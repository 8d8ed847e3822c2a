"""Kernels of a build log whose device link came later: the linker's numbers replace the first."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, TypeGuard

from gpuadvise.advisor.binaries.model import Kernel, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.binaries.model import Item
    from gpuadvise.advisor.capability import Capability

# A log of more items than this is passed on as it is: no build is so large.
_MOST_HELD = 200_000


def without_superseded(items: Iterator[Item]) -> Iterator[Item]:
    """Yield *items* of a log but for the kernels that a device link named again."""
    held = list(islice(items, _MOST_HELD))
    linked = {(k.name, k.capability) for k in held if _is(k, Source.NVLINK_LOG)}
    anywhere = {name for name, capability in linked if capability is None}
    for item in chain(held, items):
        if not (_is(item, Source.PTXAS_LOG) and _named(item, linked, anywhere)):
            yield item


def _is(item: Item, source: Source) -> TypeGuard[Kernel]:
    return isinstance(item, Kernel) and item.source is source


def _named(kernel: Kernel, linked: set[tuple[str, Capability | None]], anywhere: set[str]) -> bool:
    return (kernel.name, kernel.capability) in linked or kernel.name in anywhere
