"""Decompress LZ4 and Zstandard payloads, never to more than was announced and is possible."""

from __future__ import annotations

from typing import assert_never

from gpuadvise.advisor.binaries.model import Compression
from gpuadvise.advisor.binaries.span import Damaged
from gpuadvise.advisor.compression import lz4_block, zstd
from gpuadvise.advisor.errors import Unavailable

# The largest image seen is 155 MB.
MAX_UNPACKED = 1 << 28
# The best seen in libraries: LZ4 24 to 1, Zstandard 134 to 1.
_MAX_RATIO = {Compression.LZ4: 64, Compression.ZSTD: 500}
_SLACK = 1 << 16  # small images cost nothing
_BROKEN_LZ4 = "Its LZ4 data are broken."
_BROKEN = "Its Zstandard data are broken."


def decompressed(payload: bytes, compression: Compression, size: int) -> bytes:
    """Return *payload* decompressed, or as it is when it is not compressed.

    Raises Damaged when it is not what it claims, Unavailable where nothing reads Zstandard.
    """
    if compression is Compression.NONE:
        return payload
    if compression is Compression.UNKNOWN:
        raise Damaged("It is packed in a way that is not known.")
    return decompress(payload, compression, size)


def decompress(payload: bytes, compression: Compression, size: int) -> bytes:
    """Return *payload* decompressed to exactly *size* bytes.

    Raises Damaged when it is not what it claims, Unavailable where nothing reads Zstandard.
    """
    if not believable(len(payload), size, compression):
        raise Damaged(f"It claims to unpack {len(payload):,} bytes to {size:,}.")
    data = _lz4(payload, size) if compression is Compression.LZ4 else _zstd(payload, size)
    _expect(len(data), size)
    return data


def decompress_into(payload: memoryview, compression: Compression, memory: memoryview) -> None:
    """Decompress an LZ4 or Zstandard *payload* into *memory*, which it must fill exactly.

    Raises Damaged when it is not what it claims, Unavailable where nothing reads Zstandard.
    """
    if compression is Compression.LZ4:
        _lz4_into(bytes(payload), memory)
    else:
        _zstd_into(payload, memory)


def _lz4_into(payload: bytes, memory: memoryview) -> None:
    if not memory:
        memory[:] = decompress(payload, Compression.LZ4, 0)
        return
    try:
        size = lz4_block.decompress_into(payload, memory)
    except lz4_block.BrokenBlock:
        raise Damaged(_BROKEN_LZ4) from None
    _expect(size, len(memory))


def _zstd_into(payload: memoryview, memory: memoryview) -> None:
    try:
        if not zstd.fill(payload, memory):
            memory[:] = decompress(bytes(payload), Compression.ZSTD, len(memory))
    except zstd.BrokenFrame:
        raise Damaged(_BROKEN) from None
    except ImportError as error:
        raise _missing(error) from None


def first_bytes(payload: bytes, compression: Compression, size: int) -> bytes:
    """Return up to *size* bytes, a few, of what *payload* decompresses to; raises as ``decompressed``."""
    match compression:
        case Compression.NONE:
            return payload[:size]
        case Compression.LZ4:
            return _first_of_lz4(payload, size)
        case Compression.ZSTD:
            return _first_of_zstd(payload, size)
        case Compression.UNKNOWN:
            raise Damaged("It is packed in a way that is not known.")
        case other:
            assert_never(other)


def _first_of_lz4(payload: bytes, size: int) -> bytes:
    try:
        return lz4_block.first_bytes(payload, size)
    except lz4_block.BrokenBlock:
        raise Damaged(_BROKEN_LZ4) from None


def _first_of_zstd(payload: bytes, size: int) -> bytes:
    try:
        return zstd.first_bytes(payload, size)
    except zstd.BrokenFrame:
        raise Damaged(_BROKEN) from None
    except ImportError as error:
        raise _missing(error) from None


def believable(packed: int, size: int, compression: Compression = Compression.ZSTD) -> bool:
    """Return whether *packed* bytes can hold *size* bytes."""
    return size <= min(MAX_UNPACKED, _MAX_RATIO.get(compression, 0) * packed + _SLACK)


def _expect(length: int, size: int) -> None:
    if length != size:
        raise Damaged(f"It unpacks to {length:,} bytes, not the {size:,} it claims.")


def _lz4(payload: bytes, size: int) -> bytes:
    try:
        return lz4_block.decompress(payload, size)
    except lz4_block.BrokenBlock:
        raise Damaged(_BROKEN_LZ4) from None


def _zstd(payload: bytes, size: int) -> bytes:
    try:
        # The library trusts the frame's size over the caller's, so check the frame first.
        announced = zstd.frame_size(payload)
        if announced not in (None, size):
            raise Damaged(f"Its frame holds {announced:,} bytes, not the {size:,} it claims.")
        return zstd.decompress(payload, size)
    except zstd.BrokenFrame:
        raise Damaged(_BROKEN) from None
    except ImportError as error:
        raise _missing(error) from None


def _missing(error: ImportError) -> Unavailable:
    why, install = f"cannot be loaded: {error}", "Install zstandard again, or give it more memory"
    if isinstance(error, ModuleNotFoundError):
        why, install = "is not installed", "pip install zstandard, or use Python 3.14"
    return Unavailable(
        f"Some images are packed with Zstandard, and the Python package zstandard {why}.",
        hint=f"{install}. Listing the entries alone needs no package.",
    )
