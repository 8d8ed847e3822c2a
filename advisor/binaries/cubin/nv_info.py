"""The ``.nv.info`` records of a cubin: what the compiler tells the driver about a kernel.

A record is a format byte, an attribute byte and two more bytes: the value itself, or with
format 4 the length of what follows.
"""

from __future__ import annotations

import sys
from array import array

MAX_THREADS = 0x05
REQUIRED_THREADS = 0x10
FRAME_SIZE = 0x11
MIN_STACK_SIZE = 0x12
PARAM_BYTES = 0x19
REGISTER_CAP = 0x1B
REGISTER_COUNT = 0x2F
CLUSTER = 0x3D
MAX_CLUSTER_RANK = 0x3F
BARRIERS = 0x4C
REGISTER_RECONFIGURED = 0x54
ANNOTATIONS = 0x55

BYTE = 2
SIZED = 4
_PARAMETER = 0x000C1704  # one per kernel parameter, half of all records


def walk(records: bytes, kept: frozenset[int]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return (attribute, value, words) of each record whose attribute is *kept*.

    *value* is that of a record without words. Stops at a record that runs past the end, and at
    one whose length is no multiple of four, which no compiler writes.
    """
    words = array("I", records[: len(records) // 4 * 4])
    if sys.byteorder == "big":
        words.byteswap()
    kept_records: list[tuple[int, int, tuple[int, ...]]] = []
    at, end = 0, len(words)
    while at < end:
        word = words[at]
        at += 1
        if word == _PARAMETER:
            at += 3
            continue
        attribute = word >> 8 & 0xFF
        if word & 0xFF == SIZED:
            start, at = at, at + (word >> 18)
            if at > end or word & 0x30000:
                break
            if attribute in kept:
                kept_records.append((attribute, 0, tuple(words[start:at])))
        elif attribute in kept:
            value = word >> 16 & (0xFF if word & 0xFF == BYTE else 0xFFFF)
            kept_records.append((attribute, value, ()))
    return kept_records


class NvInfo:
    """The kept records of one function; the first of each attribute wins."""

    __slots__ = ("_values", "_words")

    def __init__(self, records: bytes, kept: frozenset[int]) -> None:
        kept_records = walk(records, kept)[::-1]
        self._values = {attribute: value for attribute, value, _ in kept_records}
        self._words = {attribute: words for attribute, _, words in kept_records}

    def has(self, attribute: int) -> bool:
        """Return whether the attribute is there at all."""
        return attribute in self._values

    def value(self, attribute: int) -> int | None:
        """Return the value inside the record."""
        return self._values.get(attribute)

    def words(self, attribute: int) -> tuple[int, ...]:
        """Return the 32-bit numbers that follow the record; none when it is not there."""
        return self._words.get(attribute, ())

    def number(self, attribute: int) -> int | None:
        """Return the first 32-bit number that follows the record."""
        words = self._words.get(attribute)
        return words[0] if words else None

    def triple(self, attribute: int) -> tuple[int, int, int] | None:
        """Return the first three 32-bit numbers that follow the record."""
        words = self._words.get(attribute)
        return (words[0], words[1], words[2]) if words and len(words) > 2 else None
