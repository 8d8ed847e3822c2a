"""Rich for terminals; foreign text goes through ``Text``, never through markup."""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, assert_never

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from gpuadvise.advisor.prose import inert
from gpuadvise.cli.blocks import (
    Block,
    Cell,
    Drawing,
    Heading,
    LabelledFacts,
    Line,
    Table,
    Tone,
)
from gpuadvise.cli.render.plain import drawing_lines, harmless

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import ConsoleOptions, RenderResult

# Narrower terminals leave fewer than some 25 characters to each of values and remarks.
_COLUMNS_FIT = 80

# Fewer characters than this break most names of kernels into three lines or more.
_ROOM_FOR_NAMES = 40
_GAP = 2  # between columns
_LEAST_NAME = 20  # a name that is folded more often is hard to read

# COLUMNS=0 would leave nothing of an answer.
_NARROWEST = 20

STYLES = {
    Tone.PLAIN: "",
    Tone.STRONG: "bold",
    Tone.GOOD: "green",
    Tone.POOR: "yellow",
    Tone.BAD: "bold red",
    Tone.FAINT: "dim",
}


def show(blocks: Iterable[Block], *, coloured: bool = True) -> None:
    """Print *blocks* on the terminal; raises OSError."""
    console = Console(highlight=False, no_color=not coloured, force_terminal=coloured or None)
    console.width = max(console.width, _NARROWEST)
    console.print(render(blocks), crop=False)


# Logs of continuous integration and files have no width.
_NO_WIDTH = 10_000


def in_colour(blocks: Iterable[Block]) -> str:
    """Return *blocks* with the colours of a terminal, for what is none."""
    with StringIO() as text:
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() else _NO_WIDTH
        console = Console(file=text, force_terminal=True, color_system="standard", highlight=False)
        console.width = max(width, _NARROWEST)
        console.print(render(blocks), crop=False)
        return "".join(f"{harmless(line.rstrip(' '))}\n" for line in text.getvalue().splitlines())


def render(blocks: Iterable[Block]) -> RenderableType:
    """Return *blocks* as one Rich renderable; without sources, unless they are asked for."""
    page = list(blocks)
    if not _with_sources:
        shown = [short for block in page if (short := _without_sources(block)) is not None]
        if shown != page:
            shown.append(Line("--sources says where the numbers come from.", Tone.FAINT))
        page = shown
    return Group(*map(_block, page))


_with_sources = False


def show_sources(wanted: bool) -> None:
    """Show where numbers come from, in this run."""
    global _with_sources
    _with_sources = wanted


def _without_sources(block: Block) -> Block | None:
    match block:
        case Line(source=True):
            return None
        case LabelledFacts():
            return LabelledFacts(tuple(row._replace(source="") for row in block.rows))
        case _:
            return block


def _block(block: Block) -> RenderableType:
    match block:
        case Line():
            text = _text(block.text, block.tone)
            return Padding(text, (0, 0, 0, block.indent), expand=False) if block.indent else text
        case Heading():
            return Text.assemble("\n", (inert(block.text), "bold underline"))
        case LabelledFacts():
            return _FactsGrid(block)
        case Table():
            return _TableGrid(block)
        case Drawing():
            return _WholeLines(block)
        case other:
            assert_never(other)


@dataclass(frozen=True)
class _WholeLines:
    """A drawing or code: what is wider than the terminal runs on, for it may be copied.

    Rich crops what it is told not to wrap, and half a flag is a wrong flag.
    """

    drawing: Drawing

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in drawing_lines(self.drawing, options.max_width):
            yield Segment(line)
            yield Segment.line()


@dataclass(frozen=True)
class _FactsGrid:
    """Facts in columns; where these would not fit, a remark stands below its value."""

    facts: LabelledFacts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _facts(self.facts, stacked=options.max_width < _COLUMNS_FIT)


def _facts(facts: LabelledFacts, *, stacked: bool) -> RichTable:
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_column(style="dim", overflow="fold")
    for row in facts.rows:
        label, value, remark = inert_text(row.label), _cell(row.value), inert_text(row.said)
        if stacked and row.said:
            grid.add_row(label, Text.assemble(value, "\n", (remark.plain, "dim")))
        else:
            grid.add_row(label, value, remark)
    return grid


@dataclass(frozen=True)
class _TableGrid:
    """A table; a column *below* gets lines of its own where it would be narrow.

    Where words of the others would be broken as well, each row becomes a few lines of its own.
    """

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self.table
        at = next((at for at, column in enumerate(table.columns) if column.below), None)
        if at is not None:
            widths = _widths(table)
            left = options.max_width - sum(widths) + widths[at]
            if 0 <= left < min(_ROOM_FOR_NAMES, widths[at]):
                yield from _with_names(_table(_without(table, at)), table, at, console)
                return
        if _least_width(table) > options.max_width:
            yield from _records(table, at or 0)
        else:
            yield _table(table)


def _widths(table: Table) -> list[int]:
    titles = [column.title for column in table.columns]
    rows = ([cell.text for cell in row] for row in table.rows)
    return [
        _GAP + max(map(cell_len, map(inert, column))) for column in zip(titles, *rows, strict=True)
    ]


def _least_width(table: Table) -> int:
    """Return the columns in which no word is broken, but those of names."""
    least = 0
    for place, column in enumerate(table.columns):
        words = [column.title, *(word for row in table.rows for word in row[place].text.split())]
        longest = max(cell_len(inert(word)) for word in words)
        least += _GAP + (min(longest, _LEAST_NAME) if column.below else longest)
    return least


def _records(table: Table, at: int) -> RenderResult:
    """Yield each row as its cell in column *at*, and below it the others with their titles."""
    for row in table.rows:
        yield _cell(row[at])
        pairs = [
            Text.assemble((f"{inert(column.title)} ", "dim"), _cell(cell))
            for place, (column, cell) in enumerate(zip(table.columns, row, strict=True))
            if place != at and cell.text
        ]
        yield Padding(Text(", ").join(pairs), (0, 0, 0, 2), expand=False)


def _without(table: Table, at: int) -> Table:
    rows = tuple([row[:at] + row[at + 1 :] for row in table.rows])
    return Table(table.columns[:at] + table.columns[at + 1 :], rows)


def _with_names(rest: RichTable, whole: Table, at: int, console: Console) -> RenderResult:
    """Yield the lines of *rest*, which takes one for each row, with the name below each."""
    names = [Text(inert(whole.columns[at].title), "bold"), *[_cell(row[at]) for row in whole.rows]]
    for line, name in zip(console.render_lines(rest, pad=False), names, strict=True):
        yield from line
        yield Segment.line()
        name.overflow = "fold"
        yield Padding(name, (0, 0, 0, 2), expand=False)


def _table(table: Table) -> RichTable:
    rich = RichTable(box=None, padding=(0, _GAP, 0, 0), header_style="bold")
    for column in table.columns:
        rich.add_column(
            inert_text(column.title),
            justify="right" if column.right else "left",
            overflow="fold",  # a narrow terminal costs lines, not letters
        )
    for row in table.rows:
        rich.add_row(*map(_cell, row))
    return rich


def _cell(cell: Cell) -> Text:
    return _text(cell.text, cell.tone)


def inert_text(text: str) -> Text:
    """Return *text* without effect on the terminal, in the style of its place."""
    return _text(text, Tone.PLAIN)


def _text(text: str, tone: Tone) -> Text:
    return Text(inert(text), STYLES[tone])
