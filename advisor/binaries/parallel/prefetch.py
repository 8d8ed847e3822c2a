"""Decompress the next batches in threads (LZ4 and Zstandard release the GIL) while one is read.

Where no thread can be started, the thread that reads decompresses them.
"""

from __future__ import annotations

import sys
from collections import deque
from contextlib import contextmanager
from itertools import chain
from mmap import mmap
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.backends.worker_processes import usable_cores
from gpuadvise.advisor.backends.worker_threads import WorkerThreads
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


# Decompressed bytes that may wait: memory stays that of the largest image.
_MAX_PENDING_BYTES = 1 << 27
# With the next batch, which may be one huge image.
_MAX_AT_ONCE = 1 << 29
_MAX_THREADS = 4
# Batches decompressed ahead of the one that is read: all threads share each batch.
_MAX_BATCHES_AHEAD = 2
# Handing less than this to a thread takes longer than decompressing it.
_MIN_SHARE = 1 << 20
# A thread asks for the GIL after every image, and by default would get it after 5 ms.
_SWITCH_SECONDS = 5e-4


class _StartedBatch(NamedTuple):
    batch: ImageBatch
    memory: mmap
    openings: list[Future[list[Opened]]]


def decompressed_ahead(
    items: Iterable[Entry | Damage | Packed | Mark],
    images: Images,
    buffers: Buffers,
    *,
    first: float = FIRST,
) -> Iterator[list[Entry | Damage | Opened | Mark]]:
    """Yield *items* in order, in batches, with payloads opened; a batch is valid until the next.

    Decompressed images lie in *buffers*. *first* is the share of a batch to begin with.
    """
    threads = min(_MAX_THREADS, usable_cores())
    waiting: deque[_StartedBatch] = deque()
    held = 0  # bytes of the batch that was yielded last, which its reader may still hold
    with _short_switch_interval(), WorkerThreads(threads) as pool:
        for batch in batches(items, images.size, first):
            if batch is not None:
                while waiting and held + _pending(waiting) + batch.size > _MAX_AT_ONCE:
                    held = waiting[0].batch.size
                    yield from _finish(waiting.popleft(), buffers)
                waiting.append(_start(batch, pool, images, buffers, threads))
            elif waiting:
                held = waiting[0].batch.size
                yield from _finish(waiting.popleft(), buffers)
            while _enough(waiting):
                held = waiting[0].batch.size
                yield from _finish(waiting.popleft(), buffers)
        while waiting:
            yield from _finish(waiting.popleft(), buffers)


def _start(
    batch: ImageBatch, pool: WorkerThreads, images: Images, buffers: Buffers, threads: int
) -> _StartedBatch:
    payloads = [item for item in batch.items if isinstance(item, Packed)]
    memory = buffers.acquire(needed(payloads))
    free, openings = memoryview(memory), []
    for share in _shares(payloads, max(_MIN_SHARE, -(-batch.size // threads))):
        own = needed(share)
        openings.append(pool.submit(images.open_all, share, free[:own]))
        free = free[own:]
    return _StartedBatch(batch, memory, openings)


def _shares(payloads: Iterable[Packed], enough: int) -> Iterator[list[Packed]]:
    """Yield *payloads* in runs of *enough* decompressed bytes; what parts share is in one run."""
    share: list[Packed] = []
    size, before = 0, -1
    for packed in payloads:
        if size >= enough and packed.at != before:
            yield share
            share, size = [], 0
        share.append(packed)
        size, before = size + max(packed.size, packed.unpacked_size), packed.at
    if share:
        yield share


def _finish(
    started: _StartedBatch, buffers: Buffers
) -> Iterator[list[Entry | Damage | Opened | Mark]]:
    payloads = chain.from_iterable(opening.result() for opening in started.openings)
    items = started.batch.items
    yield [next(payloads) if isinstance(item, Packed) else item for item in items]
    buffers.release(started.memory)


def _enough(waiting: Sequence[_StartedBatch]) -> bool:
    """Return whether the batches *waiting* keep the threads busy, or fill the memory."""
    full = _pending(waiting) > _MAX_PENDING_BYTES or len(waiting) > _MAX_BATCHES_AHEAD
    return len(waiting) > 1 and full


def _pending(waiting: Iterable[_StartedBatch]) -> int:
    return sum(started.batch.size for started in waiting)


@contextmanager
def _short_switch_interval() -> Iterator[None]:
    """Let threads wait less for the GIL."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


# Sizes are rounded up to this, so that a buffer of one batch fits the next. Pages that are not
# touched take no memory.
_BUFFER_UNIT = 1 << 25


class Buffers:
    """A pool of anonymous memory mappings, reused from batch to batch."""

    def __init__(self) -> None:
        self._free: list[mmap] = []

    def acquire(self, size: int) -> mmap:
        """Return *size* bytes or more, not cleared; raises Unavailable when memory is short."""
        self._free.sort(key=len)
        for number, buffer in enumerate(self._free):
            if len(buffer) >= size:
                return self._free.pop(number)
        if self._free:
            self._free.pop()  # the largest goes, so that there are never more than in use
        try:
            return mmap(-1, max(1, -(-size // _BUFFER_UNIT)) * _BUFFER_UNIT)
        except OSError:
            raise Unavailable(f"No memory is left to unpack {size:,} bytes.") from None

    def release(self, buffer: mmap) -> None:
        """Take *buffer* back, which is no longer read."""
        self._free.append(buffer)
