"""The source files that a call names, and what lint sees in each."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.user_files import unreadable
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.advisor.source.lint import LintedFile, lint_cuda
from gpuadvise.advisor.source.observations import SUFFIXES
from gpuadvise.advisor.source.python.lint import lint_python
from gpuadvise.advisor.source.text import LARGEST, source_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

# Folders that hold no sources of the project itself.
_SKIPPED = frozenset((".git", ".hg", "__pycache__", "node_modules", ".venv", "venv", "build"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file as it was read, and what was seen in it."""

    path: str
    data: bytes
    linted: LintedFile

    def lines(self) -> list[str]:
        """Return the lines of the file as lint counts them, without a byte order mark."""
        text = source_text(self.data.removeprefix(b"\xef\xbb\xbf"), self.path).content
        return text.decode("utf-8", "replace").split("\n")

    @property
    def python(self) -> bool:
        """Whether it is Python."""
        return self.path.endswith(".py")


def sources(
    files: list[str], *, select: Collection[str], exclude: Collection[str], notes: list[str]
) -> Iterator[SourceFile]:
    """Yield the files that *files* name, folders searched for SUFFIXES in order of their names.

    A file that cannot be read is an error when it was named, and a note when a folder held it.
    Patterns in *exclude* leave out files of folders; they match paths, folders and file names.
    """
    for name in files:
        if name == "-":
            yield linted_source("<stdin>", sys.stdin.buffer.read(LARGEST + 1), select)
        elif Path(name).is_dir():
            for path in _below(name, exclude):
                try:
                    yield linted_source(path, _read(path), select)
                except BadInput as error:
                    notes.append(error.message)
        else:
            yield linted_source(name, _read(name), select)


def _below(folder: str, exclude: Collection[str]) -> Iterator[str]:
    for here, folders, names in os.walk(folder):
        kept = [f for f in folders if f not in _SKIPPED]
        folders[:] = sorted(f for f in kept if not _excluded(os.path.join(here, f), exclude))
        for name in sorted(names):
            path = os.path.join(here, name)
            if name.endswith(SUFFIXES) and not _excluded(path, exclude):
                yield path


def _excluded(path: str, patterns: Collection[str]) -> bool:
    """Whether a pattern matches the path, the path below the working folder, or the last name."""
    forms = (path, os.path.relpath(path), os.path.basename(path))
    return any(fnmatch(form, pattern.rstrip("/")) for pattern in patterns for form in forms)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST + 1)
    except OSError as error:
        raise unreadable(error, quoted_path(path)) from None


def linted_source(path: str, data: bytes, select: Collection[str]) -> SourceFile:
    """Return what *data*, the content of *path*, shows of the rules *select*."""
    lint = lint_python if path.endswith(".py") else lint_cuda
    return SourceFile(path=path, data=data, linted=lint(data, path, select=select))
