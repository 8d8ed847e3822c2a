"""How far reading has come, for a person who waits at a terminal."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from gpuadvise.advisor.prose import inert, plural
from gpuadvise.advisor.quantity import show_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Place

T = TypeVar("T")

_PATIENCE = 1.0  # seconds without a word
_PERIOD = 0.25
_LONGEST = 42  # of a name: with its bytes it fits a line of 80
_CLEAR = "\r\x1b[K"


class Progress:
    """One line on a terminal's stderr, written over, once a second has passed.

    *streaming*: rows are printed meanwhile, with which it must not share a terminal.
    """

    def __init__(self, *, streaming: bool = False) -> None:
        able = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"  # to write over a line
        self.watched = able and not (streaming and sys.stdout.isatty())
        self._due = time.monotonic() + _PATIENCE
        self._written = False

    def reading(self, count: int, place: Place | None = None) -> None:
        """Say how far the file has been read in which something lies at *place*, or that *count* things were."""
        if not self._is_due():
            return
        if place is None or place.offset is None:
            self._say(f"reading: {plural(count, 'part')}")
            return
        whole = None if place.member else _size(place.path)
        name = _short(place.member or place.path)
        self._say(f"reading {name}: {_part(place.offset, whole)}")

    def reading_bytes(self, size: int, whole: int | None = None) -> None:
        """Say that *size* bytes of a file have been read, of the *whole* where that is known."""
        if self._is_due():
            self._say(f"reading: {_part(size, whole)}")

    def unpacking(self, name: str, size: int, whole: int | None = None) -> None:
        """Say that *size* bytes of a file called *name* have been unpacked, of *whole* if known."""
        if self._is_due():
            self._say(f"unpacking {_short(name)}: {_part(size, whole)}")

    def end(self) -> None:
        """Clear the line."""
        if self._written:
            print(_CLEAR, end="", file=sys.stderr, flush=True)
            self._written = False

    def _is_due(self) -> bool:
        return self.watched and time.monotonic() >= self._due

    def _say(self, text: str) -> None:
        print(f"{_CLEAR}{text}", end="", file=sys.stderr, flush=True)
        self._due, self._written = time.monotonic() + _PERIOD, True


def _short(name: str) -> str:
    return inert(name.rpartition("/")[2][:_LONGEST])[:_LONGEST]


def _size(path: str) -> int | None:
    try:
        return os.path.getsize(path)
    except OSError:  # gone, or standard input
        return None


def _part(size: int, whole: int | None) -> str:
    if not whole or size > whole:
        return show_bytes(size)
    return f"{show_bytes(size)} of {show_bytes(whole)}, {100 * size // whole} %"


def shown(items: Iterable[T], progress: Progress | None = None) -> Iterator[T]:
    """Yield *items*; when they take more than a second, say on a terminal's stderr where the last one lies."""
    progress = progress or Progress()
    if not progress.watched:
        yield from items
        return
    try:
        for count, item in enumerate(items, 1):
            yield item
            progress.reading(count, getattr(item, "place", None))
    finally:
        progress.end()


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Yield what to call with a label after each of *total* steps."""
    if not sys.stderr.isatty():
        yield lambda label: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda label: bar.update(task, advance=1, description=inert(label).replace("[", "("))
