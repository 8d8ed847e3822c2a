"""The arguments of a kernel as a user gives them: memory with what fills it, and numbers."""

from __future__ import annotations

import random
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, plural, quoted
from gpuadvise.advisor.values import integer, moved_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

# How struct packs each type, by the words of the source reader.
_FORMATS = {
    "float": "f", "double": "d", "half": "e", "int": "i", "uint": "I", "llong": "q", "ullong": "Q",
    "short": "h", "ushort": "H", "char": "b", "uchar": "B", "bool": "?",
}  # fmt: skip
_SPELLINGS = {
    "unsigned": "uint", "long": "llong", "long long": "llong", "size_t": "ullong",
    "uint32_t": "uint", "int32_t": "int", "int64_t": "llong", "uint64_t": "ullong",
}  # fmt: skip
_FLOATS = ("float", "double", "half")
_VECTOR = re.compile(r"^(\w+)\.[1-4]$")
# Elements of a random pattern; memory larger than it holds it again and again.
_PATTERN = 1 << 16
_HINT = (
    "Memory is a size and what fills it, zero, random or a number: --arg 64MiB:random; other "
    "arguments are numbers: --arg 4096, with their type where the source does not say: --arg float:0.5."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchArgument:
    """Device memory of *size* bytes filled with *content* again and again; a value where *size* is 0."""

    content: bytes
    size: int = 0


def launch_arguments(
    kernel: str, parameters: Sequence[tuple[str, str]], words: Sequence[str]
) -> tuple[LaunchArgument, ...]:
    """Return what *words* give for *parameters*, the names and types of *kernel*.

    A type that is not known ends in "?", or is "?*" for a pointer. Raises BadInput.
    """
    if len(words) != len(parameters):
        listed = and_list([f"{name} ({_shown(kind)})" for name, kind in parameters]) or "none"
        raise BadInput(
            f"--arg: {quoted(kernel)} takes {plural(len(parameters), 'argument')}, {listed}; "
            f"{len(words)} given.",
            hint=_HINT,
        )
    return tuple(_argument(*given) for given in zip(parameters, words, strict=True))


def _shown(kind: str) -> str:
    return kind.replace("?", "of unknown type").replace("llong", "long long")


def _argument(parameter: tuple[str, str], text: str) -> LaunchArgument:
    name, kind = parameter
    words = text.split(":")
    unknown = kind.startswith("?")
    first = _SPELLINGS.get(words[0].strip(), words[0].strip())
    if first in _FORMATS and len(words) > 1:
        kind = first + "*" * kind.count("*")
        words = words[1:]
    pointer = kind.endswith("*") or (unknown and _is_size(words))
    place = f"--arg {text}: {name}"
    if not pointer:
        if len(words) != 1:
            raise BadInput(f"{place} is {_shown(kind)}, which takes a number.", hint=_HINT)
        return LaunchArgument(content=_packed(kind, words[0], place))
    if len(words) > 2:
        raise BadInput(f"{place} takes a size and what fills it.", hint=_HINT)
    size = int(moved_bytes(words[0].strip()))
    return LaunchArgument(
        content=_fill(kind, words[1] if len(words) > 1 else "zero", place), size=size
    )


def _is_size(words: Sequence[str]) -> bool:
    return len(words) > 1 or words[0].strip()[-1:].isalpha()


def _packed(kind: str, word: str, place: str) -> bytes:
    form = _FORMATS.get(kind)
    if form is None:
        raise BadInput(
            f"{place} is {_shown(kind)}: its type is needed before the number.", hint=_HINT
        )
    try:
        value = (
            float(word)
            if kind in _FLOATS
            else bool(_whole(word))
            if kind == "bool"
            else _whole(word)
        )
        return struct.pack(form, value)
    except (ValueError, OverflowError, struct.error):
        raise BadInput(f"{place} is {kind}, and {quoted(word)} is no such number.") from None


def _whole(word: str) -> int:
    """Return the number that *word* writes, also with another base; raises ValueError."""
    number = integer(word)
    return int(word, 0) if number is None else number


def _fill(kind: str, word: str, place: str) -> bytes:
    word = word.strip()
    if word == "zero":
        return b"\0"
    element = kind.removesuffix("*")
    if match := _VECTOR.match(element):
        element = match[1]
    if element not in _FORMATS:
        raise BadInput(
            f"{place} points to a type that the source does not say; {quoted(word)} needs it.",
            hint=_HINT,
        )
    if word != "random":
        return _packed(element, word, place)
    numbers = random.Random(1)
    form = _FORMATS[element]
    if element in _FLOATS:
        return struct.pack(f"{_PATTERN}{form}", *(numbers.random() for _ in range(_PATTERN)))
    return numbers.randbytes(_PATTERN)
