"""CSV and NDJSON: one line per row, made as the rows come."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.prose import inert
from gpuadvise.cli.formats import Format
from gpuadvise.cli.render.json import compact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gpuadvise.cli.answer import Answer


class Lines(list[str]):
    """What csv.writer needs of a file."""

    write = list.append


def of(answer: Answer) -> Iterable[Mapping[str, Any]]:
    """Return the rows of *answer*; its result is the only row where it lists none."""
    return [answer.result] if answer.rows is None else answer.rows


def render(
    rows: Iterable[Mapping[str, Any]], name: str, columns: Callable[[], Sequence[str]] = tuple
) -> Iterator[str]:
    """Yield the lines of *rows* as ``csv`` (with a header) or ``ndjson``.

    The header is that of the first row, or what *columns* makes where there is none.
    """
    if name == Format.NDJSON:
        yield from (compact(with_objects(row)) + "\n" for row in rows)
    else:
        yield from _csv(rows, columns)


def with_objects(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *row* with an object for its fields by dot: ``telemetry.xids`` stands in ``telemetry`` too.

    The fields by dot stay, for scripts that name them.
    """
    objects: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        outer, dot, inner = name.partition(".")
        if dot and outer not in row:
            objects.setdefault(outer, {})[inner] = value
    return {**row, **objects} if objects else row


def header(columns: Sequence[str], name: str) -> str:
    """Return the line with the names of *columns*, where the format *name* has one."""
    return "" if name == Format.NDJSON else ",".join(columns) + "\n"


def lines(rows: Iterable[Mapping[str, Any]], name: str) -> str:
    """Return the lines of *rows* with the same columns as ``csv`` or ``ndjson``, without a header."""
    if name == Format.NDJSON:
        return "".join([compact(row) + "\n" for row in rows])
    import csv

    written = Lines()
    writer = csv.writer(written, lineterminator="\n")
    for row in rows:
        writer.writerow([v if type(v) in PLAIN else cell(v) for v in row.values()])
    return "".join(written)


def _csv(rows: Iterable[Mapping[str, Any]], columns: Callable[[], Sequence[str]]) -> Iterator[str]:
    import csv

    lines = Lines()
    writer = csv.writer(lines, lineterminator="\n")
    header: list[str] | None = None
    for row in rows:
        if header is None:
            header = list(row)
            writer.writerow(header)
        writer.writerow([cell(row.get(column)) for column in header])
        yield from lines
        lines.clear()
    if header is None and (names := columns()):
        yield ",".join(names) + "\n"


def cell(value: Any) -> Any:
    """Return *value* as csv.writer takes it: foreign text inert, words in one cell, JSON else.

    A text that a spreadsheet or a log would run stands behind an apostrophe, which it takes for "text".
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if isinstance(value, str):
        text = inert(value)
        return _as_text(text) if text[:1] in _RUN or ";" in text or "::" in text else text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        try:
            return cell(" ".join(value))
        except TypeError:  # not all of them words
            return compact(value)
    return compact(value)


# What a formula begins with, also as East Asian keyboards write it; "" begins none.
_RUN = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
# Where a semicolon parts cells, what follows one is the beginning of a cell.
_PARTED = re.compile(r";(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")


def _as_text(text: str) -> str:
    parted = _PARTED.sub(";'", text)
    # A log of continuous integration runs a line that begins with "::".
    return f"'{parted}" if text[:1] in _RUN or text.lstrip().startswith("::") else parted


PLAIN = frozenset((int, float, type(None)))
