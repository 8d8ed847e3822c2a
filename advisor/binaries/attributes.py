"""The ``.nv.info`` records of a cubin: what the compiler tells the driver about a kernel.

A record is a format byte, an attribute byte and two more bytes: the value itself, or with
format 4 the length of what follows.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

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

_BYTE = 2
_SHORT = 3
_SIZED = 4
_U32 = struct.Struct("<I")
_PAIR = struct.Struct("<II")
_TRIPLE = struct.Struct("<III")


def walk(records: bytes, kept: frozenset[int]) -> Iterator[tuple[int, int, bytes]]:
    """Yield (attribute, value, bytes) of each record whose attribute is *kept*.

    *value* is that of formats 2 and 3, *bytes* that of format 4. Stops at a record that runs
    past the end.
    """
    at, end = 0, len(records) - 3
    while at < end:
        form, attribute = records[at], records[at + 1]
        value = records[at + 2] | records[at + 3] << 8
        at += 4
        if form == _SIZED:
            start, at = at, at + value
            if attribute in kept and at <= end + 3:
                yield attribute, 0, records[start:at]
        elif attribute in kept:
            yield attribute, value & 0xFF if form == _BYTE else value, b""


def pairs(data: bytes) -> list[tuple[int, int]]:
    """Return the pairs of 32-bit numbers in *data*."""
    return [(first, second) for first, second in _PAIR.iter_unpack(data[: len(data) // 8 * 8])]


class Facts:
    """The kept records of one function; the first of each attribute wins."""

    __slots__ = ("_records",)

    def __init__(self, records: bytes, kept: frozenset[int]) -> None:
        self._records: dict[int, tuple[int, bytes]] = {}
        for attribute, value, data in walk(records, kept):
            self._records.setdefault(attribute, (value, data))

    def has(self, attribute: int) -> bool:
        """Return whether the attribute is there at all."""
        return attribute in self._records

    def value(self, attribute: int) -> int | None:
        """Return the value inside the record."""
        record = self._records.get(attribute)
        return record[0] if record else None

    def data(self, attribute: int) -> bytes:
        """Return the bytes that follow the record; none when it is not there."""
        record = self._records.get(attribute)
        return record[1] if record else b""

    def number(self, attribute: int) -> int | None:
        """Return the one 32-bit number that follows the record."""
        data = self.data(attribute)
        return int(_U32.unpack_from(data)[0]) if len(data) >= 4 else None

    def triple(self, attribute: int) -> tuple[int, int, int] | None:
        """Return the three 32-bit numbers that follow the record."""
        data = self.data(attribute)
        if len(data) < 12:
            return None
        x, y, z = _TRIPLE.unpack_from(data)
        return x, y, z
