"""Shared variables of PTX: how many bytes one declaration takes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_TYPE_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}
_DECLARATION = re.compile(
    r"""\.shared\b
    (?:\s+\.attribute\([^)]{0,80}\))?
    (?:\s+\.align\s+(?P<align>\d{1,5}))?
    (?:\s+\.v(?P<vector>[24]))?
    \s+\.(?P<type>[busf](?P<bits>8|16|32|64|128)|f16x2|bf16|pred)
    \s+(?P<name>[A-Za-z_$%][\w$]{0,4000})
    (?P<sizes>(?:\s*\[\s*\d{0,12}\s*\]){0,8})""",
    re.VERBOSE,
)
_SIZE = re.compile(r"\d+")
_MOST = 1 << 32  # far above any shared memory; larger is a forged number


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """One shared variable; *size* in bytes, None for an array whose size the launch gives."""

    name: str
    size: int | None
    align: int


def parse_shared(text: str) -> list[Shared]:
    """Return the shared variables that *text* declares."""
    return [_variable(found) for found in _DECLARATION.finditer(text)]


def _variable(found: re.Match[str]) -> Shared:
    element = _TYPE_BYTES.get(found["bits"] or "", 4) * int(found["vector"] or 1)
    sizes = [int(size) for size in _SIZE.findall(found["sizes"])]
    dynamic = len(sizes) < found["sizes"].count("[")
    return Shared(
        name=found["name"],
        size=None if dynamic else min(element * math.prod(sizes), _MOST),
        align=int(found["align"] or element),
    )


def packed(variables: list[Shared]) -> int:
    """Return the bytes that *variables* take one behind the other, each on its alignment."""
    end = 0
    for variable in variables:
        end += -end % max(variable.align, 1) + (variable.size or 0)
    return end
