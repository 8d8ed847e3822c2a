"""Answers as agents read them: short Markdown, single fields, and where the rest is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.cli.answer import Answer as CommandAnswer
from gpuadvise.cli.emit import bare_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuadvise.api.answer import Answer

# Four bytes are about one token of Markdown: 500 tokens, and 4,000 where rows or fields were asked for.
USUAL_BYTES = 2_000
ASKED_BYTES = 16_000
_MORE = "… {lines} more lines. Ask for limit (rows) or fields (such as {field})."


def shown(answer: Answer[Any], fields: Sequence[str] = (), *, limit: int = 0) -> str:
    """Return *answer* as Markdown, or its *fields* alone, within what an agent has room for."""
    most = ASKED_BYTES if fields or limit else USUAL_BYTES
    if fields:
        return cut(picked(answer, fields), most)
    notes = [f"Note: {note}" for note in (*answer.notes, *answer.failed)]
    text = "\n\n".join([answer._repr_markdown_().strip(), *notes])
    return cut(text, most, field=_first_list(answer.to_dict()["result"]))


def _first_list(result: dict[str, Any]) -> str:
    """Return a field of *result* to name as an example: the first list of records, else the first field."""
    for name, value in result.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return f"{name}.{next(iter(value[0]))}"
    return next(iter(result), "findings.rule")


def picked(answer: Answer[Any], fields: Iterable[str]) -> str:
    """Return a line for each of *fields*: dotted paths into the command's JSON; raises BadInput."""
    document = answer.to_dict()
    said = CommandAnswer(
        command=answer.command,
        device=document["device"],
        input=document["input"],
        result=document["result"],
        blocks=tuple,
        rows=answer.to_rows(),
        findings=document["findings"],
        not_evaluated=document["not_evaluated"],
    )
    lines = []
    for path in fields:
        try:
            values = bare_values(said, path.removeprefix("result."))
        except BadInput as error:
            message = error.message.replace("--get", "fields")
            hint = (error.hint or "").replace("--get list", "gpuadvise COMMAND --get list")
            raise BadInput(message, hint=hint.replace("--get ", "fields ")) from None
        lines.append(f"{path}: {', '.join(values)}")
    return "\n".join(lines)


def cut(text: str, most: int, *, field: str = "") -> str:
    """Return *text* up to *most* bytes, whole lines, with a line that says how to get the rest."""
    if len(text.encode()) <= most:
        return text
    lines = text.splitlines()
    more = _MORE.format(lines=len(lines), field=field or "findings.rule")
    room, kept = most - len(more.encode()) - 2, 0
    for line in lines:
        size = len(line.encode()) + 1
        if size > room:
            break
        room -= size
        kept += 1
    if kept == 0:  # one long line, as of fields
        head = text.encode()[:room].decode(errors="ignore")
        return f"{head}\n{more}"
    head = "\n".join(lines[:kept]).rstrip()
    return f"{head}\n{_MORE.format(lines=len(lines) - kept, field=field or 'findings.rule')}"
