"""What a source shows of the waits for the GPU that were counted while it ran."""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from os.path import basename
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.source.diagnostic import Diagnostic, SourceRange
from gpuadvise.advisor.source.linted_file import LintedFile
from gpuadvise.advisor.source.suppressions import suppressions_in
from gpuadvise.advisor.source.text import source_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gpuadvise.advisor.source.suppressions import Suppression
    from gpuadvise.advisor.source.text import SourceText
    from gpuadvise.advisor.source.waits import StackFrame, Wait

# A wait is of one of the first two; a comment that accepts any of them accepts it.
READ, WAIT = "synchronizing-reads", "synchronizations-in-loops"
RULES = frozenset((READ, WAIT, "hidden-synchronizations"))
_ACTIONS = {
    READ: "Keep the value on the GPU (.detach()) and read it every n steps; copy with non_blocking=True, from and to "
    "pinned memory; choose elements with torch.where instead of a mask.",
    WAIT: "Leave it out: work in one stream runs in order, and reading a value waits by itself.",
}
_MOST_CALLERS = 3  # that a sentence has room for
_SHOWN = 80  # bytes of a line that stand for the finding


def lint_waits(
    data: bytes, file: str, waits: Iterable[Wait], select: Collection[str] = RULES
) -> LintedFile:
    """Return the *waits* in *file*, whose content is *data*, one finding for each line; b"": not known.

    A line that waited once is a minor finding.
    """
    text = source_text(data.removeprefix(b"\xef\xbb\xbf"), file)
    comments = suppressions_in(text)
    lines: dict[int, list[Wait]] = defaultdict(list)
    for wait in waits:
        lines[wait.frames[0].line].append(wait)
    kept: list[Diagnostic] = []
    accepted: list[Diagnostic] = []
    for line, here in sorted(lines.items()):
        diagnostic = _diagnostic(text, line, here)
        if diagnostic.rule not in select:
            continue
        accepts = any(_accepts(comment, diagnostic) for comment in comments)
        (accepted if accepts else kept).append(diagnostic)
    return LintedFile(file=file, diagnostics=tuple(kept), accepted=tuple(accepted))


def _accepts(comment: Suppression, diagnostic: Diagnostic) -> bool:
    return comment.applies_to in (None, diagnostic.where.line) and (
        not comment.rules or not RULES.isdisjoint(comment.rules)
    )


def _diagnostic(text: SourceText, line: int, waits: Sequence[Wait]) -> Diagnostic:
    where = _code_of(text, line)
    seen = text[where.start : min(where.end, where.start + _SHOWN)]
    most = max(waits, key=attrgetter("count"))
    count = sum(wait.count for wait in waits)
    rule = WAIT if "synchronize(" in seen else READ
    return Diagnostic(
        rule=rule,
        file=text.file,
        where=where,
        seen=seen,
        message=_message(most, count, len(waits)),
        action=_ACTIONS[rule],
        kernel=most.frames[0].function,
        minor=count == 1,
    )


def _code_of(text: SourceText, line: int) -> SourceRange:
    """Return where the code of *line* stands; its beginning where the file has no such line."""
    if line > len(text.starts):
        return SourceRange(start=0, end=0, line=line, column=1, end_line=line, end_column=1)
    words = text.line_text(line)
    start = text.start_of(line) + len(words) - len(words.lstrip())
    return text.where(start, max(start, text.start_of(line) + len(words.rstrip())))


def _message(most: Wait, count: int, stacks: int) -> str:
    """Return how often the host waited, through what, and whose call it was most often."""
    through = f" through {most.through}" if most.through else ""
    file = most.frames[0].file
    shown = [_caller(frame, file) for frame in most.frames[1 : _MOST_CALLERS + 1]]
    called = f", called from {' in '.join(shown)}" if shown else ""
    others = f", and {plural(stacks - 1, 'other way', 'other ways')}" if stacks > 1 else ""
    return f"The host waited here for the GPU {_times(count)} while the program ran{through}{called}{others}."


def _caller(frame: StackFrame, file: str) -> str:
    """Return who called and where, with the file's name where it is not *file*."""
    name = "" if frame.file == file else f"{basename(frame.file)}, "
    return f"{frame.function} ({name}line {frame.line})"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")
