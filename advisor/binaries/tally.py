"""Entries that are alike, counted instead of listed: all that a summary needs of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gpuadvise.advisor.binaries.fatbin.entry import LAYOUT
from gpuadvise.advisor.binaries.fatbin.images import MOST_STUB
from gpuadvise.advisor.binaries.model import Compression, Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.capability import Capability

# cuFFT has 22 in its 18,236 entries. A file of forged names must not fill the memory.
_MOST_KINDS = 10_000
_PAYLOAD_SIZE, _PACKED_SIZE, _UNPACKED_SIZE = 3, 4, 13  # as ``entries.Fields`` has them


class EntryTally(NamedTuple):
    """*times* more modules of one entry, all as *entry* but for place and sizes.

    *size*: their stored bytes together.
    """

    entry: Entry
    times: int
    size: int

    @property
    def capability(self) -> Capability | None:
        """Their target."""
        return self.entry.capability


class TallyByHeader:
    """Lone entries of one file or member, by all that their headers say but sizes."""

    def __init__(self) -> None:
        self._found: dict[object, _Count] = {}

    def counted(self, section: str | None, fields: tuple[Any, ...], header: bytes) -> bool:
        """Count an entry as one that was added before; return False when there is none."""
        found = self._found.get(_key(section, fields, header))
        # Small ones may be stubs, which only their payloads tell.
        if found is None or fields[found.size_at] <= MOST_STUB:
            return False
        found.count += 1
        found.size += fields[_PACKED_SIZE] or fields[_PAYLOAD_SIZE]
        return True

    def add(self, fields: tuple[Any, ...], header: bytes, entry: Entry) -> None:
        """Count those that follow and are as *entry*."""
        if len(self._found) < _MOST_KINDS:
            self._found[_key(entry.place.section, fields, header)] = _Count(entry)

    def every(self) -> Iterator[EntryTally]:
        """Yield what was counted."""
        return (
            EntryTally(one.entry, one.count, one.size) for one in self._found.values() if one.count
        )


class _Count:
    __slots__ = ("count", "entry", "size", "size_at")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.count = self.size = 0
        self.size_at = _PAYLOAD_SIZE if entry.compression is Compression.NONE else _UNPACKED_SIZE


def _key(section: str | None, fields: tuple[Any, ...], header: bytes) -> object:
    # All but the version, which nobody reads, the sizes, and a reserved field.
    return section, fields[0], fields[5:12], header[LAYOUT.size :]
