"""PTX text cut into what matters: top-level statements, function headers and bodies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Longest run of text from a function's name to its body: 32 KiB of parameters take less.
_LONGEST_HEADER = 1 << 20
_FUNCTION = re.compile(r"\.(?:entry|func)\b")
_BRACE = re.compile(r"([{}])")
_STRING = re.compile(r'"[^"]*"')
# One pass, whatever the text: a comment that does not end takes the rest of the line.
_COMMENT = re.compile(r"//.*|/\*(?:.*?\*/|(?P<open>.*))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """Code outside any function, on one line."""

    text: str


@dataclass(frozen=True, slots=True)
class FunctionHeader:
    """All that stands before a function's body; empty for the values of a variable."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Body:
    """Code of the function whose header came last."""

    text: str


Code = Statement | FunctionHeader | Body


def read_code(pieces: Iterable[tuple[str, int]]) -> Iterator[Code]:
    """Yield the code in numbered *pieces* of lines, without comments and strings."""
    depth, header = 0, _Gathered()
    for code, number in _without_comments(pieces):
        if depth and _balanced(code):
            yield Body(code)
            continue
        for part in _BRACE.split(code):
            if part == "{":
                if not depth:  # of a function, or of the values of a variable
                    yield header.finish()
                depth += 1
            elif part == "}":
                depth = max(depth - 1, 0)
            elif depth:
                yield Body(part)
            elif header or _FUNCTION.search(part):
                header.add(part, number)
            elif part:
                yield Statement(part)


class _Gathered:
    """A header whose text is still coming."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        self._line = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    def add(self, part: str, number: int) -> None:
        """Take the next *part*, and forget all when it turns out to have no body."""
        self._line = self._line if self._parts else number
        self._parts.append(part)
        self._size += len(part)
        if _declares(part) or self._size > _LONGEST_HEADER:
            self.finish()

    def finish(self) -> FunctionHeader:
        """Return what was gathered and start anew."""
        header = FunctionHeader("".join(self._parts), self._line)
        self._parts, self._size = [], 0
        return header


def _balanced(code: str) -> bool:
    """Return whether *code* leaves the depth as it is: no braces, or those of a vector."""
    opened = code.find("{")
    return code.count("{") == code.count("}") and (opened < 0 or opened < code.find("}"))


def _declares(part: str) -> bool:
    """Return whether a function's text ends here without a body."""
    return ";" in part and ".pragma" not in part


def _without_comments(pieces: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    inside = False
    for piece, number in pieces:
        text = _STRING.sub("", piece) if '"' in piece else piece
        if inside or "/" in text:
            text, inside = _strip(text, inside=inside)
        yield text, number


def _strip(text: str, *, inside: bool) -> tuple[str, bool]:
    if inside:
        _, ended, text = text.partition("*/")
        if not ended:
            return "", True
    last = None
    kept = []
    end = 0
    for last in _COMMENT.finditer(text):
        kept.append(text[end : last.start()])
        end = last.end()
    kept.append(text[end:])
    return "".join(kept), bool(last and last["open"] is not None)
