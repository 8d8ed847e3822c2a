"""LZ4 blocks by the package lz4, or where that cannot be loaded in Python, some 50 times as slow."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


class BrokenBlock(Exception):
    """What is no LZ4 block, or a damaged one."""


def decompress(payload: bytes, most: int) -> bytes:
    """Return what *payload* holds, of at most *most* bytes; raises BrokenBlock."""
    block = _package()
    if block is None:
        return _decompress(payload, most)
    try:
        return bytes(block.decompress(payload, uncompressed_size=most))
    except block.LZ4BlockError:
        raise BrokenBlock from None


def decompress_into(payload: bytes, memory: memoryview) -> int:
    """Unpack *payload* into *memory*, of one byte or more; return how many of them it fills.

    Raises BrokenBlock, also where it holds more.
    """
    decompress_safe = _decompress_safe()
    if decompress_safe is None:
        data = decompress(payload, len(memory))
        memory[: len(data)] = data
        return len(data)
    size = decompress_safe(payload, memory)
    if size < 0:
        raise BrokenBlock
    return size


def first_bytes(payload: bytes, size: int) -> bytes:
    """Return up to *size* bytes, a few, of what *payload* unpacks to; raises BrokenBlock.

    The package cannot stop early, and an image is a thousand times longer.
    """
    return bytes(_decoded(payload[:_ENOUGH], size, first=True))


_ENOUGH = 1 << 12  # bytes of a block for its first few


@cache
def _package() -> ModuleType | None:
    try:
        from lz4 import block
    except ImportError:
        return None
    module: ModuleType = block
    return module


@cache
def _decompress_safe() -> Callable[[bytes, memoryview], int] | None:
    """Return the C function beneath the package lz4, None where it cannot be reached.

    The package's own call unpacks into new memory and copies that: fresh pages take longer than
    unpacking.
    """
    block = _package()
    if block is None:
        return None
    try:
        import ctypes

        function = ctypes.CDLL(block._block.__file__).LZ4_decompress_safe
        first_byte = ctypes.c_char.from_buffer
        reference = ctypes.byref
    except (ImportError, OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
    function.restype = ctypes.c_int

    def decompress_safe(payload: bytes, memory: memoryview) -> int:
        """Return how many bytes of *memory* were filled, less than 0 for broken data."""
        size: int = function(payload, reference(first_byte(memory)), len(payload), len(memory))
        return size

    return decompress_safe


# A block is a run of sequences: literals, then a copy of what is there. Its last one has literals alone,
# and no copy begins or ends closer to the end than this ("LZ4 Block Format Description", "End of block
# conditions"), by which the library, too, tells blocks that are broken.
_LEAST_COPY = 4
_LAST_LITERALS = 5
_NO_COPY_BEGINS = 12
_LEAST_SEQUENCE = 8  # of what is packed: a copy, the next token and the last literals


def _decompress(payload: bytes, most: int) -> bytes:
    """Return what `decompress` does, without the package."""
    if not most:  # nothing is packed as one byte, and no other
        if payload != _EMPTY:
            raise BrokenBlock
        return b""
    return bytes(_decoded(payload, most))


_EMPTY = b"\0"


def _decoded(payload: bytes, most: int, *, first: bool = False) -> bytearray:
    """Return what *payload* holds, of at most *most* bytes; raises BrokenBlock.

    With *first* it is decoded up to *most* bytes, or as far as *payload* goes.
    """
    out = bytearray()
    at, end = 0, len(payload)
    try:
        while True:
            token = payload[at]
            literals, at = _length(payload, at + 1, token >> 4)
            out += payload[at : at + literals]
            at += literals
            if first:
                if len(out) >= most or at >= end:
                    return out[:most]
            elif len(out) > most - _NO_COPY_BEGINS or at > end - _LEAST_SEQUENCE:
                if at != end or len(out) > most:
                    raise BrokenBlock
                return out
            distance = payload[at] | payload[at + 1] << 8
            length, at = _length(payload, at + 2, token & 15)
            length += _LEAST_COPY
            left = most - len(out)
            if first:
                length = min(length, left)
            elif length > left - _LAST_LITERALS:
                raise BrokenBlock
            _copy(out, distance, length)
    except IndexError:  # the payload ends here
        if first:
            return out
        raise BrokenBlock from None


def _length(payload: bytes, at: int, nibble: int) -> tuple[int, int]:
    """Return the length that begins with *nibble* and goes on at *at*, and where it ends."""
    if nibble < 15:
        return nibble, at
    length = nibble
    while (more := payload[at]) == 255:
        length += more
        at += 1
    return length + more, at + 1


def _copy(out: bytearray, distance: int, length: int) -> None:
    """Append *length* bytes from *distance* bytes back, which may be those just appended."""
    start = len(out) - distance
    if distance == 0 or start < 0:
        raise BrokenBlock
    if length > distance:
        repeated = out[start:]
        out += (repeated * (length // distance + 1))[:length]
    else:
        out += out[start : start + length]
