"""Single values of a kernel description: numbers, sizes, times, words, each with its limits.

A size, time or rate is a number in base units or a text with a unit, as on the command line.
"""

from __future__ import annotations

import difflib
import math
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.advisor.quantity import parse_bytes, parse_rate, parse_seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import StrEnum


Reader: TypeAlias = "Callable[[object], Any]"
Word = TypeVar("Word", bound="StrEnum")

LARGEST = 2**63 - 1


def whole(low: int = 0, high: int = LARGEST) -> Reader:
    """Return a reader of whole numbers from *low* to *high*; 1e9 is one, as other tools write."""

    def read(value: object) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise BadInput(f"{shown(value)} is not a whole number from {low} to {high}.")
        return value

    return read


def one_of(*accepted: int) -> Reader:
    """Return a reader of one of the whole numbers *accepted*."""

    def read(value: object) -> int:
        if isinstance(value, bool) or value not in accepted:
            listed = and_list([str(number) for number in accepted], "or")
            raise BadInput(f"{shown(value)} is not {listed}.")
        return int(value)

    return read


def number(low: float = 0.0, high: float = math.inf, *, above: bool = False) -> Reader:
    """Return a reader of finite numbers from *low* (*above* it, if asked) to *high*."""

    def read(value: object) -> float:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        if not plain or not _within(value, low, high) or (above and value == low):  # type: ignore[arg-type]
            raise BadInput(f"{shown(value)} is not a number {_range(low, high, above)}.")
        return float(value)  # type: ignore[arg-type]

    return read


def _within(value: float, low: float, high: float) -> bool:
    return abs(value) <= LARGEST and low <= value <= high  # false for nan and infinity


def _range(low: float, high: float, above: bool) -> str:
    if math.isinf(high):
        return f"above {low:g}" if above else f"from {low:g} up"
    return f"above {low:g} and up to {high:g}" if above else f"from {low:g} to {high:g}"


def size(value: object) -> int:
    """Return bytes: ``49152`` or ``"48KiB"``; raises BadInput."""
    return int(_measured(value, parse_bytes, whole()))


def seconds(value: object) -> float:
    """Return seconds above 0: ``0.003`` or ``"3ms"``; raises BadInput."""
    return float(_measured(value, parse_seconds, number(above=True)))


def seconds_or_none(value: object) -> float:
    """Return seconds from 0 up: ``0`` or ``"3ms"``; raises BadInput."""
    return float(_measured(value, lambda text: parse_seconds(text, zero=True), number()))


def rate(value: object) -> float:
    """Return bytes per second: ``25e9`` or ``"25GB/s"``; raises BadInput."""
    return float(_measured(value, parse_rate, number(above=True)))


def _measured(value: object, parse: Callable[[str], Any], plain: Reader) -> Any:
    return parse(value) if isinstance(value, str) else plain(value)


def share(value: object) -> float:
    """Return a fraction: ``0.75``, ``"0.75"`` or ``"75%"``; raises BadInput."""
    if not isinstance(value, str):
        return float(number(0, 1)(value))
    digits = value.strip()
    scale = 100 if digits.endswith("%") else 1
    try:
        return float(number(0, scale)(float(digits.removesuffix("%")))) / scale
    except (ValueError, BadInput):
        raise BadInput(f"{shown(value)} is not a share.", hint='Write 0.75 or "75%".') from None


def flag(value: object) -> bool:
    """Return true or false; raises BadInput for anything else, also for 0 and 1."""
    if not isinstance(value, bool):
        raise BadInput(f"{shown(value)} is neither true nor false.")
    return value


def text(value: object) -> str:
    """Return a text that is not empty; raises BadInput."""
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{shown(value)} is not a text.")
    return value


def word(words: type[Word]) -> Reader:
    """Return a reader of one member of *words*."""

    def read(value: object) -> Word:
        if isinstance(value, str) and value in [*words]:
            return words(value)
        near = difflib.get_close_matches(str(value)[:60], [*words], n=1, cutoff=0.6)
        hint = f"Did you mean {near[0]}?" if near else f"Use {and_list([*words], 'or')}."
        raise BadInput(f"{shown(value)} is not known here.", hint=hint)

    return read


def shown(value: object) -> str:
    """Return *value* as a message may repeat it: short, quoted, inert."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return "The number" if value > 0 else "The negative number"
    return quoted(value if isinstance(value, str) else _plain(value))


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a table"
    return "null" if value is None else str(value)


def texts(value: object) -> tuple[str, ...]:
    """Return a list of texts, or one text cut at its blanks; raises BadInput."""
    return tuple(value.split()) if isinstance(value, str) else text_list(value)


def text_list(value: object) -> tuple[str, ...]:
    """Return a list of texts; raises BadInput."""
    if not isinstance(value, list):
        raise BadInput(f"{shown(value)} is not a list of texts.")
    return tuple(text(item) for item in value)


def text_table(value: object) -> dict[str, str]:
    """Return a table of texts; raises BadInput."""
    table = _table(value)
    if not all(isinstance(item, str) for item in table.values()):
        raise BadInput("Every value of this table is a text.")
    return dict(table)


def share_table(value: object) -> dict[str, float]:
    """Return a table of fractions, such as pipes and how busy they are; raises BadInput."""
    return {key: share(item) for key, item in _table(value).items()}


def number_table(value: object) -> dict[str, float]:
    """Return a table of numbers from 0 up; raises BadInput."""
    return {key: number()(item) for key, item in _table(value).items()}


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{shown(value)} is not a table.")
    return value


def wholes(value: object) -> tuple[int, ...]:
    """Return a list of 1 to 32 whole numbers from 0 up, one per lane; raises BadInput."""
    if not isinstance(value, list) or not 1 <= len(value) <= 32:
        raise BadInput(f"{shown(value)} is not a list of 1 to 32 indices.")
    return tuple(whole(0, 2**40)(item) for item in value)


def dims(value: object) -> tuple[int, int, int]:
    """Return three dimensions from ``256``, ``[16, 16]`` or ``"16x16"``; raises BadInput."""
    parts = _parts(value)
    if not 1 <= len(parts) <= 3 or not all(_is_count(part) for part in parts):
        raise BadInput(
            f"{shown(value)} is not a size in threads or blocks.",
            hint='Write 256, [16, 16] or "16x16", each from 1 to 2147483647.',
        )
    x, y, z = (*map(int, parts), 1, 1)[:3]
    return x, y, z


def _parts(value: object) -> list[Any]:
    if isinstance(value, str):
        return value.lower().split("x") if len(value) <= 60 else []
    return value if isinstance(value, list) else [value]


def _is_count(part: object) -> bool:
    if isinstance(part, str):
        return len(part) <= 10 and part.isascii() and part.isdigit() and _is_count(int(part))
    return isinstance(part, int) and not isinstance(part, bool) and 1 <= part < 2**31
