"""``--get``: one field of an answer as a bare value for ``$(...)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import SHOWN, and_list, inert, plural, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.cli.answer import Answer


def bare_field(answer: Answer, path: str) -> str:
    """Return the field that the dotted *path* names, as one line.

    A path starts in ``result``; where nothing there has the name, in the whole envelope.
    ``null`` is a known absence. Raises BadInput for a path that leads nowhere.
    """
    first = path.partition(".")[0]
    envelope = answer.envelope()
    start = envelope if first in envelope and first not in answer.result else answer.result
    return _bare(_walk(start, path))


def _walk(start: Mapping[str, Any], path: str) -> Any:
    value: Any = start
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, (list, tuple)) and part in map(str, range(len(value))):
            value = value[int(part)]
        else:
            raise BadInput(
                f"--get {quoted(path)}: there is no such field.", hint=_there(value, part)
            )
    return value


def _there(value: Any, wanted: str) -> str:
    """Return what could stand where *wanted* does, inside *value*."""
    if isinstance(value, (list, tuple)):
        return f"That list has {plural(len(value), 'entry', 'entries')}, numbered from 0."
    if not isinstance(value, dict):
        return "Nothing lies inside a single value."
    from difflib import get_close_matches

    near = get_close_matches(wanted[:SHOWN], value)
    if near:
        return f"Did you mean {and_list(near, 'or')}?"
    return f"Fields there: {and_list([inert(name) for name in sorted(value)])}."


def _bare(value: Any) -> str:
    if isinstance(value, str):
        return inert(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return " ".join(inert(item) for item in value)
    from gpuadvise.cli.render.json import compact

    return compact(value)
