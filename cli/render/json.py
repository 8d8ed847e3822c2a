"""JSON: the envelope of an answer, ASCII only, so that no text can steer a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuadvise.cli.answer import Answer


def render(answer: Answer) -> str:
    """Return the envelope, indented, with a final line end."""
    return json.dumps(answer.envelope(), indent=2, allow_nan=False) + "\n"


def compact(value: Any) -> str:
    """Return *value* as JSON on one line."""
    return _COMPACT.encode(value)


# One for all lines: json.dumps makes a new one for each.
_COMPACT = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
