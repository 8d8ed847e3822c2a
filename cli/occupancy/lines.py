"""The answers of a batch as lines: the input's columns first, then the fields of the result."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from gpuadvise.cli.formats import Format
from gpuadvise.cli.occupancy.result import flat
from gpuadvise.cli.render.json import compact
from gpuadvise.cli.render.rows import PLAIN, Lines, cell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    # From the user's columns and the fields of the result to a line.
    Writer = Callable[[Mapping[str, Any], Mapping[str, Any]], str]


def writer(name: str) -> Writer:
    """Return what writes the lines of ``csv`` or ``ndjson``."""
    return _CsvLines().line if name == Format.CSV else _json_line


def _json_line(kept: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    return compact({**kept, **record}) + "\n"


class _CsvLines:
    """CSV whose header comes with the first answer; its columns are those of that answer."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._writer = csv.writer(self._lines, lineterminator="\n")
        self._kept: list[str] | None = None
        self._limits = slice(0)  # place of the nested limits in the values of a record

    def line(self, kept: Mapping[str, Any], record: Mapping[str, Any]) -> str:
        """Return the line of one answer; a field of the result replaces a column of its name."""
        if self._kept is None:
            self._begin(kept, record)
        fields = list(record.values())
        fields[self._limits] = record["limits"].values()
        values = [kept.get(name) for name in self._kept or ()] + fields
        self._writer.writerow([v if type(v) in PLAIN else cell(v) for v in values])
        text = "".join(self._lines)
        self._lines.clear()
        return text

    def _begin(self, kept: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        names = flat(record)
        place = list(record).index("limits")
        self._limits = slice(place, place + 1)
        self._kept = [name for name in kept if name not in names]
        self._writer.writerow([cell(name) for name in (*self._kept, *names)])
