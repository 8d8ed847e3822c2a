"""JSON: the envelope of an answer, ASCII only, so that no text can steer a terminal."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.cli.answer import Answer

# Where the objects of a list in the result stand, and their fields.
OBJECT_INDENT = " " * 6
MEMBER_START = "\n" + " " * 8
_LIST_END = " " * 4


def render(answer: Answer) -> str:
    """Return the envelope, indented, with a final line end."""
    return harmless_json(json.dumps(answer.envelope(), indent=2, allow_nan=False)) + "\n"


def harmless_json(text: str) -> str:
    """Return JSON of the same value without ``##``, with which commands of some runners begin."""
    return text.replace("##", "#\\u0023") if "##" in text else text


def render_with(answer: Answer, name: str, objects: Iterable[str]) -> Iterator[str]:
    """Yield the envelope with *objects* in the list *name* of its result, which is empty.

    They are texts as ``RowEncoder.texts`` makes them: no other text is a key, since quotes are escaped.
    """
    head, key, tail = render(answer).partition(f'"{name}": [')
    yield head + key
    before = "\n"
    for text in objects:
        yield before + text
        before = ",\n"
    yield f"\n{_LIST_END}{tail}" if before != "\n" else tail


def label(name: str) -> str:
    """Return what ``render`` writes before the value of the field *name*."""
    return f"{compact(name)}: "


def indented(value: Any) -> str:
    """Return the value of a field of an object in a list of the result, as ``render`` writes it."""
    if not isinstance(value, list | tuple | dict):
        return compact(value)
    text = json.dumps(value, indent=2, allow_nan=False).replace("\n", MEMBER_START)
    return harmless_json(text)


def compact(value: Any) -> str:
    """Return *value* as JSON on one line."""
    if value is None:
        return "null"
    # What most fields hold; the encoder takes ten times as long for it.
    kind = type(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int or (kind is float and isfinite(value)):
        return repr(value)
    return harmless_json(_COMPACT.encode(value))


# One for all lines: json.dumps makes a new one for each.
_COMPACT = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
