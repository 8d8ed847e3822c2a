"""The next image unpacked while the last one is read: unpacking needs no interpreter."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.entries import Packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from gpuadvise.advisor.binaries.model import Damage, Entry
    from gpuadvise.advisor.binaries.span import Span

# Unpacked bytes that may wait, so that memory stays that of the largest image alone.
_MOST_WAITING = 1 << 25
_MOST_STEPS = 256


def unpacked_ahead(
    steps: Iterable[Entry | Damage | Packed], unpack: Callable[[Packed], Span]
) -> Iterator[Entry | Damage | tuple[Packed, Callable[[], Span]]]:
    """Yield *steps* in order; for each payload a function that gives it unpacked, or raises."""
    waiting: deque[Entry | Damage | tuple[Packed, Future[Span]]] = deque()
    size = 0
    with ThreadPoolExecutor(max_workers=1) as worker:
        for step in steps:
            if isinstance(step, Packed):
                waiting.append((step, worker.submit(unpack, step)))
                size += step.unpacked_size
            else:
                waiting.append(step)
            while waiting and (size > _MOST_WAITING or len(waiting) > _MOST_STEPS):
                size -= _size(waiting[0])
                yield _ready(waiting.popleft())
        while waiting:
            yield _ready(waiting.popleft())


def _size(step: Entry | Damage | tuple[Packed, Future[Span]]) -> int:
    return step[0].unpacked_size if isinstance(step, tuple) else 0


def _ready(
    step: Entry | Damage | tuple[Packed, Future[Span]],
) -> Entry | Damage | tuple[Packed, Callable[[], Span]]:
    return (step[0], step[1].result) if isinstance(step, tuple) else step
