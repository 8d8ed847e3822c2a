"""The next images unpacked while the last ones are read: unpacking needs no interpreter."""

from __future__ import annotations

import os
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.entries import Packed
from gpuadvise.advisor.binaries.images import needed
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Future
    from mmap import mmap

    from gpuadvise.advisor.binaries.buffers import Buffers
    from gpuadvise.advisor.binaries.images import Images, Opened
    from gpuadvise.advisor.binaries.model import Damage, Entry

# Unpacked bytes and steps of one batch, and the share of them that makes the first one, so that
# its kernels come at once. Small files have small batches, so that memory stays below their size.
_BATCH = 1 << 25
_SHARE_OF_FILE = 4
_MOST_STEPS = 1 << 12
_FIRST = 1 / 16
# Unpacked bytes that may wait, so that memory stays that of the largest image alone.
_MOST_WAITING = 1 << 27
_MOST_WORKERS = 3
# A worker asks for the interpreter after every image, and by default would get it after 5 ms.
_SWITCH_SECONDS = 5e-4


class Mark(Enum):
    """What stands between steps.

    PAUSE: no more come for now, so those that have waited longest are wanted.
    END: all of something has come; it is yielded where it stands.
    """

    PAUSE = auto()
    END = auto()


class _Batch(NamedTuple):
    steps: list[Entry | Damage | Packed | Mark]
    size: int


class _Begun(NamedTuple):
    batch: _Batch
    memory: mmap
    opening: Future[list[Opened]]


def unpacked_ahead(
    steps: Iterable[Entry | Damage | Packed | Mark],
    images: Images,
    memories: Buffers,
    *,
    first: float = _FIRST,
) -> Iterator[list[Entry | Damage | Opened | Mark]]:
    """Yield *steps* in order, several at a time, each payload opened until the next are asked for.

    What is unpacked lies in *memories*. *first* is the share of a batch to begin with. Raises
    Unavailable when no thread can be started.
    """
    workers = min(_MOST_WORKERS, os.cpu_count() or 1)
    waiting: deque[_Begun] = deque()
    with _switching(), ThreadPoolExecutor(workers) as pool:
        for batch in _batches(steps, images.size // _SHARE_OF_FILE, first):
            if batch is not None:
                waiting.append(_begun(batch, pool, images, memories))
            elif waiting:
                yield from _ended(waiting.popleft(), memories)
            while _enough(waiting, workers):
                yield from _ended(waiting.popleft(), memories)
        while waiting:
            yield from _ended(waiting.popleft(), memories)


def _begun(batch: _Batch, pool: ThreadPoolExecutor, images: Images, memories: Buffers) -> _Begun:
    payloads = [step for step in batch.steps if isinstance(step, Packed)]
    memory = memories.take(needed(payloads))
    with startable():
        opening = pool.submit(images.open_all, payloads, memory)
    return _Begun(batch, memory, opening)


def _ended(begun: _Begun, memories: Buffers) -> Iterator[list[Entry | Damage | Opened | Mark]]:
    payloads = iter(begun.opening.result())
    steps = begun.batch.steps
    yield [next(payloads) if isinstance(step, Packed) else step for step in steps]
    memories.give(begun.memory)


def _enough(waiting: Sequence[_Begun], workers: int) -> bool:
    """Return whether the batches *waiting* keep the workers busy, or fill the memory."""
    size = sum(begun.batch.size for begun in waiting)
    return len(waiting) > 1 and (size > _MOST_WAITING or len(waiting) > workers)


def _batches(
    steps: Iterable[Entry | Damage | Packed | Mark], share_of_file: int, share: float
) -> Iterator[_Batch | None]:
    """Yield *steps* in batches, None at each pause."""
    most = min(_BATCH, share_of_file)
    gathered: list[Entry | Damage | Packed | Mark] = []
    size, before = 0, -1
    for step in steps:
        if step is Mark.PAUSE:
            if gathered:
                yield _Batch(gathered, size)
                gathered, size, before = [], 0, -1
            yield None
            continue
        gathered.append(step)
        if isinstance(step, Packed) and step.at != before:  # what parts share counts once
            size, before = size + max(step.size, step.unpacked_size), step.at
        if size >= share * most or len(gathered) >= share * _MOST_STEPS:
            yield _Batch(gathered, size)
            gathered, size, before, share = [], 0, -1, min(2 * share, 1)
    if gathered:
        yield _Batch(gathered, size)


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
