"""Comments that accept a fault: ``// gpuadvise: ignore[rule] reason``, and ``#`` in Python.

``ignore-file`` instead of ``ignore`` speaks of the whole file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.source.diagnostic import Diagnostic, SourceRange
    from gpuadvise.advisor.source.text import SourceText

_COMMENT = re.compile(
    rb"(?://|/\*|#)[ \t]*gpuadvise:[ \t]*ignore(-file)?(?:\[([^\]\r\n]*)\])?[ \t]*([^\r\n]*)"
)
# A comment speaks of code at most so many lines below it.
_FARTHEST = 20
_WITHOUT_CODE = re.compile(rb"//.*|#.*|/\*(?:(?!\*/).)*(?:\*/)?", re.DOTALL)
_END = re.compile(r"\s*\*/.*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """One comment: it accepts *rules* (all of them when empty) on line *applies_to*.

    *applies_to* is None where it speaks of the whole file.
    """

    rules: tuple[str, ...]
    reason: str
    where: SourceRange
    applies_to: int | None

    def accepts(self, diagnostic: Diagnostic) -> bool:
        """Whether this comment speaks of *diagnostic*."""
        return self.applies_to in (None, diagnostic.where.line) and (
            not self.rules or diagnostic.rule in self.rules
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppressed:
    """*diagnostics* that stay, those that comments accept, and comments that accept none."""

    diagnostics: tuple[Diagnostic, ...]
    accepted: tuple[Diagnostic, ...]
    unused: tuple[Suppression, ...]


def suppressions_in(text: SourceText) -> tuple[Suppression, ...]:
    """Return the comments of a file; one that stands alone speaks of the next line of code."""
    if b"gpuadvise:" not in text.content:
        return ()
    suppressions = []
    for match in _COMMENT.finditer(text.content):
        line = text.line(match.start())
        before = text.line_text(line).split(match[0][:2])[0].strip()
        words = (match[2] or b"").decode("utf-8", "replace")
        own_line = line if before else _next_code(text, line)
        suppressions.append(
            Suppression(
                rules=tuple(word.strip() for word in words.split(",") if word.strip()),
                reason=_END.sub("", match[3].decode("utf-8", "replace")).strip(),
                where=text.where(match.start(), match.end()),
                applies_to=None if match[1] else own_line,
            )
        )
    return tuple(suppressions)


def _next_code(text: SourceText, line: int) -> int:
    """Return the next line that holds more than a comment."""
    last = min(text.line(len(text.content)), line + _FARTHEST)
    while line < last:
        line += 1
        words = text.line_text(line).strip()
        if words and not _WITHOUT_CODE.fullmatch(words):
            return line
    return line


def suppressed(
    diagnostics: Iterable[Diagnostic], comments: tuple[Suppression, ...], checked: frozenset[str]
) -> Suppressed:
    """Return *diagnostics* less those that *comments* accept.

    A comment counts as unused only when every rule that it names is among those *checked*.
    """
    kept: list[Diagnostic] = []
    accepted: list[Diagnostic] = []
    used: set[int] = set()
    by_line: dict[int | None, list[Suppression]] = {}
    for comment in comments:
        by_line.setdefault(comment.applies_to, []).append(comment)
    for diagnostic in diagnostics:
        nearby = [*by_line.get(diagnostic.where.line, ()), *by_line.get(None, ())]
        speaking = [c for c in nearby if c.accepts(diagnostic)]
        (accepted if speaking else kept).append(diagnostic)
        used.update(c.where.start for c in speaking)
    unused = tuple(c for c in comments if c.where.start not in used and checked.issuperset(c.rules))
    return Suppressed(diagnostics=tuple(kept), accepted=tuple(accepted), unused=unused)
