"""Coalescing on compute capability 1.x: no cache, one request per half-warp.

Programming Guide 2.x to 4.x, appendix "Compute Capability 1.x", "Global Memory".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

HALF = 16
LEAST = 32
# Segment that cc 1.2 and 1.3 look for, by word size.
_SEGMENT = {1: 32, 2: 64, 4: 128, 8: 128, 16: 128}


def strict(addresses: Sequence[int], lanes: Sequence[int], width: int) -> list[tuple[int, int]]:
    """Return the transactions of cc 1.0 and 1.1.

    The k-th thread must take the k-th word of an aligned segment of 16 words of 4, 8 or 16
    bytes; otherwise every thread gets a transaction of its own.
    """
    found: list[tuple[int, int]] = []
    for half in (0, 1):
        members = _members(addresses, lanes, half)
        if members:
            found += _in_order(members, width) or [(a // LEAST * LEAST, LEAST) for a, _ in members]
    return found


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
    found: list[tuple[int, int]] = []
    for half in (0, 1):
        left = [address for address, _ in _members(addresses, lanes, half)]
        while left:
            start = left[0] // _SEGMENT[width] * _SEGMENT[width]
            inside = [a for a in left if start <= a < start + _SEGMENT[width]]
            left = [a for a in left if a not in inside]
            found.append(_shrunk(start, _SEGMENT[width], min(inside), max(inside) + width))
    return found


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
