"""Whether a text is Python or CUDA, and where Python could not be parsed."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

from gpuadvise.advisor.prose import inert
from gpuadvise.advisor.source.text import source_text

_MARK = b"\xef\xbb\xbf"  # a byte order mark, which some editors write
_UNNAMED = "<stdin>"
# The standard parser copies the name of an import once for each of its parts: 60 KB took 0.4 GB.
MOST_PARTS = 200
# Bytes that stand in no dotted name, not even in one of several lines, become one that splits.
_SPLITS = b"("
_WORDS_AND_DOTS = re.compile(rb"[\w\s.\\\x80-\xff]")
_ALONE = bytes(b if _WORDS_AND_DOTS.match(bytes((b,))) else _SPLITS[0] for b in range(256))
_OF_PYTHON = re.compile(
    rb"\s*(?:import[ \t]+[\w.]+[ \t]*(?:,|as\b|#|$)|from[ \t]+[\w.]+[ \t]+import\b"
    rb"|(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[^;{]*:[ \t]*$|if[ \t]+__name__\b|@\w)"
)
_OF_C = re.compile(
    rb"\s*(?:/[/*]|#[ \t]*(?:include|define|pragma|ifn?def)\b|using\b|namespace\b|template\b|extern\b"
    rb"|__\w+__\b)|.*[;{}]\s*$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxFault:
    """Where Python stopped, and why; None where it does not say."""

    line: int | None
    reason: str | None


def syntax_fault(data: bytes) -> SyntaxFault | None:
    """Return where *data* is no Python; None where it is, or where it nests too deeply to tell."""
    try:
        _tree_of(data)
    except (SyntaxError, ValueError) as error:
        reason = getattr(error, "msg", None)
        return SyntaxFault(
            line=getattr(error, "lineno", None), reason=reason and _sentence(inert(reason))
        )
    except (RecursionError, MemoryError):
        return None
    return None


def _sentence(words: str) -> str:
    return words if words.endswith((".", "?", "!")) else f"{words}."


def is_python(data: bytes) -> bool:
    """Whether *data*, whose name nobody knows, is Python: it parses, and imports or defines something.

    Lines of includes alone are comments to Python, and so no reason to take them for it. What does not
    parse is Python when its first line of code is.
    """
    try:
        tree = _tree_of(data)
    except (RecursionError, MemoryError):
        return False
    except (SyntaxError, ValueError):
        return _begins_as_python(data)
    return any(
        isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)
        for node in tree.body
    )


def _begins_as_python(data: bytes) -> bool:
    """Whether the first line of *data* that only Python or only C could hold is one of Python."""
    for line in data.removeprefix(_MARK).splitlines():
        if _OF_C.match(line):
            return False
        if _OF_PYTHON.match(line):
            return True
    return False


def _tree_of(data: bytes) -> ast.Module:
    return syntax_tree(source_text(data.removeprefix(_MARK), _UNNAMED).content)


# What Python says of a coding line that names a codec of some package, which reads UTF-8 and rewrites it.
_OF_A_PACKAGE = "unknown encoding"


def syntax_tree(content: bytes) -> ast.Module:
    """Return the tree of a Python file.

    Raises SyntaxError or ValueError where it is none, and RecursionError or MemoryError where it nests too
    deeply, or has a dotted name of more than ``MOST_PARTS`` parts.
    """
    if _most_parts(content) > MOST_PARTS:
        raise RecursionError
    with warnings.catch_warnings():
        # What the compiler thinks of odd escapes in a user's file is not our business.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(content)
        except SyntaxError as fault:
            if not fault.msg.startswith(_OF_A_PACKAGE):
                raise
            return ast.parse(content.decode())


def _most_parts(content: bytes) -> int:
    """Return the parts of the longest dotted name if it may have too many, else 0.

    Names in strings and comments count too, numbers do not.
    """
    most = 0
    for stretch in content.translate(_ALONE).split(_SPLITS):
        # Parts between dots have at least a byte each, as dots have.
        if len(stretch) < 2 * MOST_PARTS - 1 or stretch.count(b".") < max(most, MOST_PARTS):
            continue
        parts = 1
        for between in stretch.replace(b"\\", b" ").split(b".")[1:-1]:
            words = between.split()
            is_part = len(words) == 1 and not words[0][:1].isdigit()
            parts = parts + 1 if is_part else 1
            most = max(most, parts + 1)
    return most
