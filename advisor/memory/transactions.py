"""What one memory instruction of a warp moves, by the rules of each capability.

Programming Guide, "Global Memory" in the appendix on compute capabilities. A transaction is
``(start, size)`` in bytes; its start is a multiple of its size.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.capability import Capability


HALF = 16
LEAST = 32
# Segment that cc 1.2 and 1.3 look for, by word size.
_SEGMENT = {1: 32, 2: 64, 4: 128, 8: 128, 16: 128}


def strict(addresses: Sequence[int], lanes: Sequence[int], width: int) -> list[tuple[int, int]]:
    """Return the transactions of cc 1.0 and 1.1.

    The k-th thread must take the k-th word of an aligned segment of 16 words of 4, 8 or 16
    bytes; otherwise every thread gets a transaction of its own.
    """
    by_half: list[tuple[int, int]] = []
    for half in (0, 1):
        members = _members(addresses, lanes, half)
        if members:
            by_half += _in_order(members, width) or [
                (a // LEAST * LEAST, LEAST) for a, _ in members
            ]
    return by_half


def _in_order(members: list[tuple[int, int]], width: int) -> list[tuple[int, int]]:
    """Return the one or two transactions of a half-warp in order, nothing when it is not."""
    bases = {address - lane % HALF * width for address, lane in members}
    base = min(bases)
    if width < 4 or len(bases) > 1 or base % (HALF * width):
        return []
    size = min(HALF * width, 128)
    return [(base + start, size) for start in range(0, HALF * width, size)]


def relaxed(addresses: Sequence[int], lanes: Sequence[int], width: int) -> list[tuple[int, int]]:
    """Return the transactions of cc 1.2 and 1.3: any order, segments halved where possible."""
    by_half: list[tuple[int, int]] = []
    for half in (0, 1):
        left = [address for address, _ in _members(addresses, lanes, half)]
        while left:
            start = left[0] // _SEGMENT[width] * _SEGMENT[width]
            inside = [a for a in left if start <= a < start + _SEGMENT[width]]
            left = [a for a in left if a not in inside]
            by_half.append(_shrunk(start, _SEGMENT[width], min(inside), max(inside) + width))
    return by_half


def _shrunk(start: int, size: int, low: int, high: int) -> tuple[int, int]:
    """Return the smallest half, quarter or whole of a segment that holds ``low..high``."""
    while size > LEAST:
        size //= 2
        if low >= start + size:
            start += size
        elif high > start + size:
            return start, size * 2
    return start, size


def _members(addresses: Sequence[int], lanes: Sequence[int], half: int) -> list[tuple[int, int]]:
    return [(a, lane) for a, lane in zip(addresses, lanes, strict=True) if lane // HALF == half]


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
    by_group = []
    for first in range(0, 32, group):
        together = range(first, first + group)
        blocks = {a // size for a, lane in zip(addresses, lanes, strict=True) if lane in together}
        by_group += [(block * size, size) for block in sorted(blocks)]
    return by_group
