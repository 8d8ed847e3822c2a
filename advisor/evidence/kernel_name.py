"""Names of one kernel as sources, binaries, profiles and traces write them, compared."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache
from typing import NamedTuple

from gpuadvise.advisor.facts.library_kernels import base_name
from gpuadvise.advisor.source.scopes import UNKNOWN, Names, named_type

_NO_NAMES = Names()
_UNNAMED = "(anonymous namespace)"


class KernelName(NamedTuple):
    """A kernel's base name, and its parameter types where the name or the source tells them.

    Types are in the words of `named_type`; UNKNOWN stands for one that could be any.
    """

    base: str
    parameters: tuple[str, ...] | None = None

    def may_be(self, other: KernelName) -> bool:
        """Return whether both can be one kernel: types that only one of them knows do not decide."""
        if self.base != other.base:
            return False
        if self.parameters is None or other.parameters is None:
            return True
        return len(self.parameters) == len(other.parameters) and all(
            UNKNOWN in (mine[: len(UNKNOWN)], theirs[: len(UNKNOWN)]) or mine == theirs
            for mine, theirs in zip(self.parameters, other.parameters, strict=True)
        )


@lru_cache(maxsize=4096)  # every launch of a report asks
def kernel_name(demangled: str) -> KernelName:
    """Return what the *demangled* name of a kernel says of it."""
    return KernelName(base_name(demangled), _parameters(demangled))


def _parameters(name: str) -> tuple[str, ...] | None:
    """Return the types in the last brackets of *name*, None where it has none."""
    text = name.replace(_UNNAMED, "<unnamed>").rstrip()
    if not text.endswith(")"):
        return None
    depth, commas = 0, []
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] in ")>]") - (text[at] in "(<[")
        if depth == 1 and text[at] == ",":
            commas.append(at)
        if not depth:
            break
    edges = [at, *reversed(commas), len(text) - 1]
    types = [text[begin + 1 : end] for begin, end in itertools.pairwise(edges)]
    if [word.strip() for word in types] in ([""], ["void"]):
        return ()
    return tuple(parameter_type(word) for word in types)


# What a source calls its template parameters, pages write as T1 or T2.
_OF_A_TEMPLATE = re.compile(r"\bT\d+\b")


def parameter_type(words: str) -> str:
    """Return the type that a parameter's *words* name, UNKNOWN for one that they alone do not tell."""
    if _OF_A_TEMPLATE.search(words):
        return UNKNOWN
    return named_type(re.sub(r"\b__restrict\b|\brestrict\b", " ", words), _NO_NAMES)
