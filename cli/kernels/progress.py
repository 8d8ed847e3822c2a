"""How far reading has come, for a person who waits at a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")

_PATIENCE = 1.0  # seconds without a word
_PERIOD = 0.25
_CLEAR = "\r\x1b[K"


def shown(items: Iterable[T]) -> Iterator[T]:
    """Yield *items*; when they take more than a second, count them on a terminal's stderr."""
    if not sys.stderr.isatty():
        yield from items
        return
    due, written = time.monotonic() + _PATIENCE, False
    try:
        for count, item in enumerate(items, 1):
            yield item
            now = time.monotonic()
            if now >= due:
                print(f"{_CLEAR}reading: {count:,}", end="", file=sys.stderr, flush=True)
                due, written = now + _PERIOD, True
    finally:
        if written:
            print(_CLEAR, end="", file=sys.stderr, flush=True)
