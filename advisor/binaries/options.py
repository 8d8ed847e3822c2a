"""What the caller of a reader wants, so that nothing else is unpacked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.model import Content

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.binaries.model import Entry

    Told = Callable[[str, int], None]

_READABLE = (Content.SASS, Content.PTX)


class ReadOptions(NamedTuple):
    """Which items a reader gives; entries are always given.

    *kernels*: False gives entries and damage only, and unpacks nothing but likely stubs.
    *counted*: without kernels, entries that are as one before may come as ``Counted`` only.
    *processes*: how many may read the images of one large file, named by its path.
    *instructions*: count them, and those in double precision.
    *unpacking*: called with the name of a wheel's member and its bytes so far.
    *chosen*: of the images and PTX programs of one module, those whose kernels are wanted; by
    default all images, or where there are none the PTX.
    """

    kernels: bool = True
    counted: bool = False
    processes: int = 1
    instructions: bool = False
    unpacking: Told | None = None
    chosen: Callable[[tuple[Entry, ...]], tuple[Entry, ...]] | None = None

    def pick(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return those of one module's *entries* whose kernels are to be read."""
        if not self.kernels:
            return ()
        readable = tuple(entry for entry in entries if entry.content in _READABLE)
        if self.chosen is not None:
            return self.chosen(readable)
        images = tuple(entry for entry in readable if entry.content is Content.SASS)
        return images or readable
