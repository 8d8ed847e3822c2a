"""The source files that a call names, and what lint sees in each."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.user_files import unreadable
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.advisor.source.language import is_python, syntax_fault
from gpuadvise.advisor.source.lint import LintedFile, lint_cuda
from gpuadvise.advisor.source.observations import SUFFIXES
from gpuadvise.advisor.source.python.lint import lint_python
from gpuadvise.advisor.source.text import LARGEST, source_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gpuadvise.advisor.source.language import SyntaxFault

STDIN = "<stdin>"
# Folders that hold no sources of the project itself.
_SKIPPED = frozenset((".git", ".hg", "__pycache__", "node_modules", ".venv", "venv", "build"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file as it was read, and what was seen in it."""

    path: str
    data: bytes
    linted: LintedFile
    python: bool
    lacking: Unavailable | None = None  # what would have to be installed to read it

    def lines(self) -> list[str]:
        """Return the lines of the file as lint counts them, without a byte order mark."""
        text = source_text(self.data.removeprefix(b"\xef\xbb\xbf"), self.path).content
        return text.decode("utf-8", "replace").split("\n")


def sources(
    files: list[str], *, select: Collection[str], exclude: Collection[str], notes: list[str]
) -> Iterator[SourceFile]:
    """Yield the files that *files* name, folders searched for SUFFIXES in order of their names.

    A file that cannot be read is an error when it was named, and a note when a folder held it.
    Python that cannot be parsed is a note, and a stretch that was not parsed. Patterns in *exclude* leave out files of folders; they match paths, folders and file names.
    """
    for name in files:
        if name == "-":
            data = sys.stdin.buffer.read(LARGEST + 1)
            python = is_python(data)
            source = _parsed(STDIN, data, select, notes, python=python)
            fault = syntax_fault(data) if python and not source.linted.unparsed else None
            yield _unparsed(STDIN, data, fault, notes) if fault else source
        elif Path(name).is_dir():
            for path in _below(name, exclude):
                try:
                    yield _parsed(path, _read(path), select, notes, python=path.endswith(".py"))
                except BadInput as error:
                    notes.append(error.message)
        else:
            data, python = _read(name), name.endswith(".py")
            source = _parsed(name, data, select, notes, python=python)
            # lint_python leaves a file that names no library of GPUs unparsed: it has no faults.
            fault = syntax_fault(data) if python and not source.linted.unparsed else None
            yield _unparsed(name, data, fault, notes) if fault else source


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


def linted_source(path: str, data: bytes, select: Collection[str], *, python: bool) -> SourceFile:
    """Return what *data*, the content of *path*, shows of the rules *select*."""
    lint = lint_python if python else lint_cuda
    return SourceFile(path=path, data=data, linted=lint(data, path, select=select), python=python)


def _parsed(
    path: str, data: bytes, select: Collection[str], notes: list[str], *, python: bool
) -> SourceFile:
    """Return what *data* shows; what cannot be parsed shows nothing, and *notes* say so."""
    try:
        return linted_source(path, data, select, python=python)
    except BadInput:
        fault = syntax_fault(data) if python else None
        if fault is None:
            raise
        return _unparsed(path, data, fault, notes)
    except Unavailable as error:
        said = " ".join(filter(None, (error.message, error.hint)))
        notes += [] if said in notes else [said]
        return SourceFile(
            path=path, data=data, linted=_whole(path, data), python=python, lacking=error
        )


def _unparsed(path: str, data: bytes, fault: SyntaxFault, notes: list[str]) -> SourceFile:
    """Return the Python file *path* as one stretch that was not parsed, and say why in *notes*."""
    place = f", line {fault.line}" if fault.line else ""
    reason = f" Python says: {fault.reason}" if fault.reason else ""
    notes.append(f"{quoted_path(path)}{place}: this is not Python that can be parsed.{reason}")
    return SourceFile(path=path, data=data, linted=_whole(path, data), python=True)


def _whole(path: str, data: bytes) -> LintedFile:
    """Return what is seen in a file that was not parsed."""
    text = source_text(data.removeprefix(b"\xef\xbb\xbf"), path)
    whole = text.where(0, len(text.content))
    return LintedFile(file=path, diagnostics=(), unparsed=(whole,))
