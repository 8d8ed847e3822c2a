"""``--batch``: one answer per line of CSV or NDJSON, in order, as the lines arrive."""

from __future__ import annotations

import csv
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.choose import choose
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.occupancy.batch import BatchModel
from gpuadvise.advisor.occupancy.clusters import clusters_upper_bound, resident_clusters
from gpuadvise.advisor.occupancy.grid import Waves
from gpuadvise.advisor.prose import and_list, plural, quoted
from gpuadvise.advisor.quantity import show_share
from gpuadvise.cli.emit import complain, note, stream
from gpuadvise.cli.exits import Exit, exit_of
from gpuadvise.cli.formats import GITHUB, Format
from gpuadvise.cli.occupancy.batch_input import (
    arrivals,
    csv_reader,
    json_row,
    misspelt,
    opened,
    text_of,
)
from gpuadvise.cli.occupancy.request import NEEDED, fields, flat
from gpuadvise.cli.render.github import annotation
from gpuadvise.cli.render.json import compact
from gpuadvise.cli.render.rows import PLAIN, Lines, cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gpuadvise.advisor.device import Device
    from gpuadvise.cli.occupancy.batch_input import BatchRow
    from gpuadvise.cli.occupancy.command import OccupancyRequest

    Writer = Callable[[Mapping[str, Any], Mapping[str, Any]], str]


def writer(name: str) -> Writer:
    """Return what writes the lines of ``csv`` or ``ndjson``."""
    if name == GITHUB:  # has the gate's annotation and no lines
        return lambda _kept, _record: ""
    if name == Format.CSV:
        return _CsvLines().line
    return lambda kept, record: compact({**kept, **record}) + "\n"


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


FORMATS = (Format.TEXT, Format.CSV, Format.NDJSON, GITHUB)
_GRID = ("grid", "elements")
_NO_GRID = {"waves": None, "tail_efficiency": None}


def run(request: OccupancyRequest, path: str) -> Exit:
    """Answer *path* (``-``: stdin) line by line, report bad lines on stderr, and return the exit code.

    Raises BadInput if nothing can be read at all.
    """
    if request.format not in FORMATS:
        raise BadInput(
            f"--format {quoted(request.format)} is not a format of --batch.",
            hint="Use csv or ndjson; without --format the answer has the form of the input.",
        )
    session = BatchSession(request)
    with opened(path) as file:
        for arrived in arrivals(file):
            stream(["".join([session.answer(number, line) for number, line in arrived])])
    return session.verdict()


