"""CSV of Nsight Compute, ``--page details`` and ``--page raw``, as metrics per kernel launch.

Both pages are read by their column names, with the numbers of any locale and the separators that
spreadsheets write. Lines before the header (the program's own output, ``==PROF==`` notes) are passed
over, as are lines among the rows that are no record. A record that ends early, as the last one of a
file that was cut does, is said.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.kernel_profile import ProfilerRule
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_KERNEL, _METRIC, _VALUE, _UNIT = "Kernel Name", "Metric Name", "Metric Value", "Metric Unit"
# Widest header of a raw page seen is about 3000 columns.
_MOST_COLUMNS = 20_000
_LARGEST_FIELD = 2**20
# What a program prints before its profile; nothing honest is longer.
_LARGEST_PREAMBLE = 2**28
_HINT = "Give the report itself: ncu --set full -o report ./app makes report.ncu-rep."
_HEADER = r'"?ID"?([,;\t])'
# Numbers that only one kind of locale writes: "1,234.5" and "0.25", or "1.234,5" and "0,25".
_DECIMAL_POINT = r"\d+\.(?:\d{1,2}|\d{4,})|\d{1,3}(?:,\d{3})+(?:\.\d+)|\d{1,3}(?:,\d{3}){2,}"
_DECIMAL_COMMA = r"\d+,(?:\d{1,2}|\d{4,})|\d{1,3}(?:\.\d{3})+(?:,\d+)|\d{1,3}(?:\.\d{3}){2,}"
_POINT_FOR_COMMA = str.maketrans({".": None, ",": "."})


@dataclass(slots=True, kw_only=True)
class LaunchRecord:
    """One profiled launch: what the leading columns say, and its metrics as (value, unit).

    Metrics of the details page are keyed by section and name, those of the raw page by name.
    """

    columns: dict[str, str]
    metrics: dict[str, tuple[str, str]] = field(default_factory=dict)
    rules: list[ProfilerRule] = field(default_factory=list)
    estimates: list[str] = field(default_factory=list)  # of each rule, as printed


def read_launches(
    lines: Iterable[str], name: str, damaged: Callable[[str], None] | None = None
) -> Iterator[LaunchRecord]:
    """Yield the launches of the CSV text *lines*; raises BadInput when there is no header.

    *damaged* is told of each record that ends early or has no number, and what was lost with it,
    and of registers that no kernel can have.
    """
    text = _Text(_begun(lines))
    rows = _rows(text, name)
    header = next((row for row in rows if _KERNEL in row and "ID" in row), None)
    if header is None:
        raise BadInput(f"{name}: no CSV of Nsight Compute.", hint=_HINT)
    kept = _records(rows, text, header, damaged)
    records = _details(header, kept) if _METRIC in header else _raw(header, kept, name)
    locale = _Locale()
    for record in records:
        locale.translate(record)
        if damaged and (said := _impossible_registers(record)):
            damaged(said)
        yield record


# A line of a raw page has some thousand columns; nothing honest is longer.
LONGEST_LINE = 1 << 20
_REGISTERS = ("launch__registers_per_thread", "Launch Statistics: Registers Per Thread")
_MOST_REGISTERS = 1024  # of a thread, on any GPU that may come: 255 today


def _impossible_registers(record: LaunchRecord) -> str | None:
    """Return what is wrong with the registers that *record* tells; None: nothing, or it tells none.

    They are known before a launch: a page that has no possible number there was changed or cut.
    """
    text = next((record.metrics[name][0] for name in _REGISTERS if name in record.metrics), "")
    count = number(text)
    if not text or (count is not None and 0 <= count <= _MOST_REGISTERS):
        return None
    launch = f"Launch {record.columns['ID']}, {quoted(record.columns[_KERNEL])}"
    return f"{launch}: {quoted(text)} is no number of registers."


def is_header(line: str) -> bool:
    """Return whether *line* is the header of a page, with commas, semicolons or tabs."""
    return _KERNEL in line and re.match(_HEADER, line) is not None


class _Text:
    """Lines as they are read: the last one, and its number from 1."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.last = ""
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.last = line
            self.number += 1
            yield line.replace("\0", "")

    @property
    def quoted(self) -> bool:
        """Whether the last line begins as all of Nsight Compute's records do."""
        return self.last.startswith('"')

    @property
    def broken(self) -> bool:
        """Whether the last line has no line break: the file ends there."""
        return not self.last.endswith(("\n", "\r"))

    @property
    def open(self) -> bool:
        """Whether the file ends in the middle of a quoted value."""
        return self.broken and self.quoted and not self.last.endswith(('"', '",'))


class _Locale:
    """How the page writes fractions, told by the first launch that shows it."""

    def __init__(self) -> None:
        self._comma: bool | None = None

    def translate(self, record: LaunchRecord) -> None:
        """Turn numbers with a decimal comma into those with a point."""
        if self._comma is None:
            texts = [text for text, _ in record.metrics.values()]
            commas, points = (
                sum(re.fullmatch(pattern, text) is not None for text in texts)
                for pattern in (_DECIMAL_COMMA, _DECIMAL_POINT)
            )
            self._comma = commas > points if commas or points else None
        if self._comma:
            for key, (text, unit) in record.metrics.items():
                if text[:1].isdigit() or text[:1] == "-":
                    record.metrics[key] = (text.translate(_POINT_FOR_COMMA), unit)
            record.estimates = [text.translate(_POINT_FOR_COMMA) for text in record.estimates]
        record.rules = [
            replace(rule, estimated_speedup=number(text))
            for rule, text in zip(record.rules, record.estimates, strict=True)
        ]


