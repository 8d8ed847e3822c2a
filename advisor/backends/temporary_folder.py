"""Folders for files of this run alone, which go with it, also when a signal ends it."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

# What ends a program that does not handle it: a time limit of a pipeline, a terminal that closes.
# Ctrl-C is an exception in Python, and nothing handles SIGKILL.
_ENDING = tuple(
    getattr(signal, name)
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU", "SIGALRM", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
_folders: set[str] = set()
_owner = 0  # processes that are forked meanwhile have the handlers, and nothing to remove


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Yield a new folder that this user alone can open; it is gone afterwards, whatever happens.

    Raises Unavailable where no folder for temporary files can be written.
    """
    global _owner
    _owner = os.getpid()
    handled = _handle() if not _folders else ()
    try:
        folder = _made()
    except OSError:
        raise Unavailable(
            "No folder for temporary files can be written.", hint="Name one: TMPDIR=FOLDER."
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _folders.discard(folder)
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _made() -> str:
    """Return a new folder; no signal comes between its making and the note of it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        return _noted(tempfile.mkdtemp(prefix="gpuadvise"))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        return _noted(tempfile.mkdtemp(prefix="gpuadvise"))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _noted(folder: str) -> str:
    _folders.add(folder)
    return folder


def _handle() -> tuple[signal.Signals, ...]:
    """Handle the signals that would end this program, and return those; others are left alone."""
    handled = []
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            try:
                signal.signal(number, _end)
            except ValueError:  # not the main thread
                break
            handled.append(number)
    return tuple(handled)


def _end(number: int, _: FrameType | None) -> None:
    """Remove the folders, and end as the signal *number* ends a program."""
    if os.getpid() == _owner:
        for folder in _folders:
            shutil.rmtree(folder, ignore_errors=True)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
