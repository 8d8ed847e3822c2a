"""``--get``: one field of an answer as a bare value for ``$(...)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, inert, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.cli.answer import Answer


def bare_field(answer: Answer, path: str) -> str:
    """Return the field that the dotted *path* names, as one line.

    A path starts in ``result``; where nothing there has the name, in the whole envelope.
    ``null`` is a known absence. Raises BadInput for a path that leads nowhere.
    """
    first = path.partition(".")[0]
    start = answer.result if first in answer.result else answer.envelope()
    return _bare(_walk(start, path, answer.result))


def _walk(start: Mapping[str, Any], path: str, fields: Mapping[str, Any]) -> Any:
    value: Any = start
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, (list, tuple)) and part in map(str, range(len(value))):
            value = value[int(part)]
        else:
            raise BadInput(
                f"--get {quoted(path)}: there is no such field.",
                hint=f"Fields of the result: {and_list(sorted(fields))}.",
            )
    return value


def _bare(value: Any) -> str:
    if isinstance(value, str):
        return inert(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return " ".join(inert(item) for item in value)
    from gpuadvise.cli.render.json import compact

    return compact(value)
