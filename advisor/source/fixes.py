"""Mechanical edits put into a file, and the check that it still reads as it did."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.language import syntax_tree
from gpuadvise.advisor.source.preprocessor import preprocessed
from gpuadvise.advisor.source.text import source_text
from gpuadvise.advisor.source.tree import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.source.diagnostic import Diagnostic

_MARK = b"\xef\xbb\xbf"
# Keyword arguments that edits of Python add.
_ADDED = ("non_blocking",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """A file after its edits: *data*, the faults *fixed* and those *left* although they had edits."""

    data: bytes
    fixed: tuple[Diagnostic, ...]
    left: tuple[Diagnostic, ...] = ()


def mended(data: bytes, diagnostics: Iterable[Diagnostic], *, python: bool = False) -> Mended:
    """Return *data* with the edits of *diagnostics*, from the first to the last.

    Edits that overlap an earlier one are left for the next run. When the result has syntax that
    the parser does not know and the original had none there, or when Python has come to mean
    something else, nothing is changed at all.
    """
    with_edits = sorted(
        (d for d in diagnostics if d.edits), key=lambda d: min(e.start for e in d.edits)
    )
    if source_text(data, "").transcoded:
        return Mended(data=data, fixed=(), left=tuple(with_edits))
    fixed: list[Diagnostic] = []
    left: list[Diagnostic] = []
    end = -1
    for diagnostic in with_edits:
        disjoint = min(e.start for e in diagnostic.edits) >= end
        (fixed if disjoint else left).append(diagnostic)
        if disjoint:
            end = max(e.end for e in diagnostic.edits)
    # Python is linted without its byte order mark: offsets count from behind it.
    mark = _MARK if python and data.startswith(_MARK) else b""
    after = mark + _edited(data.removeprefix(mark), fixed)
    if not _reads_as_well(data, after, python=python):
        return Mended(data=data, fixed=(), left=tuple(with_edits))
    return Mended(data=after, fixed=tuple(fixed), left=tuple(left))


def _edited(data: bytes, diagnostics: list[Diagnostic]) -> bytes:
    pieces: list[bytes] = []
    at = 0
    for edit in sorted((e for d in diagnostics for e in d.edits), key=lambda e: (e.start, e.end)):
        pieces += (data[at : edit.start], edit.text.encode())
        at = edit.end
    return b"".join((*pieces, data[at:]))


def _reads_as_well(before: bytes, after: bytes, *, python: bool) -> bool:
    if python:
        return _meaning(after) == _meaning(before)
    return _unparsed(after) <= _unparsed(before)


def _meaning(data: bytes) -> str | None:
    """Return the tree of Python, but for the keywords that edits add; None where it has none."""
    try:
        tree = syntax_tree(data)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                node.keywords = [k for k in node.keywords if k.arg not in _ADDED]
        return ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _unparsed(data: bytes) -> int:
    tree = parse(preprocessed(source_text(data, "").content, "").text, "")
    tree.release()
    return len(tree.unparsed)
