"""What code is for, as names say: to set something up once, to print, to be compared with, or to treat the border of a grid."""

from __future__ import annotations

import re
from functools import cache

# Words of a name, be they parted by underscores or by capitals.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SET_UP = frozenset(
    ("init", "initialize", "initialise", "initial", "initialization", "initializer", "setup", "fill", "reset", "seed",
     "mask", "masks", "ics")
)  # fmt: skip
_BORDER = re.compile(
    r"[Bb]oundar|[Bb]order|[Gg]host|[Hh]alo|(?<![A-Z])BCs?(?![a-z])|(?:^|_)bcs?(?:_|$)"
)
_COMPARED_WITH = frozenset(("ref", "reference", "naive", "baseline", "golden", "unoptimized"))
# Headers of NVIDIA's samples, which programs carry along.
_OF_SAMPLES = re.compile(
    r"(?:^|[/\\])(?:cutil\w*|helper_(?:math|cuda|functions|image|string|timer|gl|cuda_gl|cuda_drvapi)|vector_operators)\.(?:h|hpp|cuh)$"
)
_OUTPUT = frozenset(("print", "printf", "dump", "debug", "show", "display", "hello"))


def is_of_set_up(name: str) -> bool:
    """Whether a function or file called *name* sets something up, which programs do seldom."""
    return not _SET_UP.isdisjoint(_words(name))


def is_of_output(name: str) -> bool:
    """Whether a function called *name* is there to print."""
    return not _OUTPUT.isdisjoint(_words(name))


def is_compared_with(name: str) -> bool:
    """Whether a function or file called *name* is the plain form that faster ones are compared with."""
    return not _COMPARED_WITH.isdisjoint(_words(name))


def is_of_samples(file: str) -> bool:
    """Whether *file* is called as a header of NVIDIA's samples: a copy that nobody changes, little of it used."""
    return _OF_SAMPLES.search(file) is not None


def is_of_border(name: str) -> bool:
    """Whether a function called *name* treats the border of a grid, which is little beside what is inside."""
    return _BORDER.search(name) is not None


@cache  # several rules ask of each function, and all of its file
def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(name))
