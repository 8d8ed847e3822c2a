"""The answer of ``gpuadvise lint``: its fields, and what each of them says."""

from __future__ import annotations

from gpuadvise.api.answers.common import NotJudgedRecord
from gpuadvise.api.answers.fields import AnswerDeclaration, Count, Priority, Record, record


@record
class LintUnusedSuppression(Record):
    """Unused suppression, in the answer of ``lint``."""

    file: str
    """The file it is in."""
    line: Count
    """Line in the file."""
    rules: tuple[str, ...]
    """Rules."""


@record
class LintStretch(Record):
    """Stretch, in the answer of ``lint``."""

    file: str
    """The file it is in."""
    line: Count
    """Line in the file."""
    end_line: Count
    """Its last line."""


@record
class LintRow(Record):
    """A finding in a line of CSV and NDJSON."""

    file: str
    """The file it is in."""
    line: Count
    """Line in the file."""
    column: Count
    """Column in the line."""
    rule: str
    """Id of the rule."""
    priority: Priority
    """How urgent it is."""
    kernel: str | None
    """The kernel or function it is in."""
    message: str
    """What was found."""
    action: str
    """What to do."""
    fixable: bool
    """Whether --fix mends it."""
    id: str
    """Name that stays the same while lines move."""


@record
class LintResult(Record):
    """What ``lint`` answers."""

    files: Count
    """Each file with its counts."""
    high: Count
    """Findings of high priority."""
    medium: Count
    """Findings of medium priority."""
    low: Count
    """Findings of low priority."""
    fixable: Count
    """Findings that --fix can mend."""
    known: Count
    """Findings that the baseline has already, and that are left out."""
    accepted: Count
    """Findings that a comment in the source accepts."""
    unused_suppressions: tuple[LintUnusedSuppression, ...]
    """Comments that accept what is not found.

    Comments that accept nothing that is there.
    """
    unparsed: tuple[LintStretch, ...]
    """Lines the parser did not understand.

    Syntax that the parser does not know.
    """
    hip: tuple[str, ...]
    """Files written for HIP, which are not checked."""
    not_read: tuple[LintStretch, ...]
    """What was not read.

    Branches of conditional compilation that were left out.
    """
    not_judged: tuple[NotJudgedRecord, ...]
    """What was asked for and neither passed nor failed: path and reason."""


DECLARATION = AnswerDeclaration(
    command="lint",
    title="gpuadvise lint --format json",
    description="Lines and columns count from 1.",
    results=(LintResult,),
    rows=(LintRow,),
)
