"""What one memory instruction of a warp moves, by the rules of each capability.

Programming Guide, "Global Memory" in the appendix on compute capabilities. A transaction is
``(start, size)`` in bytes; its start is a multiple of its size.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.half_warps import relaxed, strict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.capability import Capability

SECTOR = 32
LINE = 128
# Capabilities whose L1 can be told to cache global loads in whole lines (guide, "Coalesced
# Access to Global Memory"); on the others the L1, if it has them at all, fills by sector.
_OPTIONAL_L1 = ((3, 5), (3, 7), (5, 2))


class CachePath(StrEnum):
    """The caches that a global access goes through, and so what it is rounded to."""

    HALF_WARP = "half-warp"  # cc 1.x: no cache, segments per half-warp
    L1_LINES = "l1"  # whole lines of 128 bytes
    SECTORS = "l2"  # sectors of 32 bytes


def cache_path(capability: Capability, wanted: CachePath | None = None) -> CachePath:
    """Return the path a load takes by default, or *wanted* where the capability has it.

    Raises BadInput for a path the capability does not have.
    """
    offered = _offered(capability)
    if wanted is None:
        return offered[0]
    if wanted not in offered:
        raise BadInput(
            f"Compute capability {capability} has no {wanted} path for global loads.",
            hint=f"Leave it out to get {offered[0]}.",
        )
    return wanted


def _offered(capability: Capability) -> tuple[CachePath, ...]:
    if capability.major == 1:
        return (CachePath.HALF_WARP,)
    if capability.major == 2:
        return (CachePath.L1_LINES, CachePath.SECTORS)
    if (capability.major, capability.minor) in _OPTIONAL_L1:
        return (CachePath.SECTORS, CachePath.L1_LINES)
    return (CachePath.SECTORS,)


def transactions(
    addresses: Sequence[int],
    lanes: Sequence[int],
    width: int,
    capability: Capability,
    path: CachePath,
) -> list[tuple[int, int]]:
    """Return the transactions of one instruction of *width* bytes per lane.

    Capabilities before 5.0 serve words of 8 and 16 bytes by half and quarter warps, each on
    its own; later ones merge what the whole warp touches.
    """
    if path is CachePath.HALF_WARP:
        rule = strict if capability.minor < 2 else relaxed
        return rule(addresses, lanes, width)
    size = LINE if path is CachePath.L1_LINES else SECTOR
    group = min(32, LINE // width) if capability.major < 5 else 32
    found = []
    for first in range(0, 32, group):
        together = range(first, first + group)
        blocks = {a // size for a, lane in zip(addresses, lanes, strict=True) if lane in together}
        found += [(block * size, size) for block in sorted(blocks)]
    return found
