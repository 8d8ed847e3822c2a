"""The next image unpacked while the last one is read: unpacking needs no interpreter."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.entries import Packed
from gpuadvise.advisor.binaries.model import Damage, Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from gpuadvise.advisor.binaries.span import Span

# Unpacked bytes that may wait, so that memory stays that of the largest image alone.
_MOST_WAITING = 1 << 25
_MOST_STEPS = 256


class Opened(NamedTuple):
    """A payload, and the function that gives it unpacked, or raises."""

    packed: Packed
    open: Callable[[], Span]


class _Waiting(NamedTuple):
    packed: Packed
    image: Future[Span]


_Step = Entry | Damage | _Waiting


def unpacked_ahead(
    steps: Iterable[Entry | Damage | Packed], unpack: Callable[[Packed], Span]
) -> Iterator[Entry | Damage | Opened]:
    """Yield *steps* in order, each payload opened."""
    waiting: deque[_Step] = deque()
    size = 0
    with ThreadPoolExecutor(max_workers=1) as worker:
        for step in steps:
            if isinstance(step, Packed):
                waiting.append(_Waiting(step, worker.submit(unpack, step)))
                size += step.unpacked_size
            else:
                waiting.append(step)
            while waiting and (size > _MOST_WAITING or len(waiting) > _MOST_STEPS):
                size -= _size(waiting[0])
                yield _ready(waiting.popleft())
        while waiting:
            yield _ready(waiting.popleft())


def _size(step: _Step) -> int:
    return step.packed.unpacked_size if isinstance(step, _Waiting) else 0


def _ready(step: _Step) -> Entry | Damage | Opened:
    return Opened(step.packed, step.image.result) if isinstance(step, _Waiting) else step
