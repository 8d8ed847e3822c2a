"""Where sentences are broken into lines: between words, but not between a number and its unit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# "78.1 %" in two lines reads as two things.
_UNITS = "%|°C|[num]?s|W|bits?|bytes?|[kKMGTP]?i?B(?:/s)?|[kMGT]?Hz|[kMGTP]?(?:FLOP|OP)(?:/s|/B)?|FLOP/byte"
_WORD = re.compile(rf"\d\S* (?:{_UNITS})(?![\w/])\S*|\S+")


def filled(text: str, width: int, length: Callable[[str], int] = len) -> list[str]:
    """Return *text* in lines of at most *width* columns, as *length* counts them.

    Spaces inside a line stay; a word that is longer than a line is cut.
    """
    lines: list[str] = []
    line, end = "", 0
    for word in _WORD.finditer(text):
        space = text[end : word.start()]
        end = word.end()
        if (not lines and not line) or length(line) + length(space) + length(word[0]) <= width:
            line += space + word[0]
        else:
            lines.append(line)
            line = word[0]
        *whole, line = _pieces(line, width, length)
        lines += whole
    return [*lines, line]


def _pieces(word: str, width: int, length: Callable[[str], int]) -> Iterator[str]:
    piece = ""
    for letter in word if length(word) > width else ():
        if piece and length(piece + letter) > width:
            yield piece
            piece = ""
        piece += letter
    yield piece or word


def words(text: str) -> list[str]:
    """Return the parts of *text* that no line break may divide."""
    return _WORD.findall(text)
