"""The next images unpacked while the last ones are read: unpacking needs no interpreter."""

from __future__ import annotations

import os
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.entries import Packed
from gpuadvise.advisor.binaries.images import needed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future
    from mmap import mmap

    from gpuadvise.advisor.binaries.buffers import Buffers
    from gpuadvise.advisor.binaries.images import Images, Opened
    from gpuadvise.advisor.binaries.model import Damage, Entry

# Unpacked bytes and steps of one batch, and the share of them that makes the first one, so that
# its kernels come at once. Small files have small batches, so that memory stays below their size.
_BATCH = 1 << 25
_SHARE_OF_FILE = 8
_MOST_STEPS = 1 << 12
_FIRST = 1 / 64
# Unpacked bytes that may wait, so that memory stays that of the largest image alone.
_MOST_WAITING = 1 << 27
_MOST_WORKERS = 3
# A worker asks for the interpreter after every image, and by default would get it after 5 ms.
_SWITCH_SECONDS = 5e-4


class _Batch(NamedTuple):
    steps: list[Entry | Damage | Packed]
    size: int


def unpacked_ahead(
    steps: Iterable[Entry | Damage | Packed],
    images: Images,
    memories: Buffers,
    *,
    first: float = _FIRST,
) -> Iterator[list[Entry | Damage | Opened]]:
    """Yield *steps* in order, several at a time, each payload opened until the next are asked for.

    What is unpacked lies in *memories*. *first* is the share of a batch to begin with.
    """
    workers = min(_MOST_WORKERS, os.cpu_count() or 1)
    waiting: deque[tuple[_Batch, mmap, Future[list[Opened]]]] = deque()
    with _switching(), ThreadPoolExecutor(workers) as pool:
        for batch in chain(_batches(steps, images.size // _SHARE_OF_FILE, first), repeat(None)):
            if batch is not None:
                payloads = [step for step in batch.steps if isinstance(step, Packed)]
                memory = memories.take(needed(payloads))
                opening = pool.submit(images.open_all, payloads, memory)
                waiting.append((batch, memory, opening))
            while waiting and (batch is None or _enough([one for one, *_ in waiting], workers)):
                before, memory, opening = waiting.popleft()
                yield _ready(before, opening)
                memories.give(memory)
            if batch is None:
                return


def _enough(waiting: list[_Batch], workers: int) -> bool:
    """Return whether *waiting* batches keep the workers busy, or fill the memory."""
    size = sum(batch.size for batch in waiting)
    return len(waiting) > 1 and (size > _MOST_WAITING or len(waiting) > workers)


def _batches(
    steps: Iterable[Entry | Damage | Packed], share_of_file: int, share: float
) -> Iterator[_Batch]:
    most = min(_BATCH, share_of_file)
    gathered: list[Entry | Damage | Packed] = []
    size, before = 0, -1
    for step in steps:
        gathered.append(step)
        if isinstance(step, Packed) and step.at != before:  # what parts share counts once
            size, before = size + max(step.size, step.unpacked_size), step.at
        if size >= share * most or len(gathered) >= share * _MOST_STEPS:
            yield _Batch(gathered, size)
            gathered, size, before, share = [], 0, -1, min(2 * share, 1)
    yield _Batch(gathered, size)


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
