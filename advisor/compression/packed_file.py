"""Files packed as a whole with gzip or Zstandard, read as what is in them, within bounds."""

from __future__ import annotations

import io
import zlib
from enum import StrEnum
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol

from gpuadvise.advisor.compression import zstd
from gpuadvise.advisor.errors import BadInput, Unavailable

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from gpuadvise.advisor.compression.zstd import FrameStream


class Packing(StrEnum):
    """What a file is packed with, as a sentence names it."""

    GZIP = "gzip"
    ZSTD = "Zstandard"


_MAGIC = {b"\x1f\x8b": Packing.GZIP, b"\x28\xb5\x2f\xfd": Packing.ZSTD}
_GZIP_FORMAT = 31  # of zlib: a window of 32 KiB, and the header of gzip
# What is read at once, and what is unpacked at once: a run of equal bytes is packed 1,032 to 1 by gzip, and
# 32,768 to 1 by Zstandard, so that neither gives more than 32 MiB.
_BLOCK = 1 << 16
_PIECE = {Packing.GZIP: 1 << 14, Packing.ZSTD: 1 << 10}


def packing_of(head: bytes) -> Packing | None:
    """Return what a file is packed with that starts with *head*; None where it is not."""
    return next((packing for magic, packing in _MAGIC.items() if head.startswith(magic)), None)


class UnpackingBounds(NamedTuple):
    """How much a file may unpack to: *freely* bytes, or *times* its size, and *most* in any case."""

    freely: int
    times: int
    most: int


class Readable(Protocol):
    """What can be read."""

    def read(self, size: int, /) -> bytes:
        """Return up to *size* bytes, none at the end."""


class PackedStream:
    """A gzip or Zstandard stream, unpacked as far as *bounds* allow.

    *name* is the file's in sentences. After the end *fault* says what is wrong with the packed
    data, in words behind "its data": what follows a fault is not read.
    """

    def __init__(
        self, packed: Readable, packing: Packing, name: str, bounds: UnpackingBounds
    ) -> None:
        self.fault: str | None = None
        self.name = name
        self._packed = packed
        self._packing = packing
        self._bounds = bounds
        self._packed_size = 0
        self._size = 0
        self._block = b""  # packed bytes that were read, unpacked up to ``_at``
        self._at = 0
        self._piece = b""  # unpacked bytes that were not given up to ``_given``
        self._given = 0
        self._frame: FrameStream | None = None
        self._errors: type[Exception] = zlib.error

    def read(self, size: int, /) -> bytes:
        """Return *size* bytes, fewer at the end; raises BadInput beyond the bounds.

        Raises Unavailable where nothing here reads Zstandard.
        """
        parts = []
        while size > 0:
            if self._given == len(self._piece):
                self._piece, self._given = self._next(), 0
                if not self._piece:
                    break
            part = self._piece[self._given : self._given + size]
            self._given += len(part)
            size -= len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _next(self) -> bytes:
        """Return some more bytes, none at the end."""
        while not self.fault:
            if self._at == len(self._block):
                self._block, self._at = self._packed.read(_BLOCK), 0
                self._packed_size += len(self._block)
                if not self._block:
                    self.fault = None if self._frame and self._frame.eof else "end early"
                    return b""
            data = self._block[self._at : self._at + _PIECE[self._packing]]
            frame = self._open_frame()
            try:
                piece = frame.decompress(data)
            except self._errors:
                self.fault = "are damaged"
                return b""
            self._at += len(data) - (len(frame.unused_data) if frame.eof else 0)
            if piece:
                self._check(len(piece))
                return piece
        return b""

    def _open_frame(self) -> FrameStream:
        """Return the frame that is being unpacked; where one has ended the next one."""
        if self._frame is None or self._frame.eof:
            self._frame = self._next_frame()
        return self._frame

    def _next_frame(self) -> FrameStream:
        if self._packing is Packing.GZIP:
            return zlib.decompressobj(wbits=_GZIP_FORMAT)
        try:
            frame, self._errors = zstd.stream()
        except ImportError as error:
            raise _missing(self.name, error) from None
        return frame

    def _check(self, more: int) -> None:
        self._size += more
        freely, times, most = self._bounds
        if self._size > max(freely, times * self._packed_size):
            raise BadInput(
                f"{self.name}: it unpacks to more than {times:,} times its size, as no profiler writes."
            )
        if self._size > most:
            raise BadInput(
                f"{self.name}: it unpacks to more than {most >> 30} GiB.",
                hint="Unpack it yourself.",
            )


def _missing(name: str, error: ImportError) -> Unavailable:
    why = f"cannot be loaded: {error}"
    if isinstance(error, ModuleNotFoundError):
        why = "is not installed"
    return Unavailable(
        f"{name} is packed with Zstandard, and the Python package zstandard {why}.",
        hint="pip install zstandard, or use Python 3.14, or unpack it first: zstd -d FILE",
    )


class _UnpackedFile(io.RawIOBase):
    """What a packed file holds, front to back; it can be begun again."""

    def __init__(
        self, packed: IO[bytes], packing: Packing, name: str, bounds: UnpackingBounds
    ) -> None:
        self._packed = packed
        self._start = packed.tell()
        self._made = (packing, name, bounds)
        self._position = 0
        self._stream = PackedStream(packed, *self._made)

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that it can be begun again."""
        return True

    def tell(self) -> int:
        """Return how many bytes were read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Begin again; raises UnsupportedOperation for any other place."""
        if (offset, whence) != (0, io.SEEK_SET):
            raise io.UnsupportedOperation("a packed file is read front to back")
        self._packed.seek(self._start)
        self._stream = PackedStream(self._packed, *self._made)
        self._position = 0
        return 0

    def readinto(self, memory: WriteableBuffer, /) -> int:
        """Fill *memory* as far as there is something; raises BadInput where the data are damaged."""
        view = memoryview(memory)
        data = self._stream.read(len(view))
        view[: len(data)] = data
        if not data and self._stream.fault:
            packing, name, _ = self._made
            raise BadInput(
                f"{name}: its {packing} data {self._stream.fault}.",
                hint="Is the copy or download complete?",
            )
        self._position += len(data)
        return len(data)


def unpacked(
    file: IO[bytes], packing: Packing, name: str, bounds: UnpackingBounds
) -> io.BufferedReader:
    """Return what *file*, packed with *packing* and open where that begins, holds.

    It is read front to back, and can be begun again. Reading raises BadInput, with *name*, beyond
    *bounds* and where the data end early or are damaged; Unavailable where nothing reads them.
    """
    return io.BufferedReader(_UnpackedFile(file, packing, name, bounds), _BLOCK)


def first_bytes(file: IO[bytes], size: int, name: str) -> bytes:
    """Return the first *size* bytes of *file*, or of what is in it where that can be unpacked.

    Fewer where there are no more. The file is left where it stands. Raises Unavailable, with
    *name*, where nothing here reads it.
    """
    start = file.tell()
    try:
        head = file.read(size)
        packing = packing_of(head)
        if packing is None:
            return head
        file.seek(start)
        return PackedStream(file, packing, name, UNBOUNDED).read(size) or head
    finally:
        file.seek(start)


UNBOUNDED = UnpackingBounds(freely=1 << 63, times=1, most=1 << 63)  # reading stops before
