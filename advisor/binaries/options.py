"""What to read from a binary; nothing else is decompressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.model import Content

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.binaries.dynamic_section import DynamicSection
    from gpuadvise.advisor.binaries.model import Entry

    Progress = Callable[[str, int, int], None]

_READABLE = (Content.SASS, Content.PTX)


class ReadOptions(NamedTuple):
    """Which items a reader yields; entries always come.

    *kernels*: False yields entries and damage only, and decompresses nothing but likely stubs.
    *tally*: without kernels, may collapse equal entries into an ``EntryTally``.
    *toolkits*: without kernels, tell which toolkit made an image.
    *dynamic*: called with the path or member of each library and what it asks the loader for.
    *tables*: may yield the kernels of many images as one ``KernelTable``, behind their entries.
    *processes*: how many may read the images of one large file, named by its path.
    *instructions*: count them, and those in double precision.
    *progress*: called with the name of a wheel's member, its bytes so far, and all of them.
    *select*: picks, among the images and PTX programs of one module, those whose kernels to read;
    by default all images, or the PTX where there are none.
    """

    kernels: bool = True
    tally: bool = False
    toolkits: bool = False
    dynamic: Callable[[str, DynamicSection], None] | None = None
    tables: bool = False
    processes: int = 1
    instructions: bool = False
    progress: Progress | None = None
    select: Callable[[tuple[Entry, ...]], tuple[Entry, ...]] | None = None

    def pick(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return those of one module's *entries* whose kernels are to be read."""
        if not self.kernels:
            return ()
        readable = tuple(entry for entry in entries if entry.content in _READABLE)
        if self.select is not None:
            return self.select(readable)
        images = tuple(entry for entry in readable if entry.content is Content.SASS)
        return images or readable
