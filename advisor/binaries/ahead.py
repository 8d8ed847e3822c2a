"""The next images unpacked while the last ones are read: unpacking needs no interpreter."""

from __future__ import annotations

import os
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.buffers import Buffers
from gpuadvise.advisor.binaries.entries import Packed
from gpuadvise.advisor.binaries.images import reusable
from gpuadvise.advisor.binaries.span import Damaged
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future
    from mmap import mmap

    from gpuadvise.advisor.binaries.images import Images
    from gpuadvise.advisor.binaries.model import Damage, Entry
    from gpuadvise.advisor.binaries.span import Image

# Unpacked bytes and steps of one batch, and the share of them that makes the first one, so that
# its kernels come at once.
_BATCH = 1 << 25
_MOST_STEPS = 1 << 12
_FIRST = 1 / 64
# Unpacked bytes that may wait, so that memory stays that of the largest image alone.
_MOST_WAITING = 1 << 27
_MOST_WORKERS = 3
# A worker asks for the interpreter after every image, and by default would get it after 5 ms.
_SWITCH_SECONDS = 1e-4


class Opened(NamedTuple):
    """A payload and the image in it, or why it cannot be unpacked."""

    packed: Packed
    image: Image | Damaged | Unavailable

    def open(self) -> Image:
        """Return the image; raises what was found instead of it."""
        if isinstance(self.image, Damaged | Unavailable):
            raise self.image
        return self.image


class _Batch(NamedTuple):
    steps: list[Entry | Damage | Packed]
    size: int

    @property
    def payloads(self) -> list[Packed]:
        return [step for step in self.steps if isinstance(step, Packed)]


def unpacked_ahead(
    steps: Iterable[Entry | Damage | Packed], images: Images
) -> Iterator[list[Entry | Damage | Opened]]:
    """Yield *steps* in order, several at a time, each payload opened until the next are asked for."""
    workers = min(_MOST_WORKERS, os.cpu_count() or 1)
    waiting: deque[tuple[_Batch, mmap, Future[list[Opened]]]] = deque()
    buffers = Buffers()
    size = 0
    with _switching(), ThreadPoolExecutor(workers) as pool:
        for batch in chain(_batches(steps), repeat(None)):
            while waiting and (batch is None or _full(size + batch.size, len(waiting), workers)):
                before, buffer, opening = waiting.popleft()
                yield _ready(before, opening)
                buffers.give(buffer)
                size -= before.size
            if batch is None:
                return
            buffer = buffers.take(sum(map(reusable, batch.payloads)))
            waiting.append((batch, buffer, pool.submit(_open, batch, images, buffer)))
            size += batch.size


def _full(size: int, batches: int, workers: int) -> bool:
    return size > _MOST_WAITING or batches > workers


def _open(batch: _Batch, images: Images, buffer: mmap) -> list[Opened]:
    memory, start = memoryview(buffer), 0
    found = []
    for packed in batch.payloads:
        size = reusable(packed)
        into = memory[start : start + size] if size else None
        start += size
        found.append(opened(packed, partial(images.open, into=into)))
    return found


def _batches(steps: Iterable[Entry | Damage | Packed]) -> Iterator[_Batch]:
    gathered: list[Entry | Damage | Packed] = []
    size, share = 0, _FIRST
    for step in steps:
        gathered.append(step)
        size += step.unpacked_size if isinstance(step, Packed) else 0
        if size >= share * _BATCH or len(gathered) >= share * _MOST_STEPS:
            yield _Batch(gathered, size)
            gathered, size, share = [], 0, min(2 * share, 1)
    yield _Batch(gathered, size)


def opened(packed: Packed, unpack: Callable[[Packed], Image]) -> Opened:
    """Return *packed* and what *unpack* makes of it."""
    try:
        return Opened(packed, unpack(packed))
    except (Damaged, Unavailable) as error:
        return Opened(packed, error)


def _ready(batch: _Batch, images: Future[list[Opened]]) -> list[Entry | Damage | Opened]:
    payloads = iter(images.result())
    return [next(payloads) if isinstance(step, Packed) else step for step in batch.steps]


@contextmanager
def _switching() -> Iterator[None]:
    """Let threads wait less for the interpreter."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
