"""Zstandard by the package zstandard, or where that cannot be loaded by Python 3.14's own module.

Everything here raises ImportError, that of the package, where there is neither.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from types import ModuleType

    from zstandard import ZstdDecompressor

# The largest window that a frame may ask for: what an image unpacks to at most.
_WINDOW_LOG = 28


class BrokenFrame(Exception):
    """What is no Zstandard frame, or a damaged one."""


class FrameStream(Protocol):
    """One frame, unpacked piece by piece."""

    @property
    def eof(self) -> bool:
        """Whether it has ended."""

    @property
    def unused_data(self) -> bytes:
        """What comes behind its end."""

    def decompress(self, data: bytes, /) -> bytes:
        """Return what the next packed bytes hold; raises the module's own error."""


class _Implementation(Protocol):
    """What is needed of a module that unpacks Zstandard; every method raises its *error*."""

    error: type[Exception]

    def frame_size(self, payload: bytes) -> int | None: ...

    def decompress(self, payload: bytes, most: int) -> bytes: ...

    def fill(self, payload: memoryview, memory: memoryview) -> bool: ...

    def first_bytes(self, payload: bytes, size: int) -> bytes: ...

    def stream(self) -> FrameStream: ...


def frame_size(payload: bytes) -> int | None:
    """Return how many bytes the frame *payload* says it unpacks to; None where it does not say."""
    used = _implementation()
    try:
        return used.frame_size(payload)
    except used.error:
        raise BrokenFrame from None


def decompress(payload: bytes, most: int) -> bytes:
    """Return what the frame *payload* holds, of at most *most* bytes; raises BrokenFrame."""
    used = _implementation()
    try:
        return used.decompress(payload, most)
    except used.error:
        raise BrokenFrame from None


def fill(payload: memoryview, memory: memoryview) -> bool:
    """Unpack *payload* straight into *memory*, which it must fill; raises BrokenFrame.

    False, and nothing is unpacked, where that is not possible: the frame does not state this very
    size, has a check sum, or the module cannot.
    """
    used = _implementation()
    try:
        return used.fill(payload, memory)
    except used.error:
        raise BrokenFrame from None


def first_bytes(payload: bytes, size: int) -> bytes:
    """Return up to *size* bytes of what *payload* begins with, unpacked; raises BrokenFrame."""
    used = _implementation()
    try:
        return used.first_bytes(payload, size)
    except used.error:
        raise BrokenFrame from None


def stream() -> tuple[FrameStream, type[Exception]]:
    """Return what unpacks one frame piece by piece, and the error that it raises."""
    used = _implementation()
    return used.stream(), used.error


@cache
def _implementation() -> _Implementation:
    try:
        import zstandard
    except ImportError:
        try:
            from importlib import import_module

            return _Standard(import_module("compression.zstd"))  # from Python 3.14 on
        except ImportError:
            pass
        raise
    return _Package(zstandard)


class _Package:
    """The package zstandard."""

    def __init__(self, zstandard: ModuleType) -> None:
        self.error: type[Exception] = zstandard.ZstdError
        self._zstandard = zstandard
        # Making a decompressor takes longer than unpacking a stub; threads must not share one.
        self._threads = threading.local()

    def frame_size(self, payload: bytes) -> int | None:
        size: int = self._zstandard.frame_content_size(payload)
        return None if size == -1 else size

    def decompress(self, payload: bytes, most: int) -> bytes:
        return bytes(self._decompressor().decompress(payload, max_output_size=most))

    def fill(self, payload: memoryview, memory: memoryview) -> bool:
        frame = self._zstandard.get_frame_parameters(payload)
        # An unknown size, or a lie; or a check that may be cut off, which a stream does not miss.
        if frame.content_size != len(memory) or frame.has_checksum:
            return False
        with self._decompressor().stream_reader(payload) as reader:
            if reader.readinto(memory) != len(memory):  # the data end early
                raise BrokenFrame
        return True

    def first_bytes(self, payload: bytes, size: int) -> bytes:
        with self._decompressor().stream_reader(payload) as reader:
            return bytes(reader.read(size))

    def stream(self) -> FrameStream:
        return self._new_decompressor().decompressobj()

    def _decompressor(self) -> ZstdDecompressor:
        if not hasattr(self._threads, "decompressor"):
            self._threads.decompressor = self._new_decompressor()
        decompressor: ZstdDecompressor = self._threads.decompressor
        return decompressor

    def _new_decompressor(self) -> ZstdDecompressor:
        made: ZstdDecompressor = self._zstandard.ZstdDecompressor(max_window_size=1 << _WINDOW_LOG)
        return made


class _Standard:
    """The module compression.zstd of Python's own library."""

    def __init__(self, zstd: ModuleType) -> None:
        self.error: type[Exception] = zstd.ZstdError
        self._zstd = zstd
        self._options = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}

    def frame_size(self, payload: bytes) -> int | None:
        size: int | None = self._zstd.get_frame_info(payload).decompressed_size
        return size

    def decompress(self, payload: bytes, most: int) -> bytes:
        frame = self._frame()
        data: bytes = frame.decompress(payload, max_length=most + 1)  # with room for its end
        if len(data) > most or not frame.eof:
            raise BrokenFrame
        return data

    def fill(self, payload: memoryview, memory: memoryview) -> bool:
        return False

    def first_bytes(self, payload: bytes, size: int) -> bytes:
        data: bytes = self._frame().decompress(payload, max_length=size)
        return data

    def stream(self) -> FrameStream:
        made: FrameStream = self._frame()
        return made

    def _frame(self) -> Any:
        return self._zstd.ZstdDecompressor(options=self._options)
