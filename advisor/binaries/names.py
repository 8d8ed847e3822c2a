"""Mangled C++ names as people wrote them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# The longest seen in a library is 2,489 characters, and demangled 25,000.
_LONGEST = 1 << 13
_LONGEST_PLAIN = 1 << 16
# The kernels of one image come again for every target.
_KEPT = 1 << 10
_REFERENCE = re.compile(r"[ST][0-9A-Z]*_")
# Each two references back can double what a name means: forty times two is a forged one's terabyte.
_HARMLESS_REFERENCES = 24


def demangle(name: str) -> str | None:
    """Return the C++ name behind a mangled one; None when it is not mangled, or not readable."""
    if not name.startswith("_Z") or len(name) > _LONGEST or not can_demangle():
        return None
    # Local copies made by the compiler end in $ and a number, which is no part of the mangling.
    base, dollar, copy = name.partition("$")
    plain = _plain(base)
    return None if plain is None else plain + dollar + copy


def can_demangle() -> bool:
    """Return whether the package that demangles is installed."""
    return _demangler() is not None


@lru_cache(maxsize=_KEPT)
def _plain(name: str) -> str | None:
    if _references(name) > _HARMLESS_REFERENCES:
        from gpuadvise.advisor.binaries.demangler import demangle_apart

        plain = demangle_apart(name)
    else:
        plain = _demangled(name)
    return None if plain is None or len(plain) > _LONGEST_PLAIN else plain


def _references(name: str) -> int:
    # Counting the letters that begin one is ten times as fast, and enough for most names.
    most = name.count("S") + name.count("T")
    return most if most <= _HARMLESS_REFERENCES else len(_REFERENCE.findall(name))


def _demangled(name: str) -> str | None:
    demangler = _demangler()
    try:
        return demangler(name) if demangler else None
    except ValueError:
        return None


@lru_cache(maxsize=1)
def _demangler() -> Callable[[str], str | None] | None:
    try:
        from pycxxfilt import itanium_demangle
    except ImportError:
        return None
    return itanium_demangle
