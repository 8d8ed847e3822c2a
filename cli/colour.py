"""Whether an answer is coloured: what the user said, then the environment, then the stream."""

from __future__ import annotations

import os
import sys
from enum import StrEnum

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted


class Colour(StrEnum):
    """What ``--color`` takes."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


_chosen = Colour.AUTO


def choose_colour(word: str | None) -> None:
    """Take *word* as ``--color`` of this run; None: auto. Raises BadInput."""
    global _chosen
    if word is not None and word not in [*Colour]:
        raise BadInput(
            f"--color: {quoted(word)} is not a choice.", hint=f"Use {and_list([*Colour], 'or')}."
        )
    _chosen = Colour.AUTO if word is None else Colour(word)


def coloured() -> bool:
    """Return whether stdout gets colour, also where it is no terminal.

    NO_COLOR (no-color.org) goes before FORCE_COLOR (force-color.org) and CLICOLOR_FORCE.
    """
    if _chosen is not Colour.AUTO:
        return _chosen is Colour.ALWAYS
    if os.environ.get("NO_COLOR"):
        return False
    forced = any(os.environ.get(name, "0") not in ("", "0") for name in _FORCING)
    return forced or (sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown"))


_FORCING = ("FORCE_COLOR", "CLICOLOR_FORCE")
