"""Batches of decompressed images: vectorised where that pays, else read one by one."""

from __future__ import annotations

import os
from contextlib import contextmanager
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.cubin.reader import read_cubin
from gpuadvise.advisor.binaries.fatbin.entry import Packed
from gpuadvise.advisor.binaries.fatbin.images import MAX_SMALL, Opened
from gpuadvise.advisor.binaries.model import Compression, Content, Damage
from gpuadvise.advisor.binaries.span import Damaged, MemorySpan
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gpuadvise.advisor.binaries.kernel_table import KernelTable
    from gpuadvise.advisor.binaries.model import Entry, Kernel, Place
    from gpuadvise.advisor.capability import Capability

    KernelsByImage = list[list[Kernel] | None]

_THREADS = "OPENBLAS_NUM_THREADS"
# A larger image that is not compressed is read piece by piece.
_MAX_VIEWED = 1 << 26


def read_batch(
    items: Sequence[Entry | Damage | Opened | Mark],
    *,
    arrays: bool,
    instructions: bool = False,
    table: bool = False,
) -> Iterator[Kernel | KernelTable | Entry | Damage | Mark]:
    """Yield *items*, images as their kernels, their *instructions* counted on request.

    With *arrays* ordinary images are read all at once, where numpy is installed; as one *table*
    where that is wanted and all of them are ordinary. Raises Unavailable without the package to
    decompress one.
    """
    if table and arrays and not instructions and (kernel_table := _as_table(items)):
        yield from (item for item in items if not isinstance(item, Opened))
        yield kernel_table
        return
    kernels_by_number = _by_arrays(items) if arrays and not instructions else {}
    for number, item in enumerate(items):
        if not isinstance(item, Opened):
            yield item
        elif number in kernels_by_number:
            yield from kernels_by_number[number]
        else:
            yield from _read_alone(item, instructions=instructions)


def _by_arrays(items: Sequence[Entry | Damage | Opened | Mark]) -> dict[int, list[Kernel]]:
    """Return the kernels of ordinary images, by their index in *items*."""
    read_images = array_reader()
    opened = {number: item for number, item in enumerate(items) if isinstance(item, Opened)}
    views = {number: view for number, item in opened.items() if (view := _view(item))}
    if not views or read_images is None:
        return {}
    entries = {number: opened[number].packed.entry for number in views}
    firsts = _firsts(entries, views)
    own = [number for number, first in firsts.items() if number == first]
    read = read_images([entries[number] for number in own], [views[number] for number in own])
    kernels_by_number = dict(zip(own, read, strict=True))
    return {
        number: kernels if number == first else _moved(kernels, entries[number].place)
        for number, first in firsts.items()
        if (kernels := kernels_by_number[first]) is not None
    }


def _as_table(items: Sequence[Entry | Damage | Opened | Mark]) -> KernelTable | None:
    """Return the kernels of all images among *items*, None where one must be read alone."""
    opened = [item for item in items if isinstance(item, Opened)]
    views = {number: view for number, item in enumerate(opened) if (view := _view(item))}
    if not opened or len(views) < len(opened) or array_reader() is None:
        return None
    from gpuadvise.advisor.binaries.vectorized.reader import read_table

    entries = {number: item.packed.entry for number, item in enumerate(opened)}
    firsts = _firsts(entries, views)
    own = [number for number, first in firsts.items() if number == first]
    index = {number: image for image, number in enumerate(own)}
    copies = [(index[firsts[number]], entry.place) for number, entry in entries.items()]
    return read_table(
        [entries[number] for number in own], [views[number] for number in own], copies
    )


def _firsts(entries: dict[int, Entry], views: dict[int, memoryview]) -> dict[int, int]:
    """Return for each image the first one with the same bytes; a large one is not compared."""
    first_by_content: dict[tuple[bytes, Capability | None, bool], int] = {}
    firsts = {}
    for number, view in views.items():
        firsts[number] = number
        if len(view) <= MAX_SMALL:
            entry = entries[number]
            content = (bytes(view), entry.capability, entry.debug)
            firsts[number] = first_by_content.setdefault(content, number)
    return firsts


