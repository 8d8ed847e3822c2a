"""Mangled C++ names: as people wrote them, and as any build of the same source has them."""

from __future__ import annotations

import atexit
import re
import subprocess
import sys
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
    """Return whether there is a demangler: the package, or that of the C++ runtime."""
    return _demangler() is not None


@lru_cache(maxsize=_KEPT)
def _plain(name: str) -> str | None:
    plain = (
        demangle_in_child(name) if _references(name) > _HARMLESS_REFERENCES else _demangled(name)
    )
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
        return _runtime_demangler()
    return itanium_demangle


# Where LLVM's C++ runtime may be: in this process (macOS, browsers), or a library of its own.
_RUNTIMES = (None, "libc++abi.so.1", "libc++abi.dylib")
# Only LLVM writes a lambda so. GNU's demangler takes hours for some forged names.
_LAMBDA = ("_ZZ1fvENKUlvE_clEv", "f()::'lambda'()::operator()() const")


def _runtime_demangler() -> Callable[[str], str | None] | None:
    """Return the demangler of LLVM's C++ runtime, with the package's spelling; None without it."""
    try:
        import ctypes
    except ImportError:
        return None
    for library in _RUNTIMES:
        try:
            runtime = ctypes.CDLL(library)
            function, free = runtime.__cxa_demangle, ctypes.CDLL(None).free
        except (OSError, AttributeError, TypeError):  # the last one on Windows
            continue
        function.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        function.restype = ctypes.c_void_p
        free.argtypes = (ctypes.c_void_p,)

        def demangled(
            name: str,
            function: Callable[..., int | None] = function,
            free: Callable[..., None] = free,
        ) -> str | None:
            status = ctypes.c_int()
            text = function(name.encode(), None, None, ctypes.byref(status))
            if text is None:
                return None
            try:
                plain = ctypes.string_at(text).decode(errors="replace")
            finally:
                free(text)
            return _CLOSING.sub(lambda closing: closing[0].replace(" ", ""), plain)

        if demangled(_LAMBDA[0]) == _LAMBDA[1]:
            return demangled
    return None


_CLOSING = re.compile(r">(?: >)+")  # as LLVM wrote it before version 15


# A child that was killed this often is not started again: the file is made to do that.
_MAX_DEATHS = 3
# 512 MiB and five seconds of processor time, for all names together.
_CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
from pycxxfilt import itanium_demangle
for line in sys.stdin:
    try:
        plain = itanium_demangle(line[:-1]) or ""
    except ValueError:
        plain = ""
    print(plain if len(plain) < 1 << 16 and plain.isprintable() else "", flush=True)
"""


class _ChildDemangler:
    """The child, started when the first such name comes."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None
        self._deaths = 0

    def demangle(self, name: str) -> str | None:
        """Return the plain name; None when it has none or costs too much."""
        if self._deaths >= _MAX_DEATHS or not name.isprintable() or not name.isascii():
            return None
        try:
            child = self._child or self._started()
        except OSError:  # without a process to bound it, the name stays as it is
            self._deaths = _MAX_DEATHS
            return None
        try:
            print(name, file=child.stdin, flush=True)
            answer = child.stdout.readline() if child.stdout else ""
        except OSError:
            answer = ""
        if not answer:
            self.stop()
            self._deaths += 1
        return answer.rstrip("\n") or None

    def stop(self) -> None:
        """End the child."""
        if self._child:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def _started(self) -> subprocess.Popen[str]:
        self._child = subprocess.Popen(
            [sys.executable, "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        return self._child


_child_demangler = _ChildDemangler()
atexit.register(_child_demangler.stop)


def demangle_in_child(name: str) -> str | None:
    """Return the C++ name behind *name*; None when it has none or would be too large.

    None, too, where the package, or what bounds a process, is missing.
    """
    return _child_demangler.demangle(name) if _child_works() else None


@lru_cache(maxsize=1)
def _child_works() -> bool:
    """Return whether what the child imports is there."""
    try:
        import resource  # noqa: F401 - not on Windows and in browsers

        import pycxxfilt  # noqa: F401
    except ImportError:
        return False
    return True


_HASHED = re.compile(r"_[0-9a-f]{8}(_\d{1,3}_\w{1,200}?_)[0-9a-f]{8}")
_TEMPORARY = re.compile(r"tmpxft_[0-9a-f]{8}_[0-9a-f]{8}")


def stable_name(name: str) -> str:
    """Return *name* as it would be in any other build of the same source."""
    if "_GLOBAL__N__" not in name and "__nv_static_" not in name and "_INTERNAL_" not in name:
        return name
    return _HASHED.sub(r"_#\1#", _TEMPORARY.sub("tmpxft", name))
