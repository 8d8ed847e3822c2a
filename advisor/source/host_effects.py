"""What host functions of other files do when they are called: launch kernels, wait for the GPU, copy results to the host."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_COMMENT = re.compile(rb"//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/|\"(?:[^\"\\\n]|\\.)*+\"")
_OF_CUDA = (b"<<<", b"Synchronize", b"cudaMemcpy")
_BRACE = re.compile(rb"[{}]")
# What may stand between the parameters of a function and its body.
_QUALIFIERS = (b"const", b"noexcept", b"override", b"final")
_NAME = re.compile(rb"([A-Za-z_]\w*)\s*$")
_NO_FUNCTION = frozenset((b"if", b"for", b"while", b"switch", b"catch"))
_WAIT = re.compile(rb"\bcuda(?:Device|Thread|Stream)Synchronize\s*\(")
_READ = re.compile(rb"\bcudaMemcpy(?:2D)?\s*\([^;]*cudaMemcpyDeviceToHost")
_LONGEST_WRAPPER = 600  # bytes of a body that does nothing else
_LONGEST_NAME = 100
_FARTHEST = 2000  # bytes of parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEffects:
    """Names of host functions: those *launching* kernels, those that do no more than *waiting* or *reading* a result."""

    launching: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()
    reading: frozenset[str] = frozenset()


NO_EFFECTS = HostEffects()


def effects_in(data: bytes) -> HostEffects:
    """Return what the host functions of one source do."""
    if not any(words in data for words in _OF_CUDA):
        return NO_EFFECTS
    launching, waiting, reading = set(), set(), set()
    for name, body in _functions(_COMMENT.sub(b" ", data)):
        if b"<<<" in body:
            launching.add(name)
        elif len(body) < _LONGEST_WRAPPER:
            if _READ.search(body):
                reading.add(name)
            elif _WAIT.search(body) and b"cudaMemcpy" not in body:
                waiting.add(name)
    return HostEffects(
        launching=frozenset(launching), waiting=frozenset(waiting), reading=frozenset(reading)
    )


def joined_effects(effects: Iterable[HostEffects]) -> HostEffects:
    """Return the names of all *effects*; one that both launches and does not is left out of the others."""
    known = list(effects)
    launching = frozenset[str]().union(*(one.launching for one in known))
    return HostEffects(
        launching=launching,
        waiting=frozenset[str]().union(*(one.waiting for one in known)) - launching,
        reading=frozenset[str]().union(*(one.reading for one in known)) - launching,
    )


def _functions(code: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the body of each function; those inside of others belong to them."""
    depth = start = opened = 0
    name = b""
    for brace in _BRACE.finditer(code):
        if brace[0] == b"{":
            depth += 1
            if not name and (name := _name_before(code, brace.start())):
                start, opened = brace.end(), depth
        else:
            if name and depth == opened:
                yield name.decode("utf-8", "replace"), code[start : brace.start()]
                name = b""
            depth = max(0, depth - 1)


def _name_before(code: bytes, brace: int) -> bytes:
    """Return the name of the function whose body begins at *brace*, empty where something else begins."""
    head = code[max(0, brace - _FARTHEST) : brace].rstrip()
    while (word := next(filter(head.endswith, _QUALIFIERS), None)) is not None:
        head = head.removesuffix(word).rstrip()
    end = len(head)
    if not head.endswith(b")"):
        return b""
    level = 0
    for at in range(end - 1, -1, -1):
        level += {41: 1, 40: -1}.get(head[at], 0)
        if level == 0:
            named = _NAME.search(head, max(0, at - _LONGEST_NAME), at)
            return named[1] if named is not None and named[1] not in _NO_FUNCTION else b""
    return b""
