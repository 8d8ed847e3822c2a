"""The answer of ``gpuadvise explain``: its fields, and what each of them says."""

from __future__ import annotations

from typing import ClassVar

from gpuadvise.api.answers.fields import AnswerDeclaration, Record, record


@record
class ExplainResult(Record):
    """What ``explain`` answers."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    term: str
    """The word, or the text of an error."""
    text: str
    """The same in words."""
    also: tuple[str, ...]
    """Its other names."""
    see: tuple[str, ...]
    """Terms that are near."""
    command: str | None
    """A command line that shows it."""
    causes: tuple[str, ...]
    """Of the text of an error: its usual causes, likeliest first, and what shows each."""


@record
class ExplainList(Record):
    """Everything there is, in the answer of ``explain``."""

    terms: tuple[ExplainResult, ...]
    """Every term."""


@record
class ExplainInput(Record):
    """What ``explain`` was asked."""

    term: str | None


DECLARATION = AnswerDeclaration(
    command="explain",
    title="gpuadvise explain --format json",
    input=ExplainInput,
    results=(
        ExplainResult,
        ExplainList,
    ),
    rows=(ExplainResult,),
)