class BatchSession:
    """What a batch remembers from line to line: its form, the devices, what went wrong."""

    def __init__(self, request: OccupancyRequest) -> None:
        self._request = request
        self._threshold = request.least or 0.0
        self._defaults = [(key, text) for key, text in request.texts.items() if text is not None]
        self._read: Callable[[str], BatchRow] | None = None
        self._write: Writer
        self._engine = lru_cache(maxsize=256)(self._chosen)
        self._has_grid = any(request.texts[key] is not None for key in _GRID)
        self._has_clusters = request.texts["cluster"] is not None
        self._answers = self._bad = self._below = 0

    def answer(self, number: int, line: bytes | None) -> str:
        """Return the answer to *line*, or nothing; a bad line is reported at once.

        Raises BadInput for a first line that says nothing about the rest.
        """
        try:
            text = text_of(line)
            if not text or text.isspace():
                return ""
            if self._read is None:
                return self._begin(text.removeprefix("\ufeff"))
            return self._answered(self._read(text))
        except BadInput as error:
            if self._read is None:
                raise BadInput(
                    f"--batch: line {number}: {error.message}", hint=error.hint
                ) from None
            self._bad += 1
            bad = f"line {number}: {error.message}"
            complain(bad)
            github = self._request.format == GITHUB
            return annotation("error", "gpuadvise occupancy", bad) if github else ""

    def verdict(self) -> Exit:
        """Return the exit code of the whole batch; raises BadInput when it was empty."""
        if not self._answers and not self._bad:
            raise BadInput("--batch had no line to answer.", hint="Did what writes the lines fail?")
        if self._below:
            least = show_share(self._threshold)
            below = f"{plural(self._below, 'line')} below --fail-under {least}."
            note(below)
            if self._request.format == GITHUB:
                stream([annotation("error", "gpuadvise occupancy", below)])
        return Exit.BAD_INPUT if self._bad else exit_of(self._below)

    def _begin(self, text: str) -> str:
        """Learn the form of the input from its first line."""
        if text.lstrip().startswith("{"):
            self._read = json_row
            self._write = writer(self._format(Format.NDJSON))
            row = json_row(text)
            note(*_unread(row.kept))
            return self._answered(row)
        read, columns, keys = csv_reader(text)
        given = {*keys, *(key for key, _ in self._defaults)}
        missing = [key for key, _, _ in NEEDED if key not in given]
        if missing:
            usual = "Name columns like the options, or give the option for all lines."
            raise BadInput(
                f"the header {quoted(text)} has no column {and_list(missing, 'or')}.",
                hint=" ".join([*_unread(columns), usual]),
            )
        note(*_unread(columns))
        self._read, self._write = read, writer(self._format(Format.CSV))
        self._has_grid = any(key in given for key in _GRID)
        self._has_clusters = "cluster" in given
        return ""

    def _format(self, own: Format) -> str:
        chosen = self._request.format
        return own if chosen == Format.TEXT else chosen

    def _answered(self, row: BatchRow) -> str:
        engine = self._engine(*row.device)
        if isinstance(engine, BadInput):
            raise engine
        values = fields([*self._defaults, *row.launch], str)
        values.pop("min_blocks", None)
        values.pop("dynamic_per_thread", None)
        record = engine[0].record(**values)
        self._answers += 1
        size = math.prod(values.get("cluster_dim", (1, 1, 1)))
        if self._has_grid or "grid_dim" in values:
            record.update(_waves(record, values, size, engine[1]))
        if self._has_clusters or size > 1:
            blocks = record["blocks_per_sm"]
            record["clusters_upper_bound"] = clusters_upper_bound(blocks, size, engine[1])
            held = resident_clusters(blocks, size, engine[1])
            record["clusters_count"] = held and held.count
            record["clusters_source"] = held and str(held.source)
        if record["occupancy"] < self._threshold:
            self._below += 1
        return self._write(row.kept, record)

    def _chosen(self, *texts: tuple[str, str]) -> tuple[BatchModel, Device] | BadInput:
        """Return the model and the device that a line names, or the options.

        An error is returned, for it is remembered like a device: finding the nearest names is
        slow. Raises it where the options are wrong.
        """
        try:
            named = dict(texts)
            choice = (
                choose(gpu=named.get("gpu"), cc=named.get("cc"))
                if texts
                else self._request.gpu.choice()
            )
        except BadInput as error:
            if not texts:
                raise
            return BadInput(f"{error.message} {error.hint}")
        note(*choice.notes)
        return BatchModel(choice.device.limits), choice.device


def _unread(columns: Iterable[str]) -> list[str]:
    return [
        f"Column {quoted(column)} is kept, not read: did you mean {key}?"
        for column, key in misspelt(columns)
    ]


def _waves(
    record: Mapping[str, Any], values: Mapping[str, Any], size: int, device: Device
) -> dict[str, Any]:
    """Return the waves of a grid in clusters of *size* blocks, 1 without clusters."""
    blocks, grid = record["blocks_per_sm"], values.get("grid_dim")
    clusters = resident_clusters(blocks, size, device)
    wave = clusters.count * size if clusters else (device.sm_count or 0) * blocks
    if not wave or grid is None:
        return _NO_GRID
    filled = Waves(
        blocks=math.prod(grid), wave_size=wave, sm_count=device.sm_count or 0, cooperative=None
    )
    return {"waves": filled.waves, "tail_efficiency": filled.tail_efficiency}
