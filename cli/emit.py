"""The one place where answers leave the process."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import SHOWN, and_list, inert, plural, quoted
from gpuadvise.cli.colour import coloured
from gpuadvise.cli.formats import GITHUB, Format, Output
from gpuadvise.cli.streams import abandon

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpuadvise.cli.answer import Answer
    from gpuadvise.cli.exits import Exit


# Lines of a compiler; the first errors explain the others.
_MOST_LOGGED = 200


class ClosedPipe(Exception):
    """Who read our output went away; Typer would answer a plain BrokenPipeError with exit 1."""


def emit(answer: Answer, output: Output) -> Exit:
    """Print *answer* as *output* asks, its notes to stderr, and return its exit code.

    The text is complete before the first byte is written; a long list is read back as it is written.
    """
    text = _text(answer, output)
    note(*answer.notes, *answer.failed)
    if text is not None:
        stream([text] if isinstance(text, str) else text)
    return answer.exit


def note(*sentences: str) -> None:
    """Say *sentences* on stderr, beside the answer."""
    for sentence in sentences:
        _say("note", sentence)


def complain(message: str, hint: str | None = None, *, log: str | None = None) -> None:
    """Say what is wrong on stderr, and what would help; after what another program wrote of it."""
    if log:
        _print_lines(log.splitlines()[:_MOST_LOGGED])
    _say("error", message)
    if hint:
        _say("hint", hint)


def asks_for_json(args: Sequence[str]) -> bool:
    """Return whether the command line *args* wants its answer, and so its error, as JSON."""
    pairs = zip(args, [*args[1:], ""], strict=True)
    formats = {value for name, value in pairs if name in ("--format", "-f")}
    formats.update(arg.partition("=")[2] for arg in args if arg.startswith("--format="))
    return formats == {"json"} or ("--json" in args and not formats)


# "--kernel: "5" is not a time." names the option; what a hint offers stands behind "Did you mean".
_OPTION = r"(?:No such option: )?(--[a-z0-9-]+)"
_NEAREST = r"Did you mean (.+?)\?|Possible options: (.+?)\)"


def complain_as_json(message: str, hint: str | None, code: int) -> None:
    """Say what is wrong on stderr as one line of JSON, for who asked for JSON."""
    import json
    import re

    from gpuadvise.cli.render.json import harmless_json

    option = re.match(_OPTION, message)
    nearest = re.search(_NEAREST, f"{hint or ''} {message}")
    error = {
        "code": code,
        "message": inert(message),
        "hint": hint and inert(hint),
        "option": option and option[1],
        "nearest": re.split(r", | or ", inert(nearest[1] or nearest[2])) if nearest else [],
    }
    try:
        print(harmless_json(json.dumps({"error": error})), file=sys.stderr)
    except OSError:
        abandon(sys.stderr)


def stream(lines: Iterable[str]) -> None:
    """Print *lines* (each with its line end) as they come; raises ClosedPipe or Unavailable."""
    for line in lines:
        try:
            sys.stdout.write(line)
        except OSError as error:
            raise _unwritten(error) from None
    try:
        sys.stdout.flush()
    except OSError as error:
        raise _unwritten(error) from None


def _unwritten(error: OSError) -> ClosedPipe | Unavailable:
    abandon(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return ClosedPipe()
    return Unavailable(f"The answer cannot be written: {error.strerror or error}.")


def terminal_columns(stream: TextIO) -> int | None:
    """Return the columns of the terminal that *stream* writes to; None: it is none."""
    if not stream.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    try:
        width = int(columns) if columns.isdecimal() else os.get_terminal_size(stream.fileno())[0]
    except OSError:
        return None
    return max(width, _NARROWEST) if width else None


_NARROWEST = 20


def _print_lines(lines: list[str]) -> None:
    from gpuadvise.cli.render.plain import harmless

    try:
        for line in lines:
            print(harmless(inert(line.replace("\t", " "))), file=sys.stderr)
    except OSError:
        abandon(sys.stderr)


def _say(kind: str, sentence: str) -> None:
    text = f"{kind}: {inert(sentence)}"
    try:
        if columns := terminal_columns(sys.stderr):
            from gpuadvise.cli.render.line_breaks import filled

            text = "\n".join(filled(text, columns))
        print(text, file=sys.stderr)
    except OSError:  # a full disk must not cost the answer
        abandon(sys.stderr)


def _text(answer: Answer, output: Output) -> str | Iterable[str] | None:
    if output.fields:
        from gpuadvise.cli.render.plain import harmless

        values = (text for path in output.fields for text in bare_values(answer, path))
        return "".join(f"{harmless(text)}\n" for text in values)
    if output.format == GITHUB:
        return _annotations(answer)
    if output.format in answer.documents:
        return answer.documents[output.format]()
    if output.format == Format.TEXT and (sys.stdout.isatty() or coloured()):
        return _for_eyes(answer)
    return _rendered(answer, output.format)


def _annotations(answer: Answer) -> str:
    """Return workflow commands: why a gate says no first, for a runner shows only ten."""
    from gpuadvise.cli.render import github

    title = f"gpuadvise {answer.command}"
    failed = "".join(github.annotation("error", title, text) for text in answer.failed)
    document = answer.documents.get(GITHUB)
    lines = document() if document else github.annotated(answer.command, answer.blocks())
    return failed + (lines if isinstance(lines, str) else "".join(lines))


def _for_eyes(answer: Answer) -> str | None:
    terminal = import_module("gpuadvise.cli.render.terminal")
    if not sys.stdout.isatty():
        return str(terminal.in_colour(answer.blocks()))
    try:
        terminal.show(answer.blocks(), coloured=coloured())
        sys.stdout.flush()
    except OSError as error:
        raise _unwritten(error) from None
    return None


def _rendered(answer: Answer, name: str) -> str:
    match name:
        case Format.TEXT:
            from gpuadvise.cli.render import plain

            return plain.render(answer.blocks())
        case Format.JSON:
            from gpuadvise.cli.render import json

            return json.render(answer)
        case Format.CSV | Format.NDJSON:
            from gpuadvise.cli.render import rows

            return "".join(rows.render(rows.of(answer), name, answer.columns))
        case Format.MARKDOWN:
            from gpuadvise.cli.render import markdown

            return markdown.render(answer.blocks())
        case Format.HTML:
            from gpuadvise.cli.render import html

            return html.page(answer)
    accepted = list(dict.fromkeys([*map(str, Format), *sorted(answer.documents), GITHUB]))
    raise BadInput(
        f"--format {quoted(name)} is not a format of {answer.command}.",
        hint=f"Use {and_list(accepted, 'or')}.",
    )


def bare_values(answer: Answer, path: str) -> list[str]:
    """Return the field that the dotted *path* names: a line, or one for each entry of a list.

    A path starts in ``result``; where nothing there has the name, in the whole envelope, else in
    each row that CSV lists. A list on the way stands for its entries. ``null`` is a known absence,
    also of every field that the schema has inside it. Raises BadInput for a path that leads nowhere.
    """
    first = path.partition(".")[0]
    envelope = answer.envelope()
    start: Any = envelope if first in envelope and first not in answer.result else answer.result
    if start is answer.result and first not in start and answer.rows and first in answer.rows[0]:
        start = list(answer.rows)
    try:
        return list(map(_bare, _values(start, path.split("."), Wanted(answer.command, path))))
    except BadInput as error:
        inside = _list_with(answer.result, first)
        if inside is None or first in start:
            raise
        raise BadInput(
            error.message, hint=f"It is in each of {inside}: --get {inside}.{path}."
        ) from None


def _list_with(result: Mapping[str, Any], field: str) -> str | None:
    """Return the list of *result* whose entries have *field*; None: none has."""
    for name, value in result.items():
        if isinstance(value, list) and value and isinstance(value[0], dict) and field in value[0]:
            return inert(name)
    return None


class Wanted(NamedTuple):
    """A field that --get names, as a dotted *path* into the answer of *command*."""

    command: str
    path: str

    def is_published(self) -> bool:
        """Return whether the schema has the field, so that it may be missing from an answer."""
        from gpuadvise.cli.schemas import fields_of

        names = ".".join(part for part in self.path.split(".") if not part.isdecimal())
        return names in dict(fields_of(self.command))


def _values(value: Any, parts: list[str], wanted: Wanted) -> list[Any]:
    """Return what *parts* lead to from *value*; raises BadInput."""
    if not parts or (value is None and wanted.is_published()):
        return [value]
    part, *rest = parts
    if isinstance(value, dict) and part in value:
        return _values(value[part], rest, wanted)
    if isinstance(value, (list, tuple)):
        if part in map(str, range(len(value))):
            return _values(value[int(part)], rest, wanted)
        if not part.isdecimal() and all(isinstance(entry, dict) for entry in value):
            return _of_each(value, parts, wanted)
    raise BadInput(
        f"--get {quoted(wanted.path)}: there is no such field.", hint=_there(value, part)
    )


def _of_each(entries: Sequence[dict[str, Any]], parts: list[str], wanted: Wanted) -> list[Any]:
    """Return the values that *parts* lead to in each entry; None where only others have it."""
    part = parts[0]
    if entries and not any(part in entry for entry in entries):
        raise BadInput(
            f"--get {quoted(wanted.path)}: there is no such field.", hint=_there(entries[0], part)
        )
    return [
        value
        for entry in entries
        for value in (_values(entry, parts, wanted) if part in entry else [None])
    ]


def _there(value: Any, wanted: str) -> str:
    """Return what could stand where *wanted* does, inside *value*."""
    if isinstance(value, (list, tuple)):
        return f"That list has {plural(len(value), 'entry', 'entries')}, numbered from 0."
    if not isinstance(value, dict):
        return "Nothing lies inside a single value."
    from difflib import get_close_matches

    near = get_close_matches(wanted[:SHOWN], value)
    if near:
        return f"Did you mean {and_list(near, 'or')}?"
    names = [inert(name) for name in sorted(value)]
    if len(names) > _MOST_NAMES:
        return f"{plural(len(names), 'field')} are there: --get list explains them."
    return f"Fields there: {and_list(names)}. --get list explains them."


_MOST_NAMES = 12


def _bare(value: Any) -> str:
    if isinstance(value, str):
        return inert(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return " ".join(inert(item) for item in value)
    from gpuadvise.cli.render.json import compact

    return compact(value)
