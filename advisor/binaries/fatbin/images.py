"""Payloads of container entries, decompressed on demand; stubs (images without code) marked."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.elf import has_code
from gpuadvise.advisor.binaries.fatbin.decompress import believable, decompress_into, decompressed
from gpuadvise.advisor.binaries.fatbin.entry import as_stub
from gpuadvise.advisor.binaries.model import Compression, Content
from gpuadvise.advisor.binaries.span import Damaged, MemorySpan
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.advisor.binaries.fatbin.entry import Packed
    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.binaries.span import FileSpan, Image


# Images without code are 872 bytes (old ABI) or about 1,900 (new ABI), PTX without is 56.
_MAX_STUB_BY_CONTENT = {Content.SASS: 2500, Content.PTX: 256}
MAX_STUB = max(_MAX_STUB_BY_CONTENT.values())
# Packing makes what is tiny at most this much longer.
_SLACK = 64
# What makes PTX more than a header.
_DEFINING = (b".entry", b".func", b".global", b".const")


def may_be_stub(entry: Entry) -> bool:
    """Return whether *entry* is small enough for one."""
    size = entry.unpacked_size or 0
    if size > MAX_STUB:
        return False  # without looking for its kind: nearly all are larger
    most = _MAX_STUB_BY_CONTENT.get(entry.content, -1)
    return size <= most and entry.size <= most + _SLACK


def is_empty(image: bytes, content: Content) -> bool:
    """Return whether there is no code in *image*; raises Damaged when that cannot be told."""
    if content is Content.SASS:
        return not has_code(MemorySpan(image))
    return not any(word in image for word in _DEFINING)


# A device link leaves the same few stubs behind in thousands of modules.
@lru_cache(maxsize=256)
def decompresses_to_nothing(
    payload: bytes, content: Content, compression: Compression, size: int
) -> bool:
    """Return whether *payload* holds no code; raises Damaged when it is broken."""
    return is_empty(decompressed(payload, compression, size), content)


# Images up to this, packed and unpacked, may be repeated: once is enough for all neighbours.
MAX_SMALL = 1 << 13
# Images packed together are not unpacked for the sake of a stub beyond this.
_MAX_SHARED = 1 << 24
# Whole libraries decompress to four times their size; one that exceeds this is a bomb.
_MAX_TIMES_FILE = 64
_SLACK_FILE = 1 << 30
_COMPRESSED = (Compression.LZ4, Compression.ZSTD)
# Gaps between payloads are read with them up to this multiple of the payloads.
_MAX_GAP_TIMES = 4


class Opened(NamedTuple):
    """A payload and the image in it, or why it cannot be decompressed."""

    packed: Packed
    image: Image | Damaged | Unavailable

    def open(self) -> Image:
        """Return the image; raises Damaged or Unavailable when it could not be decompressed."""
        if isinstance(self.image, Damaged | Unavailable):
            raise self.image
        return self.image


def opened(packed: Packed, read: Callable[[Packed], Image]) -> Opened:
    """Return *packed* with the image that *read* returns, or the error it raises."""
    try:
        return Opened(packed, read(packed))
    except (Damaged, Unavailable) as error:
        return Opened(packed, error)


def needed(packed: Sequence[Packed]) -> int:
    """Return how many bytes those of *packed* take that are decompressed into given memory."""
    return sum(map(_decompressed_size, packed))


def _decompressed_size(packed: Packed) -> int:
    """Return the size of what is decompressed into given memory, 0 of anything else or a false claim."""
    compression, size = packed.entry.compression, packed.unpacked_size
    whole = compression in _COMPRESSED and packed.part is None
    return size if whole and believable(packed.size, size, compression) else 0


class Images:
    """The payloads of one span, decompressed; the last is cached: parts of an entry may share it."""

    def __init__(self, span: FileSpan) -> None:
        self.size = span.size
        self._span = span
        self._kept: tuple[int, bytes] = (-1, b"")
        self._left = _MAX_TIMES_FILE * span.size + _SLACK_FILE

    def open(self, packed: Packed) -> Image:
        """Return the decompressed payload; raises Damaged or Unavailable."""
        if packed.entry.compression is Compression.NONE and packed.part is None:
            return self._span.part(packed.at, packed.size)
        whole = self._whole(packed)
        if packed.part is None:
            return MemorySpan(whole)
        offset, size = packed.part
        return MemorySpan(memoryview(whole)[offset : offset + size])

    def open_all(self, packed: Sequence[Packed], memory: memoryview) -> list[Opened]:
        """Return all of *packed* with their images, or why they cannot be decompressed.

        Whole images are decompressed into *memory*, of ``needed`` bytes.
        """
        whole = [payload for payload in packed if _decompressed_size(payload)]
        stored = self._stored(whole) if whole else None
        if stored is None:
            return [opened(payload, self.open) for payload in packed]
        start, images = 0, []
        for payload in packed:
            size = _decompressed_size(payload)
            into = partial(self._open_into, stored, memory[start : start + size])
            images.append(opened(payload, into if size else self.open))
            start += size
        return images

    def _stored(self, packed: Sequence[Packed]) -> tuple[int, memoryview] | None:
        """Return the offset and bytes of all *packed*; None when the gaps between are too large."""
        start = min((payload.at for payload in packed), default=0)
        end = max((payload.at + payload.size for payload in packed), default=0)
        if end - start > _MAX_GAP_TIMES * sum(payload.size for payload in packed):
            return None
        try:
            return start, self._span.part(start, end - start).view()
        except Damaged:
            return None

    def _open_into(
        self, stored: tuple[int, memoryview], memory: memoryview, packed: Packed
    ) -> Image:
        start, data = stored
        payload = data[packed.at - start :][: packed.size]
        self._spend(len(memory))
        compression = packed.entry.compression
        if max(packed.size, len(memory)) <= MAX_SMALL:
            return MemorySpan(_small_decompressed(bytes(payload), compression, len(memory)))
        decompress_into(payload, compression, memory)
        return MemorySpan(memory)

    def with_stub_mark(self, packed: Packed) -> Packed:
        """Return *packed*, its entry marked as a stub when there is no code behind it."""
        if not may_be_stub(packed.entry):
            return packed
        try:
            stub = self._is_stub(packed)
        except (Damaged, Unavailable):
            return packed  # reading it will report the damage
        return as_stub(packed) if stub else packed

    def _is_stub(self, packed: Packed) -> bool:
        entry = packed.entry
        if packed.part is not None:
            if packed.unpacked_size > _MAX_SHARED:
                return False
            image = self.open(packed)
            return is_empty(image.read(0, image.size), entry.content)
        payload = self._span.read(packed.at, packed.size)
        return decompresses_to_nothing(
            payload, entry.content, entry.compression, packed.unpacked_size
        )

    def _whole(self, packed: Packed) -> bytes:
        at, data = self._kept
        if at != packed.at:
            data = self._decompressed(packed)
            self._kept = (packed.at, data) if packed.part else (-1, b"")
        return data

    def _decompressed(self, packed: Packed) -> bytes:
        size, compression = packed.unpacked_size, packed.entry.compression
        if believable(packed.size, size, compression):  # a false claim is not charged
            self._spend(size)
        # A span of its own, because several threads may read at once.
        payload = self._span.part(packed.at, packed.size).read(0, packed.size)
        return decompressed(payload, compression, size)

    def _spend(self, size: int) -> None:
        if self._left < 0:
            raise Damaged("The images before it unpack to far more than such a file can hold.")
        self._left -= size


# Some libraries repeat the same small images in hundreds of modules. A thread that decompresses
# one waits for the GIL longer than it decompresses.
@lru_cache(maxsize=256)
def _small_decompressed(payload: bytes, compression: Compression, size: int) -> bytes:
    memory = bytearray(size)
    decompress_into(memoryview(payload), compression, memoryview(memory))
    return bytes(memory)
