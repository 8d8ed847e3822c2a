"""The next images unpacked while the last ones are read: unpacking needs no interpreter."""

from __future__ import annotations

import os
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from mmap import mmap
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.fatbin.entry import Packed
from gpuadvise.advisor.binaries.fatbin.images import needed
from gpuadvise.advisor.binaries.parallel.batches import FIRST, batches
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from gpuadvise.advisor.binaries.fatbin.images import Images, Opened
    from gpuadvise.advisor.binaries.model import Damage, Entry
    from gpuadvise.advisor.binaries.parallel.batches import ImageBatch, Mark


# Unpacked bytes that may wait, so that memory stays that of the largest image alone.
_MOST_WAITING = 1 << 27
_MOST_WORKERS = 4
# Batches unpacked ahead of the one that is read: each is unpacked by all workers at once.
_MOST_AHEAD = 3
# Handing less than this to a worker takes longer than unpacking it.
_LEAST_SHARE = 1 << 20
# A worker asks for the interpreter after every image, and by default would get it after 5 ms.
_SWITCH_SECONDS = 5e-4


class _Begun(NamedTuple):
    batch: ImageBatch
    memory: mmap
    openings: list[Future[list[Opened]]]


def decompressed_ahead(
    steps: Iterable[Entry | Damage | Packed | Mark],
    images: Images,
    memories: Buffers,
    *,
    first: float = FIRST,
) -> Iterator[list[Entry | Damage | Opened | Mark]]:
    """Yield *steps* in order, several at a time, each payload opened until the next are asked for.

    What is unpacked lies in *memories*. *first* is the share of a batch to begin with. Raises
    Unavailable when no thread can be started.
    """
    workers = min(_MOST_WORKERS, os.cpu_count() or 1)
    waiting: deque[_Begun] = deque()
    with _switching(), ThreadPoolExecutor(workers) as pool:
        for batch in batches(steps, images.size, first):
            if batch is not None:
                waiting.append(_begun(batch, pool, images, memories, workers))
            elif waiting:
                yield from _ended(waiting.popleft(), memories)
            while _enough(waiting):
                yield from _ended(waiting.popleft(), memories)
        while waiting:
            yield from _ended(waiting.popleft(), memories)


def _begun(
    batch: ImageBatch, pool: ThreadPoolExecutor, images: Images, memories: Buffers, workers: int
) -> _Begun:
    payloads = [step for step in batch.steps if isinstance(step, Packed)]
    memory = memories.take(needed(payloads))
    free, openings = memoryview(memory), []
    with startable():
        for share in _shares(payloads, max(_LEAST_SHARE, -(-batch.size // workers))):
            own = needed(share)
            openings.append(pool.submit(images.open_all, share, free[:own]))
            free = free[own:]
    return _Begun(batch, memory, openings)


def _shares(payloads: Iterable[Packed], enough: int) -> Iterator[list[Packed]]:
    """Yield *payloads* in runs of *enough* unpacked bytes; what parts share is in one run."""
    share: list[Packed] = []
    size, before = 0, -1
    for one in payloads:
        if size >= enough and one.at != before:
            yield share
            share, size = [], 0
        share.append(one)
        size, before = size + max(one.size, one.unpacked_size), one.at
    if share:
        yield share


def _ended(begun: _Begun, memories: Buffers) -> Iterator[list[Entry | Damage | Opened | Mark]]:
    payloads = chain.from_iterable(opening.result() for opening in begun.openings)
    steps = begun.batch.steps
    yield [next(payloads) if isinstance(step, Packed) else step for step in steps]
    memories.give(begun.memory)


def _enough(waiting: Sequence[_Begun]) -> bool:
    """Return whether the batches *waiting* keep the workers busy, or fill the memory."""
    size = sum(begun.batch.size for begun in waiting)
    return len(waiting) > 1 and (size > _MOST_WAITING or len(waiting) > _MOST_AHEAD)


@contextmanager
def startable() -> Iterator[None]:
    """Start threads; raises Unavailable when there can be no more."""
    try:
        yield
    except RuntimeError:
        raise Unavailable(
            "No thread can be started to unpack images.",
            hint="Memory, or the number of processes and threads, is limited.",
        ) from None


@contextmanager
def _switching() -> Iterator[None]:
    """Let threads wait less for the interpreter."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


# Sizes are rounded up to this, so that what held one batch holds the next; what nobody touches
# takes no memory.
_ROUNDED = 1 << 26


class Buffers:
    """Hands out memory and takes it back."""

    def __init__(self) -> None:
        self._free: list[mmap] = []

    def take(self, size: int) -> mmap:
        """Return *size* bytes or more, with anything in them; raises Unavailable without any."""
        self._free.sort(key=len)
        for number, buffer in enumerate(self._free):
            if len(buffer) >= size:
                return self._free.pop(number)
        if self._free:
            self._free.pop()  # the largest gives way, so that there are never more than in use
        try:
            return mmap(-1, max(1, -(-size // _ROUNDED)) * _ROUNDED)
        except OSError:
            raise Unavailable(f"No memory is left to unpack {size:,} bytes.") from None

    def give(self, buffer: mmap) -> None:
        """Take *buffer* back, in which nobody looks any more."""
        self._free.append(buffer)
