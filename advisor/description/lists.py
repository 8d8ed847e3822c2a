"""Lists and tables of a kernel description: texts, indices, dimensions, named figures."""

from __future__ import annotations

from typing import Any

from gpuadvise.advisor.description.values import number, share, shown, text, whole
from gpuadvise.advisor.errors import BadInput


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
