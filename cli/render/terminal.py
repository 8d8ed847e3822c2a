"""Rich for terminals; foreign text goes through ``Text``, never through markup."""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, assert_never

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text
from rich.theme import Theme

from gpuadvise.advisor.prose import inert
from gpuadvise.cli.blocks import (
    Block,
    Cell,
    Column,
    Drawing,
    Fact,
    Heading,
    LabelledFacts,
    Line,
    Table,
    Tone,
)
from gpuadvise.cli.render.line_breaks import filled, words
from gpuadvise.cli.render.plain import drawing_lines, harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# Remarks in fewer columns than this are broken into many short lines.
_ROOM_FOR_REMARKS = 24
_ROOM_FOR_PROSE = 30

# Fewer characters than this break most names of kernels into three lines or more.
_ROOM_FOR_NAMES = 40
_GAP = 2  # between columns


# COLUMNS=0 would leave nothing of an answer.
_NARROWEST = 20

STYLES = {
    Tone.PLAIN: "",
    Tone.STRONG: "bold",
    Tone.GOOD: "good",
    Tone.POOR: "poor",
    Tone.BAD: "bad",
    Tone.FAINT: "dim",
}
# A palette of 16 colours is the terminal's, and many a yellow cannot be read on white nor a red on
# black. Of the 256 fixed colours these have a contrast of 3.5 or more with #ffffff and #1e1e1e alike
# (WCAG 2.2, 1.4.3 computes it); no colour has more than 4.1 with both.
_OF_16 = {"good": "green", "poor": "yellow", "bad": "bold red"}
_OF_256 = {"good": "color(28)", "poor": "color(166)", "bad": "bold color(196)"}


def show(blocks: Iterable[Block], *, coloured: bool = True) -> None:
    """Print *blocks* on the terminal; raises OSError."""
    console = Console(highlight=False, no_color=not coloured, force_terminal=coloured or None)
    console.width = max(console.width, _NARROWEST)
    _print(blocks, console)


def show_markdown(text: str, *, coloured: bool = True) -> None:
    """Print *text*, a page of ours in Markdown, on the terminal; raises OSError."""
    from rich.markdown import Markdown

    console = Console(no_color=not coloured, force_terminal=coloured or None)
    console.width = max(console.width, _NARROWEST)
    console.print(Markdown(text, code_theme="ansi_light", hyperlinks=False))


def _print(blocks: Iterable[Block], console: Console) -> None:
    of_16 = console.color_system in (None, "standard", "windows")
    with console.use_theme(Theme(_OF_16 if of_16 else _OF_256)):
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
        _print(blocks, console)
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
            return _Paragraph(block)
        case Heading():
            return Group("", _Paragraph(Line(block.text), "bold underline"))
        case LabelledFacts():
            return _FactsGrid(block)
        case Table():
            return _TableGrid(block)
        case Drawing():
            return _WholeLines(block)
        case other:
            assert_never(other)


@dataclass(frozen=True)
class _Paragraph:
    """Sentences, broken into lines that are indented alike."""

    line: Line
    style: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        indent = self.line.indent
        text = _fill(self.line.text, options.max_width - indent)
        text.style = self.style or STYLES[self.line.tone]
        yield Padding(text, (0, 0, 0, indent), expand=False) if indent else text


def _fill(text: str, width: int) -> Text:
    return Text("\n".join(filled(inert(text), max(width, 1), cell_len)))


def _broken(text: Text, width: int) -> Text:
    """Return *text* in lines of at most *width* columns, in its styles."""
    lines, at = [], 0
    for line in filled(text.plain, max(width, 1), cell_len):
        at = text.plain.index(line, at)
        lines.append(text[at : at + len(line)])
        at += len(line)
    return Text("\n").join(lines)


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
    """Facts in columns; where these would not fit, a remark stands beside or below its value."""

    facts: LabelledFacts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = self.facts.rows
        labels = max((cell_len(inert(row.label)) for row in rows), default=0)
        # A value without a remark may reach into the column of remarks.
        values = max((cell_len(inert(row.value.text)) for row in rows if row.said), default=0)
        remarks = max((cell_len(inert(row.said)) for row in rows), default=0)
        left = max(options.max_width - labels - _GAP, 1)
        room = left - values - _GAP
        beside = room >= min(remarks, _ROOM_FOR_REMARKS)
        grid = RichTable.grid(padding=(0, _GAP, 0, 0))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for row in rows:
            value = _cell(row.value, left)
            if row.said:
                value = _beside(row, values, room) if beside else _remarked(row, left)
            grid.add_row(inert_text(row.label), value)
        yield grid


def _beside(fact: Fact, values: int, room: int) -> Text:
    """Return value and remark of *fact*, the remark in *room* columns behind those of *values*."""
    gap = values - cell_len(inert(fact.value.text)) + _GAP
    lines = _fill(fact.said, room).plain.replace("\n", "\n" + " " * (values + _GAP))
    return Text.assemble(_cell(fact.value), " " * gap, (lines, "dim"))


