"""What a kernel is for, as names say: to set something up once, to print, or to treat the border of a grid."""

from __future__ import annotations

import re

# Words of a name, be they parted by underscores or by capitals.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SET_UP = frozenset(
    ("init", "initialize", "initialise", "initial", "initialization", "initializer", "setup", "fill", "reset", "seed",
     "mask", "masks", "ics")
)  # fmt: skip
_BORDER = re.compile(
    r"[Bb]oundar|[Bb]order|[Gg]host|[Hh]alo|(?<![A-Z])BCs?(?![a-z])|(?:^|_)bcs?(?:_|$)"
)
_OUTPUT = frozenset(("print", "printf", "dump", "debug", "show", "display", "hello"))


def is_of_set_up(name: str) -> bool:
    """Whether a function or file called *name* sets something up, which programs do seldom."""
    return not _SET_UP.isdisjoint(_words(name))


def is_of_output(name: str) -> bool:
    """Whether a function called *name* is there to print."""
    return not _OUTPUT.isdisjoint(_words(name))


def is_of_border(name: str) -> bool:
    """Whether a function called *name* treats the border of a grid, which is little beside what is inside."""
    return _BORDER.search(name) is not None


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}
