"""Where containers start: a search of everything that is neither code nor already read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.fatbin import PATTERN

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.span import Span

ALIGNMENT = 8
# The next container mostly follows at once, or after some padding; when it does not, read on in
# larger pieces.
NEAR = 1 << 6
_FIRST_PIECE = 1 << 12
_PIECE = 1 << 18
_COLUMN = 1  # 0xED is the rarest byte of the pattern
_CROWDED = 32
_MARK = PATTERN[_COLUMN]
_NEXT = _COLUMN + 1
_NEXT_MARK = PATTERN[_NEXT]


class Scan:
    """A search through one span that moves forward only; *until*: where it next jumps ahead."""

    def __init__(self, span: Span, skipped: list[tuple[int, int]]) -> None:
        self._span = span
        self._skipped = skipped[::-1]
        self.until = self._until_code()

    def next(self, at: int) -> int | None:
        """Return where the first container at or after *at* starts; None when there is none.

        Calls must not go back.
        """
        at += -at % ALIGNMENT
        if at + NEAR <= self.until:
            near = self._span.read(at, NEAR).find(PATTERN)
            if near >= 0 and not near % ALIGNMENT:
                return at + near
        at = self._past_code(at)
        if at + len(PATTERN) <= self._span.size and self._span.read(at, len(PATTERN)) == PATTERN:
            return at
        size = _FIRST_PIECE
        while (at := self._past_code(at)) + len(PATTERN) <= self._span.size:
            # Pieces start aligned and containers are: none lies across two pieces.
            end = min(at + size, self.until)
            found = self._find(at, end)
            if found is not None:
                return found
            at, size = end, _PIECE
        return None

    def _past_code(self, at: int) -> int:
        at += -at % ALIGNMENT
        while self._skipped and at >= self._skipped[-1][0]:
            end = self._skipped.pop()[1]
            at = max(at, end + -end % ALIGNMENT)
            self.until = self._until_code()
        return at

    def _until_code(self) -> int:
        return min(self._skipped[-1][0] if self._skipped else self._span.size, self._span.size)

    def _find(self, at: int, end: int) -> int | None:
        data = self._span.read(at, end - at)
        # One column of the aligned words is searched first: a quarter of the time of a plain
        # search, unless the data are made to look like containers.
        column = data[_COLUMN : len(data) - len(data) % ALIGNMENT : ALIGNMENT]
        word, left = column.find(_MARK), len(column) // _CROWDED
        while word >= 0 and left:
            start = word * ALIGNMENT
            if data[start + _NEXT] == _NEXT_MARK and data.startswith(PATTERN, start):
                return at + start
            word, left = column.find(_MARK, word + 1), left - 1
        found = None if word < 0 else _aligned(data, word * ALIGNMENT)
        return None if found is None else at + found


def _aligned(data: bytes, start: int) -> int | None:
    found = data.find(PATTERN, start)
    while found % ALIGNMENT and found >= 0:
        found = data.find(PATTERN, found + 1)
    return None if found < 0 else found
