"""The generated files, read once, and single lines of them without parsing the rest."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any

_HERE = os.path.dirname(__file__)


@cache
def text_of(name: str) -> str:
    """Return the text of the generated file *name*."""
    with open(os.path.join(_HERE, name), encoding="ascii") as file:
        return file.read()


def line_of(name: str, key: str) -> Any:
    """Return what the object in *name* holds under *key*, or None.

    ``gpus.json``, ``names.json`` and ``drivers.json`` have one entry per line, so that a look-up parses one.
    """
    text = text_of(name)
    start = f"\n{json.dumps(key)}:"
    begin = text.find(start)
    if begin < 0:
        return None
    begin += len(start)
    return json.loads(text[begin : text.find("\n", begin)].rstrip(","))