def _remarked(fact: Fact, width: int) -> Text:
    """Return value and remark of *fact* in *width* columns: in one line if they fit."""
    value = _cell(fact.value, width)
    fits = cell_len(inert(fact.value.text)) + _GAP + cell_len(inert(fact.said)) <= width
    remark = inert(fact.said) if fits else _fill(fact.said, width).plain
    return Text.assemble(value, " " * _GAP if fits else "\n", (remark, "dim"))


@dataclass(frozen=True)
class _TableGrid:
    """A table; a column of names or prose gets lines of its own where it would be narrow.

    Where words of the others would be broken as well, each row becomes a few lines of its own.
    """

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table, width = self.table, options.max_width
        natural = _widths(table)
        at = next(
            (at for at, column in enumerate(table.columns) if column.below or column.prose), None
        )
        if at is None:
            fitted = _fitted(table, natural, width)
            yield from _records(table, None, width) if fitted is None else [_table(table, fitted)]
            return
        beside = sum(natural) - natural[at] + _GAP * (len(natural) - 1)
        prose = table.columns[at].prose
        wanted = min(natural[at], _ROOM_FOR_PROSE if prose else _ROOM_FOR_NAMES)
        if beside + wanted <= width:
            natural[at] = min(natural[at], width - beside)
            yield _table(table, natural)
        elif beside - _GAP <= width:
            rest = _table(_without(table, at), natural[:at] + natural[at + 1 :])
            yield from _with_lines_below(rest, table, at, console)
        else:
            yield from _records(table, None if prose else at, width)


def _widths(table: Table) -> list[int]:
    titles = [column.title for column in table.columns]
    rows = ([cell.text for cell in row] for row in table.rows)
    return [max(map(cell_len, map(inert, column))) for column in zip(titles, *rows, strict=True)]


def _fitted(table: Table, natural: list[int], width: int) -> list[int] | None:
    """Return the columns' widths in *width*; the widest text gives way. None: words would break."""
    widths = list(natural)
    least = [
        max(map(cell_len, [word for text in texts for word in words(text)]), default=0)
        for texts in (
            [inert(column.title), *(inert(row[at].text) for row in table.rows)]
            for at, column in enumerate(table.columns)
        )
    ]
    while sum(widths) + _GAP * (len(widths) - 1) > width:
        wide = [at for at, column in enumerate(table.columns) if widths[at] > least[at]]
        if not wide:
            return None
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _records(table: Table, at: int | None, width: int) -> RenderResult:
    """Yield each row as its name in column *at*, or its first cell, and below it the others."""
    for row in table.rows:
        head = table.columns[at or 0]
        yield _titled(head, row[at or 0]) if head.right else _cell(row[at or 0])
        pairs = [
            _titled(column, cell)
            for place, (column, cell) in enumerate(zip(table.columns, row, strict=True))
            if place != (at or 0) and cell.text
        ]
        below = _broken(Text(", ").join(pairs), width - 2)
        yield Padding(below, (0, 0, 0, 2), expand=False)


def _titled(column: Column, cell: Cell) -> Text:
    return Text.assemble((f"{inert(column.title)} ", "dim"), _cell(cell))


def _without(table: Table, at: int) -> Table:
    rows = tuple([row[:at] + row[at + 1 :] for row in table.rows])
    return Table(table.columns[:at] + table.columns[at + 1 :], rows)


def _with_lines_below(rest: RichTable, whole: Table, at: int, console: Console) -> RenderResult:
    """Yield the lines of *rest*, which takes one for each row, with column *at* below each."""
    below = [Text(inert(whole.columns[at].title), "bold"), *[_cell(row[at]) for row in whole.rows]]
    for line, text in zip(console.render_lines(rest, pad=False), below, strict=True):
        yield from line
        yield Segment.line()
        if text.plain:
            text.overflow = "fold"
            yield Padding(text, (0, 0, 0, 2), expand=False)


def _table(table: Table, widths: Sequence[int]) -> RichTable:
    rich = RichTable(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
    for column, width in zip(table.columns, widths, strict=True):
        rich.add_column(
            inert_text(column.title),
            justify="right" if column.right else "left",
            overflow="fold",  # a narrow terminal costs lines, not letters
            width=max(width, 1),
        )
    for row in table.rows:
        rich.add_row(*map(_cell, row, widths))
    return rich


def _cell(cell: Cell, width: int | None = None) -> Text:
    text = _text(cell.text, cell.tone)
    if width is not None and text.cell_len > width:
        text.plain = _fill(cell.text, max(width, 1)).plain
    return text


def inert_text(text: str) -> Text:
    """Return *text* without effect on the terminal, in the style of its place."""
    return _text(text, Tone.PLAIN)


def _text(text: str, tone: Tone) -> Text:
    return Text(inert(text), STYLES[tone])
