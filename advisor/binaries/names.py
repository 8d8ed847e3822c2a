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
_REFERENCE = re.compile(r"[ST][0-9A-Z]*_")
# Each two references back can double what a name means: forty times two is a forged one's terabyte.
_HARMLESS_REFERENCES = 24


def demangle(name: str) -> str | None:
    """Return the C++ name behind a mangled one; None when it is not mangled, or not readable."""
    if not name.startswith("_Z") or len(name) > _LONGEST:
        return None
    demangler = _demangler()
    if demangler is None:
        return None
    # Local copies made by the compiler end in $ and a number, which is no part of the mangling.
    base, dollar, copy = name.partition("$")
    if len(_REFERENCE.findall(base)) > _HARMLESS_REFERENCES:
        from gpuadvise.advisor.binaries.demangler import demangle_apart

        plain = demangle_apart(base)
    else:
        plain = _plain(demangler, base)
    if plain is None or len(plain) > _LONGEST_PLAIN:
        return None
    return plain + dollar + copy


def can_demangle() -> bool:
    """Return whether the package that demangles is installed."""
    return _demangler() is not None


def _plain(demangler: Callable[[str], str | None], name: str) -> str | None:
    try:
        return demangler(name)
    except ValueError:
        return None


@lru_cache(maxsize=1)
def _demangler() -> Callable[[str], str | None] | None:
    try:
        from pycxxfilt import itanium_demangle
    except ImportError:
        return None
    return itanium_demangle