def _moved(kernels: list[Kernel], place: Place) -> list[Kernel]:
    return [kernel._replace(place=place) for kernel in kernels]


def array_reader() -> Callable[[Sequence[Entry], Sequence[memoryview]], KernelsByImage] | None:
    """Return the vectorised reader of images, None where numpy is not installed."""
    try:
        with _single_threaded_numpy():
            from gpuadvise.advisor.binaries.vectorized.reader import read_images
    except ImportError:
        return None
    return read_images


@contextmanager
def _single_threaded_numpy() -> Iterator[None]:
    """Keep numpy from starting one thread per core for linear algebra, which is not used here."""
    if _THREADS in os.environ:
        yield
        return
    os.environ[_THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[_THREADS]


def _view(item: Opened) -> memoryview | None:
    """Return the bytes of an image that was decompressed, or is small; None of anything else."""
    image = item.image
    if item.packed.entry.content is not Content.SASS or isinstance(image, Damaged | Unavailable):
        return None
    in_memory = isinstance(image, MemorySpan)
    try:
        return image.view() if in_memory or image.size <= _MAX_VIEWED else None
    except Damaged:  # the file shrank: reading it alone will say so
        return None


def _read_alone(item: Opened, *, instructions: bool) -> Iterator[Kernel | Damage]:
    """Yield the kernels of one image or PTX program."""
    entry = item.packed.entry
    try:
        image = item.open()
    except Damaged as damage:
        text = f"An image cannot be unpacked. {damage.message}"
        yield Damage(place=entry.place, message=text)
        return
    if entry.content is Content.PTX:
        from gpuadvise.advisor.binaries.text.reader import read_program  # most files have none

        try:
            yield from read_program(image.read(0, image.size), entry.place)
        except Damaged as damage:
            yield Damage(place=entry.place, message=damage.message)
        return
    yield from read_cubin(
        image,
        entry.place,
        target=entry.capability,
        debug=entry.debug,
        instructions=instructions,
    )


# Decompressed bytes and items of one batch, and the share of them that makes the first one, so
# that the first kernels come at once. Small files have small batches: memory stays below their size.
_BATCH_BYTES = 1 << 24
_SHARE_OF_FILE = 4
_MAX_BATCH_ITEMS = 1 << 12
FIRST = 1 / 16


class Mark(Enum):
    """A mark between items.

    PAUSE: none has arrived yet, so answer those that have waited longest.
    END: the end of a work item; it is yielded in its place.
    """

    PAUSE = auto()
    END = auto()


# lz4 unpacks what is shared by several images into memory of its own and copies that.
_COPIED = 1 << 24


def _weight(packed: Packed) -> int:
    """Return the bytes that decompressing *packed* takes."""
    size = max(packed.size, packed.unpacked_size)
    shared = packed.part is not None and packed.entry.compression is Compression.LZ4
    return 2 * size if shared and size > _COPIED else size


class ImageBatch(NamedTuple):
    """Items whose payloads are decompressed together; *size*: the bytes that takes."""

    items: list[Entry | Damage | Packed | Mark]
    size: int


def batches(
    items: Iterable[Entry | Damage | Packed | Mark], file_size: int, share: float
) -> Iterator[ImageBatch | None]:
    """Yield *items* in batches, the first a *share* of a whole one, and None at each pause."""
    limit = min(_BATCH_BYTES, file_size // _SHARE_OF_FILE)
    gathered: list[Entry | Damage | Packed | Mark] = []
    size, before = 0, -1
    for item in items:
        if item is Mark.PAUSE:
            if gathered:
                yield ImageBatch(gathered, size)
                gathered, size, before = [], 0, -1
            yield None
            continue
        gathered.append(item)
        if isinstance(item, Packed) and item.at != before:  # what parts share counts once
            size, before = size + _weight(item), item.at
        if size >= share * limit or len(gathered) >= share * _MAX_BATCH_ITEMS:
            yield ImageBatch(gathered, size)
            gathered, size, before, share = [], 0, -1, min(2 * share, 1)
    if gathered:
        yield ImageBatch(gathered, size)
