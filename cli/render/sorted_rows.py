"""Rows sorted in bounded memory: 300,000 kernels are 400 MB of JSON, and its order is by what matters."""

from __future__ import annotations

import marshal
from contextlib import ExitStack
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import IO, TYPE_CHECKING

from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A key of plain values and the text of its row.
KeyedRow = tuple[object, str]

_RUN = 1 << 13  # rows sorted at once: about 15 MB of a library's kernels
_BLOCK = 1 << 7  # rows read back at once, of each run
_KEY = itemgetter(0)


def sorted_rows(rows: Iterable[KeyedRow]) -> Iterator[str]:
    """Return the texts of *rows* in the order of their keys, equal ones as they came.

    Reads all of *rows* before it returns. What is more than one run lies in a file without a name.
    Raises Unavailable when that cannot be written.
    """
    left = iter(rows)
    run = sorted(islice(left, _RUN), key=_KEY)
    if len(run) < _RUN:
        return map(itemgetter(1), run)
    with ExitStack() as stack:
        file, runs = stack.enter_context(_nameless()), []
        while run:
            runs.append(_written(run, file))
            run = sorted(islice(left, _RUN), key=_KEY)
        merged = _merged(file, runs)
        next(merged)  # now it closes the file, however it ends
        stack.pop_all()
    return merged


def _merged(file: IO[bytes], runs: list[list[tuple[int, int]]]) -> Iterator[str]:
    """Yield nothing of worth first, then the texts of all *runs*."""
    with file:
        yield ""
        for _, text in merge(*[_read(file, places) for places in runs], key=_KEY):
            yield text


def _nameless() -> IO[bytes]:
    from tempfile import TemporaryFile

    try:
        return TemporaryFile()
    except OSError as error:
        raise _unsorted(error) from None


def _written(run: list[KeyedRow], file: IO[bytes]) -> list[tuple[int, int]]:
    """Write *run* in blocks and return where each begins and its bytes."""
    places = []
    try:
        for start in range(0, len(run), _BLOCK):
            data = marshal.dumps(run[start : start + _BLOCK])
            places.append((file.tell(), len(data)))
            file.write(data)
        file.flush()
    except OSError as error:
        raise _unsorted(error) from None
    return places


def _unsorted(error: OSError) -> Unavailable:
    return Unavailable(
        f"The rows cannot be sorted: {error.strerror or error}.",
        hint="They are put aside in the folder that TMPDIR names.",
    )


def _read(file: IO[bytes], places: list[tuple[int, int]]) -> Iterator[KeyedRow]:
    for at, size in places:
        file.seek(at)
        # Written by this process a moment ago, into a file that no other can open.
        yield from marshal.loads(file.read(size))