def _records(
    rows: Iterable[list[str]],
    text: _Text,
    header: list[str],
    damaged: Callable[[str], None] | None,
) -> Iterator[list[str]]:
    """Yield the rows that are whole records, and tell *damaged* of those that end early."""
    for row in rows:
        record = _record(row, header)
        if record is not None and not text.open:
            yield record
        elif damaged and row and row[0].isdecimal() and (text.quoted or text.broken):
            where = "The file ends in" if text.broken else "A record ends early in"
            left = "is not whole" if _METRIC in header else "is left out"
            damaged(f"{where} line {text.number:,}: launch {row[0]} {left}.")
        elif damaged and row and len(row) == len(header) and row != header:
            name, said = quoted(row[header.index(_KERNEL)]), quoted(row[0])
            damaged(
                f"Line {text.number:,}, {name}: {said} is no number of a launch; it is left out."
            )


def _record(row: list[str], header: list[str]) -> list[str] | None:
    """Return *row* at the header's width, None for noise; lines of metrics leave out the rules."""
    least = header.index(_VALUE) + 1 if _VALUE in header else len(header)
    if not least <= len(row) <= len(header) or not (row[0].isdecimal() or row[0] == ""):
        return None
    return row + [""] * (len(header) - len(row))


def _rows(lines: Iterable[str], name: str) -> Iterator[list[str]]:
    csv.field_size_limit(_LARGEST_FIELD)
    left = iter(lines)
    header = next((line for line in left if is_header(line)), "")
    separator = re.match(_HEADER, header)
    reader = csv.reader(chain([header], left), delimiter=separator[1] if separator else ",")
    try:
        for row in reader:
            if len(row) <= _MOST_COLUMNS:
                yield row
    except csv.Error:
        raise BadInput(
            f"{name}: no report of Nsight Compute: line {reader.line_num} is not CSV.", hint=_HINT
        ) from None


def _begun(lines: Iterable[str]) -> Iterator[str]:
    """Yield *lines*; without a header only so many: /dev/zero has no end."""
    before, begun = 0, False
    for line in lines:
        begun = begun or _KERNEL in line
        before += 0 if begun else len(line)
        if before > _LARGEST_PREAMBLE:
            return
        yield line


def _details(header: list[str], rows: Iterable[list[str]]) -> Iterator[LaunchRecord]:
    """Yield one record per launch; the page has one line per metric or rule of it."""
    current: LaunchRecord | None = None
    for row in rows:
        line = dict(zip(header, row, strict=True))
        if current is None or row[0] != current.columns["ID"]:
            if current:
                yield _timed(current)
            current = LaunchRecord(columns=line)
        _add(current, line)
    if current:
        yield _timed(current)


_DURATION = "GPU Speed Of Light Throughput: Duration"
# Sections that count; those of the launch and of its occupancy know their figures beforehand.
_COUNTING = re.compile(r"(?:GPU|Compute|Memory|Scheduler|Warp State|Instruction) [\w ]*: ")


def _timed(record: LaunchRecord) -> LaunchRecord:
    """Return *record* with a time of 0 where the launch failed, as the raw page and the report have it.

    The page writes "nan" there, and for all that is counted. A launch of which something was
    counted did run: its time is one of the counters without a number.
    """
    text, unit = record.metrics.get(_DURATION, ("", ""))
    counted = (text for name, (text, _) in record.metrics.items() if _COUNTING.match(name))
    if text == "nan" and not any(map(number, counted)):
        record.metrics[_DURATION] = ("0", unit)
    return record


def _add(record: LaunchRecord, line: dict[str, str]) -> None:
    if line[_METRIC]:
        key = f"{line.get('Section Name', '')}: {line[_METRIC]}"
        record.metrics[key] = (line.get(_VALUE, ""), line.get(_UNIT, ""))
    if line.get("Rule Name"):
        record.rules.append(
            ProfilerRule(
                name=line["Rule Name"],
                kind=line.get("Rule Type", ""),
                message=line.get("Rule Description", ""),
            )
        )
        record.estimates.append(line.get("Estimated Speedup", ""))


def _raw(header: list[str], rows: Iterable[list[str]], name: str) -> Iterator[LaunchRecord]:
    """Yield one record per line; the line after the header holds the units, without which it means nothing."""
    units = [""] * len(header)
    first = header.index("CC") + 1 if "CC" in header else header.index(_KERNEL) + 1
    for row in rows:
        if not row[0]:
            units = row
            continue
        if "%" not in units and any(column.endswith((".pct", "_pct")) for column in header):
            raise BadInput(f"{name}: the line of units below the header is missing.", hint=_HINT)
        values = zip(row[first:], units[first:], strict=True)
        metrics = dict(zip(header[first:], values, strict=True))
        yield LaunchRecord(columns=dict(zip(header, row, strict=True)), metrics=metrics)


# What separates thousands: a comma, an apostrophe or a narrow space.
_GROUPING = str.maketrans(dict.fromkeys(",'\u2019\u202f\u00a0"))


def number(text: str) -> float | None:
    """Return the number that *text* holds, thousands separators and all; None for none."""
    clean = text.translate(_GROUPING).strip()
    try:
        value = float(clean)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None
