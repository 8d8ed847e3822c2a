"""PTX programs without the instructions: what a library's thousands of modules are read as.

Hundreds of megabytes of instructions say nothing about resources. Of each function's body only
declarations of shared variables and mentions of what the module declares are kept, found by
searches over the whole text instead of line by line. Written for the layout of NVIDIA's compilers,
braces of functions on lines of their own; any other text is returned as it is.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPEN = b"\n{\n"
_CLOSE = b"\n}\n"
_HEADER = re.compile(
    rb"\n[ \t]*(?:\.(?:visible|extern|weak|common)[ \t]+)*\.(?:entry|func|section)\b"
)
_SHARED = b".shared "  # instructions have a further dot there
_DECLARATION = re.compile(rb"\.(?:shared|func)\b[^\n]{0,8192}")
# Up to here a search for each name takes less than looking at every word (10 MB/s).
_FEW_NAMES = 16
_MOST_PARTS = 1000
_BEFORE = re.compile(rb"[\w$%]")
_AFTER = re.compile(rb"[\w$]")
_NAME = re.compile(rb"[A-Za-z_$%][\w$]*")
_WORDS = frozenset(
    b"shared func extern visible weak align param reg noreturn b8 b16 b32 b64 u8 u16 u32 u64 "
    b"s8 s16 s32 s64 f32 f64".split()
)


def digest(program: bytes) -> bytes:
    """Return *program* with the same functions, bounds and shared memory, but hardly any code."""
    program += b"\n"
    bodies = list(_bodies(program))
    if not bodies:
        return program
    outside = _outside(program, bodies)
    if any(_OPEN in part for part in outside):
        return program
    names = _Mentions(outside)
    parts = [outside[0]]
    for (start, end), after in zip(bodies, outside[1:], strict=True):
        parts += [_essence(program[start:end], names), after]
    return b"".join(parts)


def _bodies(program: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of each body; nothing at all when the layout is another.

    Programs without indents have braces of blocks and of inline assembly at the margin, too: a
    body ends with the last of them before the next header.
    """
    headers = [header.start() for header in _HEADER.finditer(program)]
    bodies = []
    for header, following in pairwise([*headers, len(program)]):
        start = program.find(_OPEN, header, following)
        if start < 0:
            continue  # a declaration
        end = program.rfind(_CLOSE, start, following + 1)
        if end < 0:
            return
        bodies.append((start + len(_OPEN) - 1, end))
    yield from bodies


def _outside(program: bytes, bodies: list[tuple[int, int]]) -> list[bytes]:
    starts = [0, *(end for _, end in bodies)]
    ends = [*(start for start, _ in bodies), len(program)]
    return [program[start:end] for start, end in zip(starts, ends, strict=True)]


class _Mentions:
    """What a body can mention: shared variables and functions of the module."""

    def __init__(self, outside: list[bytes]) -> None:
        lines = b"\n".join(line for part in outside for line in _DECLARATION.findall(part))
        self._names = set(_NAME.findall(lines)) - _WORDS
        self._few = len(self._names) <= _FEW_NAMES
        # Nearly all words of a body are instructions and registers, and far shorter than names.
        least = min(map(len, self._names), default=1)
        self._word = re.compile(rb"(?<![\w$%%])[A-Za-z_$%%][\w$]{%d,}" % (least - 1))

    def of(self, body: bytes) -> list[bytes]:
        """Return the names that *body* mentions: a search for each of a few, else one pass over all."""
        if not self._few:
            return sorted(self._names.intersection(self._word.findall(body)))
        mentions = {name: _mentions(body, name) for name in self._names}
        if None in mentions.values():
            return sorted(self._names.intersection(self._word.findall(body)))
        return sorted(name for name, mentioned in mentions.items() if mentioned)


def _mentions(body: bytes, name: bytes) -> bool | None:
    """Return whether *body* has *name* as a word; None where it is a part of too many others."""
    at = body.find(name)
    for _ in range(_MOST_PARTS):
        if at < 0:
            return False
        after = at + len(name)
        if not _BEFORE.match(body[at - 1 : at]) and not _AFTER.match(body, after):
            return True
        at = body.find(name, after)
    return None


def _essence(body: bytes, names: _Mentions) -> bytes:
    return b"\n".join((*_shared(body), b" ".join(names.of(body))))


def _shared(body: bytes) -> Iterator[bytes]:
    at = body.find(_SHARED)
    while at >= 0:
        end = body.find(b"\n", at)
        yield body[at : end if end >= 0 else len(body)]
        at = body.find(_SHARED, at + 1)
