"""Names that may be forged to explode, demangled in a process that may not take much.

A name of 300 characters can stand for gigabytes of text, and nothing stops a demangler once it
runs. Real names of this look exist: two in a hundred kernels of a template library.
"""

from __future__ import annotations

import atexit
import subprocess
import sys

# A child that was killed this often is not started again: the file is made to do that.
_MOST_DEATHS = 3
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


class _Apart:
    """The child, started when the first such name comes."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None
        self._deaths = 0

    def ask(self, name: str) -> str | None:
        """Return the plain name; None when it has none or costs too much."""
        if self._deaths >= _MOST_DEATHS or not name.isprintable() or not name.isascii():
            return None
        child = self._child or self._started()
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


_apart = _Apart()
atexit.register(_apart.stop)


def demangle_apart(name: str) -> str | None:
    """Return the C++ name behind *name*; None when it has none or would be too large."""
    return _apart.ask(name)
