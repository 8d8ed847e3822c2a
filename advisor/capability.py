"""Compute capabilities: ``9.0`` and the many ways people write it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted

# Compiled on first use: a GPU of the catalogue has its capability in plain digits.
_FORM = r"((?:sm|compute|cc)[_-]?)?\s*(\d{1,2})(?:\.(\d)|(\d))([af]?)"


@dataclass(frozen=True, slots=True, order=True)
class Capability:
    """A compute capability; *variant* is ``a`` or ``f`` for targets such as ``sm_90a``."""

    major: int
    minor: int
    variant: str = ""

    def __str__(self) -> str:
        """Return it as ``9.0``."""
        return f"{self.major}.{self.minor}"

    @property
    def target(self) -> str:
        """The compiler's name for it, such as ``sm_90a``."""
        return f"sm_{self.major}{self.minor}{self.variant}"


def parse_capability(text: str) -> Capability:
    """Return the capability that ``9.0``, ``90``, ``sm_90a`` or ``compute_90`` names.

    Raises BadInput for anything else, and for ``12``: 1.2 is what compilers mean by it, 12.0
    what people do.
    """
    match = re.fullmatch(_FORM, text.strip(), re.IGNORECASE | re.ASCII)
    if not match:
        raise BadInput(
            f"{quoted(text)} is not a compute capability.",
            hint="Write it as 9.0, 90 or sm_90a.",
        )
    prefix, major, dotted, plain, variant = match.groups()
    if major == "1" and plain and not prefix:
        raise BadInput(
            f"{quoted(text)} can be compute capability 1.{plain} or 1{plain}.0.",
            hint=f"Write 1.{plain} or 1{plain}.0.",
        )
    return Capability(int(major), int(dotted or plain), variant.lower())
