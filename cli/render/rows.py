"""CSV and NDJSON: one line per row, made as the rows come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.prose import inert
from gpuadvise.cli.formats import Format
from gpuadvise.cli.render.json import compact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gpuadvise.cli.answer import Answer


class _Lines(list[str]):
    write = list.append  # what csv.writer needs of a file


def of(answer: Answer) -> Iterable[Mapping[str, Any]]:
    """Return the rows of *answer*; its result is the only row where it lists none."""
    return [answer.result] if answer.rows is None else answer.rows


def render(rows: Iterable[Mapping[str, Any]], name: str) -> Iterator[str]:
    """Yield the lines of *rows* as ``csv`` (with a header) or ``ndjson``."""
    if name == Format.NDJSON:
        yield from (compact(row) + "\n" for row in rows)
    else:
        yield from _csv(rows)


def _csv(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    import csv

    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\n")
    columns: list[str] | None = None
    for row in rows:
        if columns is None:
            columns = list(row)
            writer.writerow(columns)
        writer.writerow([_field(row.get(column)) for column in columns])
        yield from lines
        lines.clear()


def _field(value: Any) -> Any:
    if isinstance(value, str):
        return inert(value)
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return inert(" ".join(value))
    return compact(value)
