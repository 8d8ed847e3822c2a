"""Where containers start: a search of everything that is neither code nor already read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.fatbin import PATTERN

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.span import Span

_ALIGNMENT = 8
# The next container mostly follows at once; when it does not, read on in larger pieces.
_FIRST_PIECE = 1 << 12
_PIECE = 1 << 18
_COLUMN = 1  # 0xED is the rarest byte of the pattern
_CROWDED = 32
_MARK = PATTERN[_COLUMN]


class Scan:
    """A search through one span that moves forward only."""

    def __init__(self, span: Span, skipped: list[tuple[int, int]]) -> None:
        self._span = span
        self._skipped = skipped[::-1]

    def next(self, at: int) -> int | None:
        """Return where the first container at or after *at* starts; None when there is none.

        Calls must not go back.
        """
        at = self._past_code(at)
        if at + len(PATTERN) <= self._span.size and self._span.read(at, len(PATTERN)) == PATTERN:
            return at
        size = _FIRST_PIECE
        while (at := self._past_code(at)) + len(PATTERN) <= self._span.size:
            # Pieces start aligned and containers are: none lies across two pieces.
            end = min(at + size, self._until_code())
            found = self._find(at, end)
            if found is not None:
                return found
            at, size = end, _PIECE
        return None

    def _past_code(self, at: int) -> int:
        at += -at % _ALIGNMENT
        while self._skipped and at >= self._skipped[-1][0]:
            end = self._skipped.pop()[1]
            at = max(at, end + -end % _ALIGNMENT)
        return at

    def _until_code(self) -> int:
        return min(self._skipped[-1][0] if self._skipped else self._span.size, self._span.size)

    def _find(self, at: int, end: int) -> int | None:
        data = self._span.read(at, end - at)
        # One column of the aligned words is searched first: a quarter of the time of a plain
        # search, unless the data are made to look like containers.
        column = data[_COLUMN::_ALIGNMENT]
        word, left = column.find(_MARK), len(column) // _CROWDED
        while word >= 0 and left:
            if data.startswith(PATTERN, word * _ALIGNMENT):
                return at + word * _ALIGNMENT
            word, left = column.find(_MARK, word + 1), left - 1
        found = None if word < 0 else _aligned(data, word * _ALIGNMENT)
        return None if found is None else at + found


def _aligned(data: bytes, start: int) -> int | None:
    found = data.find(PATTERN, start)
    while found % _ALIGNMENT and found >= 0:
        found = data.find(PATTERN, found + 1)
    return None if found < 0 else found
