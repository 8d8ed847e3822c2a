"""Payloads of container entries: unpacked when wanted, told from stubs."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.elf import has_code
from gpuadvise.advisor.binaries.fatbin.decompress import believable, unpack_into, unpacked
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
_MOST_STUB = {Content.SASS: 2500, Content.PTX: 256}
MOST_STUB = max(_MOST_STUB.values())
# Packing makes what is tiny at most this much longer.
_SLACK = 64
# What makes PTX more than a header.
_DEFINING = (b".entry", b".func", b".global", b".const")


def may_be_stub(entry: Entry) -> bool:
    """Return whether *entry* is small enough for one."""
    size = entry.unpacked_size or 0
    if size > MOST_STUB:
        return False  # without looking for its kind: nearly all are larger
    most = _MOST_STUB.get(entry.content, -1)
    return size <= most and entry.size <= most + _SLACK


def is_empty(image: bytes, content: Content) -> bool:
    """Return whether there is no code in *image*; raises Damaged when that cannot be told."""
    if content is Content.SASS:
        return not has_code(MemorySpan(image))
    return not any(word in image for word in _DEFINING)


# A device link leaves the same few stubs behind in thousands of modules.
@lru_cache(maxsize=256)
def unpacks_to_nothing(
    payload: bytes, content: Content, compression: Compression, size: int
) -> bool:
    """Return whether *payload* unpacks to no code; raises as ``unpacked`` and ``is_empty`` do."""
    return is_empty(unpacked(payload, compression, size), content)


# Images up to this, packed and unpacked, may be repeated: once is enough for all neighbours.
MOST_SMALL = 1 << 13
# Images packed together are not unpacked for the sake of a stub beyond this.
_MOST_SHARED = 1 << 24
# Whole libraries unpack to four times their size; what unpacks to more than this wastes our time.
_MOST_TIMES_FILE = 64
_SLACK_FILE = 1 << 30
# What lies between payloads is read with them when it is not much more.
_MOST_APART = 4


class Opened(NamedTuple):
    """A payload and the image in it, or why it cannot be unpacked."""

    packed: Packed
    image: Image | Damaged | Unavailable

    def open(self) -> Image:
        """Return the image; raises what was found instead of it."""
        if isinstance(self.image, Damaged | Unavailable):
            raise self.image
        return self.image


def opened(packed: Packed, read: Callable[[Packed], Image]) -> Opened:
    """Return *packed* and what *read* makes of it."""
    try:
        return Opened(packed, read(packed))
    except (Damaged, Unavailable) as error:
        return Opened(packed, error)


def needed(packed: Sequence[Packed]) -> int:
    """Return how much memory the frames among *packed* unpack to."""
    return sum(map(_frame, packed))


def _frame(packed: Packed) -> int:
    """Return the unpacked bytes of one Zstandard frame that can hold them, 0 of anything else."""
    zstd = packed.entry.compression is Compression.ZSTD and packed.part is None
    return packed.unpacked_size if zstd and believable(packed.size, packed.unpacked_size) else 0


class Images:
    """Reads the payloads of one span; keeps the last one, which parts of an entry may share."""

    def __init__(self, span: FileSpan) -> None:
        self.size = span.size
        self._span = span
        self._kept: tuple[int, bytes] = (-1, b"")
        self._left = _MOST_TIMES_FILE * span.size + _SLACK_FILE

    def open(self, packed: Packed) -> Image:
        """Return the payload as it was before packing; raises Damaged or Unavailable."""
        if packed.entry.compression is Compression.NONE and packed.part is None:
            return self._span.part(packed.at, packed.size)
        whole = self._whole(packed)
        if packed.part is None:
            return MemorySpan(whole)
        offset, size = packed.part
        return MemorySpan(memoryview(whole)[offset : offset + size])

    def open_all(self, packed: Sequence[Packed], memory: memoryview) -> list[Opened]:
        """Return all of *packed* with their payloads, or why they cannot be had.

        Frames lie in *memory*, of ``needed`` bytes.
        """
        frames = [one for one in packed if _frame(one)]
        stored = self._stored(frames) if frames else None
        if stored is None:
            return [opened(one, self.open) for one in packed]
        start, found = 0, []
        for one in packed:
            size = _frame(one)
            into = partial(self._frame_into, stored, memory[start : start + size])
            found.append(opened(one, into if size else self.open))
            start += size
        return found

    def _stored(self, packed: Sequence[Packed]) -> tuple[int, memoryview] | None:
        """Return the bytes of all *packed* and where they start, unless much else lies between."""
        start = min((one.at for one in packed), default=0)
        end = max((one.at + one.size for one in packed), default=0)
        if end - start > _MOST_APART * sum(one.size for one in packed):
            return None
        try:
            return start, self._span.part(start, end - start).view()
        except Damaged:
            return None

    def _frame_into(
        self, stored: tuple[int, memoryview], memory: memoryview, packed: Packed
    ) -> Image:
        start, data = stored
        payload = data[packed.at - start :][: packed.size]
        self._spend(len(memory))
        if max(packed.size, len(memory)) <= MOST_SMALL:
            return MemorySpan(_small_unpacked(bytes(payload), len(memory)))
        unpack_into(payload, memory)
        return MemorySpan(memory)

    def marked(self, packed: Packed) -> Packed:
        """Return *packed*, its entry marked as a stub when there is no code behind it."""
        if not may_be_stub(packed.entry):
            return packed
        try:
            stub = self._is_stub(packed)
        except (Damaged, Unavailable):
            return packed  # reading it will say so
        return as_stub(packed) if stub else packed

    def _is_stub(self, packed: Packed) -> bool:
        entry = packed.entry
        if packed.part is not None:
            if packed.unpacked_size > _MOST_SHARED:
                return False
            image = self.open(packed)
            return is_empty(image.read(0, image.size), entry.content)
        payload = self._span.read(packed.at, packed.size)
        return unpacks_to_nothing(payload, entry.content, entry.compression, packed.unpacked_size)

    def _whole(self, packed: Packed) -> bytes:
        at, data = self._kept
        if at != packed.at:
            data = self._unpacked(packed)
            self._kept = (packed.at, data) if packed.part else (-1, b"")
        return data

    def _unpacked(self, packed: Packed) -> bytes:
        size, compression = packed.unpacked_size, packed.entry.compression
        if believable(packed.size, size, compression):  # a mere claim costs the others nothing
            self._spend(size)
        # A part of its own, because several threads may be at it.
        payload = self._span.part(packed.at, packed.size).read(0, packed.size)
        return unpacked(payload, compression, size)

    def _spend(self, size: int) -> None:
        if self._left < 0:
            raise Damaged("The images before it unpack to far more than such a file can hold.")
        self._left -= size


# Some libraries repeat the same small images in hundreds of modules. A thread that unpacks one
# waits for the interpreter longer than it unpacks.
@lru_cache(maxsize=256)
def _small_unpacked(payload: bytes, size: int) -> bytes:
    memory = bytearray(size)
    unpack_into(memoryview(payload), memoryview(memory))
    return bytes(memory)
