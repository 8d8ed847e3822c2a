"""Batches of opened images read by arrays where that pays, and one by one where not."""

from __future__ import annotations

import os
from contextlib import contextmanager
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.cubin.reader import read_cubin
from gpuadvise.advisor.binaries.fatbin.entry import Packed
from gpuadvise.advisor.binaries.fatbin.images import MOST_SMALL, Opened
from gpuadvise.advisor.binaries.model import Content, Damage
from gpuadvise.advisor.binaries.span import Damaged, MemorySpan
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gpuadvise.advisor.binaries.model import Entry, Kernel, Place
    from gpuadvise.advisor.capability import Capability

    Found = list[list[Kernel] | None]

_THREADS = "OPENBLAS_NUM_THREADS"
# What is not packed is read piece by piece when it is larger.
_MOST_VIEWED = 1 << 26


def read_batch(
    steps: Sequence[Entry | Damage | Opened | Mark], *, arrays: bool, instructions: bool = False
) -> Iterator[Kernel | Entry | Damage | Mark]:
    """Yield *steps*, images as their kernels, their *instructions* counted on request.

    With *arrays* ordinary images are read all at once, where numpy is installed. Raises
    Unavailable without the package to unpack one.
    """
    found = _by_arrays(steps) if arrays and not instructions else {}
    for number, step in enumerate(steps):
        if not isinstance(step, Opened):
            yield step
        elif number in found:
            yield from found[number]
        else:
            yield from _read_alone(step, instructions=instructions)


def _by_arrays(steps: Sequence[Entry | Damage | Opened | Mark]) -> dict[int, list[Kernel]]:
    """Return the kernels of those steps that are ordinary images."""
    read_images = array_reader()
    opened = {number: step for number, step in enumerate(steps) if isinstance(step, Opened)}
    views = {number: view for number, step in opened.items() if (view := _view(step))}
    if not views or read_images is None:
        return {}
    entries = {number: opened[number].packed.entry for number in views}
    firsts = _firsts(entries, views)
    own = [number for number, first in firsts.items() if number == first]
    read = read_images([entries[number] for number in own], [views[number] for number in own])
    found = dict(zip(own, read, strict=True))
    return {
        number: kernels if number == first else _moved(kernels, entries[number].place)
        for number, first in firsts.items()
        if (kernels := found[first]) is not None
    }


def _firsts(entries: dict[int, Entry], views: dict[int, memoryview]) -> dict[int, int]:
    """Return the first image that is the same for each, itself for a large one."""
    known: dict[tuple[bytes, Capability | None, bool], int] = {}
    firsts = {}
    for number, view in views.items():
        firsts[number] = number
        if len(view) <= MOST_SMALL:
            entry = entries[number]
            firsts[number] = known.setdefault((bytes(view), entry.capability, entry.debug), number)
    return firsts


def _moved(kernels: list[Kernel], place: Place) -> list[Kernel]:
    return [kernel._replace(place=place) for kernel in kernels]


def array_reader() -> Callable[[Sequence[Entry], Sequence[memoryview]], Found] | None:
    """Return what reads images all at once, None where numpy is not installed."""
    try:
        with _lone_numpy():
            from gpuadvise.advisor.binaries.vectorized.reader import read_images
    except ImportError:
        return None
    return read_images


@contextmanager
def _lone_numpy() -> Iterator[None]:
    """Keep numpy from starting a thread per core: its linear algebra, unused here, has them spin."""
    if _THREADS in os.environ:
        yield
        return
    os.environ[_THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[_THREADS]


def _view(step: Opened) -> memoryview | None:
    """Return the bytes of an image that was unpacked, or is small; None of anything else."""
    image = step.image
    if step.packed.entry.content is not Content.SASS or isinstance(image, Damaged | Unavailable):
        return None
    in_memory = isinstance(image, MemorySpan)
    try:
        return image.view() if in_memory or image.size <= _MOST_VIEWED else None
    except Damaged:  # the file shrank: reading it alone will say so
        return None


def _read_alone(step: Opened, *, instructions: bool) -> Iterator[Kernel | Damage]:
    """Yield the kernels of one image or PTX program."""
    entry = step.packed.entry
    try:
        image = step.open()
    except Damaged as damage:
        text = f"An image cannot be unpacked. {damage.message}"
        yield Damage(place=entry.place, message=text)
        return
    if entry.content is Content.PTX:
        from gpuadvise.advisor.binaries.text.reader import read_program  # most files have none

        yield from read_program(image.read(0, image.size), entry.place)
        return
    yield from read_cubin(
        image,
        entry.place,
        target=entry.capability,
        debug=entry.debug,
        instructions=instructions,
    )


# Unpacked bytes and steps of one batch, and the share of them that makes the first one, so that
# its kernels come at once. Small files have small batches, so that memory stays below their size.
_BATCH = 1 << 25
_SHARE_OF_FILE = 4
_MOST_STEPS = 1 << 12
FIRST = 1 / 16


class Mark(Enum):
    """What stands between steps.

    PAUSE: no more come for now, so those that have waited longest are wanted.
    END: all of something has come; it is yielded where it stands.
    """

    PAUSE = auto()
    END = auto()


class ImageBatch(NamedTuple):
    """Steps whose payloads are unpacked at once; *size*: of those, unpacked."""

    steps: list[Entry | Damage | Packed | Mark]
    size: int


def batches(
    steps: Iterable[Entry | Damage | Packed | Mark], file_size: int, share: float
) -> Iterator[ImageBatch | None]:
    """Yield *steps* in batches, the first a *share* of a whole one, and None at each pause."""
    most = min(_BATCH, file_size // _SHARE_OF_FILE)
    gathered: list[Entry | Damage | Packed | Mark] = []
    size, before = 0, -1
    for step in steps:
        if step is Mark.PAUSE:
            if gathered:
                yield ImageBatch(gathered, size)
                gathered, size, before = [], 0, -1
            yield None
            continue
        gathered.append(step)
        if isinstance(step, Packed) and step.at != before:  # what parts share counts once
            size, before = size + max(step.size, step.unpacked_size), step.at
        if size >= share * most or len(gathered) >= share * _MOST_STEPS:
            yield ImageBatch(gathered, size)
            gathered, size, before, share = [], 0, -1, min(2 * share, 1)
    if gathered:
        yield ImageBatch(gathered, size)
