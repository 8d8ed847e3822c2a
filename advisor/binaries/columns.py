"""Code looked at by columns of bytes, which is fast without any library.

Each byte of an instruction that matters is looked up in a table of its own, and the results are
laid over each other: one byte per instruction then says what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def table(classify: Callable[[int], int]) -> bytes:
    """Return what *classify* makes of every byte, for ``bytes.translate``."""
    return bytes(classify(byte) for byte in range(256))


def overlaid(columns: list[bytes]) -> bytes:
    """Return *columns* combined bit by bit, as long as the shortest."""
    size = min(map(len, columns))
    merged = 0
    for column in columns:
        merged |= int.from_bytes(column[:size], "little")
    return merged.to_bytes(size, "little")
