"""PTX programs without the instructions: what a library's thousands of modules are read as.

Hundreds of megabytes of instructions say nothing about resources. Of each function's body only
declarations of shared variables and mentions of what the module declares are kept, found by
searches over the whole text instead of line by line. Written for the layout of NVIDIA's compilers,
braces of functions on lines of their own; any other text is returned as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPEN = b"\n{\n"
_CLOSE = b"\n}\n"
_SHARED = b".shared "  # instructions have a further dot there
_DECLARATION = re.compile(rb"\.(?:shared|func)\b[^\n]{0,8192}")
_NAME = re.compile(rb"[A-Za-z_$%][\w$]*")
_WORDS = frozenset(
    b"shared func extern visible weak align param reg noreturn b8 b16 b32 b64 u8 u16 u32 u64 "
    b"s8 s16 s32 s64 f32 f64".split()
)


def digest(program: bytes) -> bytes:
    """Return *program* with the same functions, bounds and shared memory, but hardly any code."""
    program += b"\n"
    bodies = list(_bodies(program))
    if not bodies or _OPEN in program[: bodies[0][0]]:
        return program
    outside = _outside(program, bodies)
    names = _declared(outside)
    parts = [outside[0]]
    for (start, end), after in zip(bodies, outside[1:], strict=True):
        parts += [_essence(program[start:end], names), after]
    return b"".join(parts)


def _bodies(program: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of each body; nothing at all when the layout is another."""
    bodies = []
    start = program.find(_OPEN)
    while start >= 0:
        following = program.find(_OPEN, start + len(_OPEN) - 1)
        # Inline assembly may close a brace at the margin, but only the function's is the last.
        end = program.rfind(_CLOSE, start, following + 1 if following >= 0 else len(program))
        if end < 0:
            return
        bodies.append((start + len(_OPEN) - 1, end))
        start = following
    yield from bodies


def _outside(program: bytes, bodies: list[tuple[int, int]]) -> list[bytes]:
    starts = [0, *(end for _, end in bodies)]
    ends = [*(start for start, _ in bodies), len(program)]
    return [program[start:end] for start, end in zip(starts, ends, strict=True)]


def _declared(outside: list[bytes]) -> list[tuple[bytes, re.Pattern[bytes]]]:
    """Return the names that a body can mention: shared variables and functions of the module."""
    lines = b"\n".join(line for part in outside for line in _DECLARATION.findall(part))
    names = set(_NAME.findall(lines)) - _WORDS
    return [
        (name, re.compile(rb"(?<![\w$%])" + re.escape(name) + rb"(?![\w$])"))
        for name in sorted(names)
    ]


def _essence(body: bytes, names: list[tuple[bytes, re.Pattern[bytes]]]) -> bytes:
    mentions = [name for name, word in names if name in body and word.search(body)]
    return b"\n".join((*_shared(body), b" ".join(mentions)))


def _shared(body: bytes) -> Iterator[bytes]:
    at = body.find(_SHARED)
    while at >= 0:
        end = body.find(b"\n", at)
        yield body[at : end if end >= 0 else len(body)]
        at = body.find(_SHARED, at + 1)
