"""Decompress LZ4 and Zstandard payloads, never to more than was announced and is possible."""

from __future__ import annotations

import threading
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.binaries.model import Compression
from gpuadvise.advisor.binaries.span import Damaged
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from zstandard import ZstdDecompressor

# The largest image seen is 155 MB.
MAX_UNPACKED = 1 << 28
# The best seen in libraries: LZ4 24 to 1, Zstandard 134 to 1.
_MAX_RATIO = {Compression.LZ4: 64, Compression.ZSTD: 500}
_SLACK = 1 << 16  # small images cost nothing
_BROKEN_LZ4 = "Its LZ4 data are broken."
_BROKEN = "Its Zstandard data are broken."
# Making a decompressor takes longer than decompressing a stub; threads must not share one.
_thread_local = threading.local()


def decompressed(payload: bytes, compression: Compression, size: int) -> bytes:
    """Return *payload* decompressed, or as it is when it is not compressed.

    Raises Damaged when it is not what it claims, Unavailable when a package is missing.
    """
    if compression is Compression.NONE:
        return payload
    if compression is Compression.UNKNOWN:
        raise Damaged("It is packed in a way that is not known.")
    return decompress(payload, compression, size)


def decompress(payload: bytes, compression: Compression, size: int) -> bytes:
    """Return *payload* decompressed to exactly *size* bytes.

    Raises Damaged when it is not what it claims, Unavailable when the package that reads this
    compression is not installed.
    """
    if not believable(len(payload), size, compression):
        raise Damaged(f"It claims to unpack {len(payload):,} bytes to {size:,}.")
    data = _lz4(payload, size) if compression is Compression.LZ4 else _zstd(payload, size)
    _expect(len(data), size)
    return data


def decompress_into(payload: memoryview, compression: Compression, memory: memoryview) -> None:
    """Decompress an LZ4 or Zstandard *payload* into *memory*, which it must fill exactly.

    Raises Damaged when it is not what it claims, Unavailable when the package is missing.
    """
    if compression is Compression.LZ4:
        _lz4_into(bytes(payload), memory)
    else:
        _zstd_into(payload, memory)


def _lz4_into(payload: bytes, memory: memoryview) -> None:
    decompress_safe = _lz4_decompress_safe()
    if decompress_safe is None or not memory:
        memory[:] = decompress(payload, Compression.LZ4, len(memory))
        return
    size = decompress_safe(payload, memory)
    if size < 0:
        raise Damaged(_BROKEN_LZ4)
    _expect(size, len(memory))


@cache
def _lz4_decompress_safe() -> Callable[[bytes, memoryview], int] | None:
    """Return the C function beneath the package lz4, None where it cannot be reached.

    The package's own call unpacks into new memory and copies that: fresh pages take longer than
    unpacking. Raises Unavailable when the package is missing.
    """
    block = _lz4_block()
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


def _zstd_into(payload: memoryview, memory: memoryview) -> None:
    try:
        import zstandard
    except ImportError as error:
        raise _missing("Zstandard", "zstandard", error) from None
    try:
        frame = zstandard.get_frame_parameters(payload)
        # An unknown size, or a lie; or a check that may be cut off, which a stream does not miss.
        if frame.content_size != len(memory) or frame.has_checksum:
            memory[:] = decompress(bytes(payload), Compression.ZSTD, len(memory))
            return
        with _decompressor().stream_reader(payload) as reader:
            if reader.readinto(memory) != len(memory):  # the data end early
                raise Damaged(_BROKEN)
    except zstandard.ZstdError:
        raise Damaged(_BROKEN) from None


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
    """Return what the first sequences of an LZ4 block make: literals, then a copy of what is there.

    The package cannot stop early, and an image is a thousand times longer.
    """
    out = bytearray()
    data = iter(payload[:_ENOUGH])
    try:
        while len(out) < size:
            token = next(data)
            out += bytes(islice(data, min(_length(token >> 4, data), size)))
            if len(out) >= size:
                break
            distance = next(data) | next(data) << 8
            if not 0 < distance <= len(out):
                raise Damaged(_BROKEN_LZ4)
            for _ in range(min(_length(token & 15, data) + _LEAST_COPY, size)):
                out.append(out[-distance])
    except StopIteration:
        pass  # a block ends with literals
    return bytes(out[:size])


_LEAST_COPY = 4
_ENOUGH = 1 << 12  # bytes of a block for its first few


def _length(nibble: int, data: Iterator[int]) -> int:
    length = nibble
    if nibble == 15:
        while (more := next(data)) == 255:
            length += more
        length += more
    return length


def _first_of_zstd(payload: bytes, size: int) -> bytes:
    try:
        import zstandard
    except ImportError as error:
        raise _missing("Zstandard", "zstandard", error) from None
    try:
        with _decompressor().stream_reader(payload) as reader:
            return bytes(reader.read(size))
    except zstandard.ZstdError:
        raise Damaged(_BROKEN) from None


def believable(packed: int, size: int, compression: Compression = Compression.ZSTD) -> bool:
    """Return whether *packed* bytes can hold *size* bytes."""
    return size <= min(MAX_UNPACKED, _MAX_RATIO.get(compression, 0) * packed + _SLACK)


def _expect(length: int, size: int) -> None:
    if length != size:
        raise Damaged(f"It unpacks to {length:,} bytes, not the {size:,} it claims.")


def _lz4(payload: bytes, size: int) -> bytes:
    block = _lz4_block()
    try:
        return bytes(block.decompress(payload, uncompressed_size=size))
    except block.LZ4BlockError:
        raise Damaged(_BROKEN_LZ4) from None


def _lz4_block() -> ModuleType:
    try:
        from lz4 import block
    except ImportError as error:
        raise _missing("LZ4", "lz4", error) from None
    module: ModuleType = block
    return module


def _zstd(payload: bytes, size: int) -> bytes:
    try:
        import zstandard
    except ImportError as error:
        raise _missing("Zstandard", "zstandard", error) from None
    try:
        # The library trusts the frame's size over the caller's, so check the frame first.
        announced = zstandard.frame_content_size(payload)
        if announced not in (-1, size):
            raise Damaged(f"Its frame holds {announced:,} bytes, not the {size:,} it claims.")
        return bytes(_decompressor().decompress(payload, max_output_size=size))
    except zstandard.ZstdError:
        raise Damaged(_BROKEN) from None


def _decompressor() -> ZstdDecompressor:
    import zstandard

    if not hasattr(_thread_local, "decompressor"):
        _thread_local.decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_UNPACKED)
    decompressor: ZstdDecompressor = _thread_local.decompressor
    return decompressor


def _missing(name: str, package: str, error: ImportError) -> Unavailable:
    why, install = f"cannot be loaded: {error}", f"Install {package} again, or give it more memory"
    if isinstance(error, ModuleNotFoundError):
        why, install = "is not installed", f"pip install {package}"
    return Unavailable(
        f"Some images are packed with {name}, and the Python package {package} {why}.",
        hint=f"{install}. Listing the entries alone needs no package.",
    )
