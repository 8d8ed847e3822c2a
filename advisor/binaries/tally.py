"""Identical entries collapsed into a count, which is all that a summary needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gpuadvise.advisor.binaries.fatbin.entry import LAYOUT
from gpuadvise.advisor.binaries.fatbin.images import MAX_STUB
from gpuadvise.advisor.binaries.model import Compression, Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.capability import Capability

# cuFFT has 22 in its 18,236 entries. A file of forged names must not fill the memory.
_MAX_KINDS = 10_000
_PAYLOAD_SIZE, _PACKED_SIZE, _UNPACKED_SIZE = 3, 4, 13  # indices in ``EntryFields``


class EntryTally(NamedTuple):
    """*times* more modules of one entry, equal to *entry* but for place and sizes.

    *size*: the sum of their stored bytes.
    """

    entry: Entry
    times: int
    size: int

    @property
    def capability(self) -> Capability | None:
        """Their target."""
        return self.entry.capability


class TallyByHeader:
    """Single-entry containers of one file or member, by their header fields without sizes."""

    def __init__(self) -> None:
        self._counts: dict[object, _Count] = {}

    def count_if_known(self, section: str | None, fields: tuple[Any, ...], header: bytes) -> bool:
        """Count an entry if an equal one was added before; return whether it was counted."""
        count = self._counts.get(_key(section, fields, header))
        # Small ones may be stubs, which only their payloads tell.
        if count is None or fields[count.size_at] <= MAX_STUB:
            return False
        count.times += 1
        count.size += fields[_PACKED_SIZE] or fields[_PAYLOAD_SIZE]
        return True

    def add(self, fields: tuple[Any, ...], header: bytes, entry: Entry) -> None:
        """Start a count of entries equal to *entry*."""
        if len(self._counts) < _MAX_KINDS:
            self._counts[_key(entry.place.section, fields, header)] = _Count(entry)

    def tallies(self) -> Iterator[EntryTally]:
        """Yield one tally for each entry that came again."""
        return (
            EntryTally(count.entry, count.times, count.size)
            for count in self._counts.values()
            if count.times
        )


class _Count:
    __slots__ = ("entry", "size", "size_at", "times")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.times = self.size = 0
        self.size_at = _PAYLOAD_SIZE if entry.compression is Compression.NONE else _UNPACKED_SIZE


def _key(section: str | None, fields: tuple[Any, ...], header: bytes) -> object:
    # All but the version, which nobody reads, the sizes, and a reserved field.
    return section, fields[0], fields[5:12], header[LAYOUT.size :]
