"""How a program is built, as far as that changes what its source means."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """Whether the compiler is told to use *fast_math*, and the macros that it is told, by name."""

    fast_math: bool = False
    definitions: Mapping[str, str] = field(default_factory=dict)


UNKNOWN_BUILD = Build()
