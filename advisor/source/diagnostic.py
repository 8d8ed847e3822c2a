"""Faults seen in a source file: where they stand, and the text that would mend them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRange:
    """A stretch of text: byte offsets, and lines and columns that count from 1.

    *end_column* is the column after the last character.
    """

    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEdit:
    """Bytes *start* to *end* of a file become *text*."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherPlace:
    """Another place of a fault that is said once: *seen* is the text at *where*, *kernel* the function."""

    where: SourceRange
    seen: str
    kernel: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One fault: *rule* names it, *seen* is the text at *where*.

    *message* says what is the matter there, *action* what to write instead. *edits* are the
    mechanical form of *action*; () where a person has to decide. *kernel* is the function. It is *minor*
    where what stands around it shows that little is won, whatever the rule is worth elsewhere. *further* are
    other places of the same fault, for which this one stands.
    """

    rule: str
    file: str
    where: SourceRange
    seen: str
    message: str
    action: str
    kernel: str | None = None
    edits: tuple[TextEdit, ...] = ()
    detail: Mapping[str, str] = field(default_factory=dict)
    minor: bool = False
    further: tuple[FurtherPlace, ...] = ()
