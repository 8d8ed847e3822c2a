"""``lint --watch``: the same files again whenever one of them has changed."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, TypeAlias

from gpuadvise.advisor.errors import GpuAdviseError
from gpuadvise.advisor.source.observations import CPP_SUFFIXES, SUFFIXES
from gpuadvise.cli.emit import complain, emit, note, stream
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.lint.gather import SKIPPED_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpuadvise.cli.answer import Answer
    from gpuadvise.cli.formats import Output

    State: TypeAlias = dict[str, tuple[int, int]]  # time and size by path

_SETTINGS = ("gpuadvise.toml", "pyproject.toml")
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"


def watch_files(
    judged: Callable[[], Answer], files: Iterable[str], seconds: float, output: Output
) -> Exit:
    """Print what *judged* answers, and again when one of *files* changed; they are looked at every *seconds*.

    Ctrl-C ends it, which is no fault. The first answer raises as *judged* does; later a file that is just
    being written is said, and looked at again.
    """
    try:
        seen = state_of(files)
        answer = judged()
        while True:
            if sys.stdout.isatty():
                stream([_CLEAR])
            emit(answer, output)
            answer, seen = _next(judged, files, seconds, seen)
    except KeyboardInterrupt:
        return Exit.RAN


def _next(
    judged: Callable[[], Answer], files: Iterable[str], seconds: float, seen: State
) -> tuple[Answer, State]:
    """Return the answer after the next change, and the state of the files before it."""
    note("Waiting for changes; Ctrl-C ends.")
    while True:
        time.sleep(seconds)
        now = state_of(files)
        if now == seen:
            continue
        seen = now
        try:
            return judged(), seen
        except GpuAdviseError as error:
            complain(error.message, error.hint)


def state_of(files: Iterable[str]) -> State:
    """Return time and size of each source, and of the settings beside them, that *files* name or hold."""
    state = {}
    for path in _paths(files):
        try:
            status = os.stat(path)
        except OSError:  # gone, or not yet there
            continue
        state[path] = (status.st_mtime_ns, status.st_size)
    return state


def _paths(files: Iterable[str]) -> Iterator[str]:
    for name in files:
        folder = name if os.path.isdir(name) else os.path.dirname(name)
        yield from (os.path.join(folder, settings) for settings in _SETTINGS)
        if folder != name:
            yield name
            continue
        for here, folders, names in os.walk(name):
            folders[:] = [below for below in folders if below not in SKIPPED_FOLDERS]
            for file in names:
                if file in _SETTINGS or file.lower().endswith((*SUFFIXES, *CPP_SUFFIXES)):
                    yield os.path.join(here, file)
