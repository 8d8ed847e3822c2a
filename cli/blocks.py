"""What a command has to say to a person, before any renderer gives it a form.

Tuples: a class of a tuple is made in an eighth of the time of a dataclass, and each start pays it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gpuadvise.advisor.prose import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")


class Tone(StrEnum):
    """How a piece of text is meant; the terminal shows it, plain text does not need it."""

    PLAIN = "plain"
    STRONG = "strong"
    GOOD = "good"
    POOR = "poor"
    BAD = "bad"
    FAINT = "faint"


class Cell(NamedTuple):
    """A piece of text with its tone."""

    text: str
    tone: Tone = Tone.PLAIN


class Line(NamedTuple):
    """One sentence or more, on lines of its own; *indent* in characters.

    A *source* says where numbers come from; a terminal shows it with ``--sources``.
    """

    text: str
    tone: Tone = Tone.PLAIN
    indent: int = 0
    source: bool = False


class Heading(NamedTuple):
    """The name of what follows."""

    text: str


class Fact(NamedTuple):
    """One labelled value, with a remark, and a source that a terminal shows with ``--sources``."""

    label: str
    value: Cell
    remark: str = ""
    source: str = ""

    @property
    def said(self) -> str:
        """The remark and the source."""
        return "; ".join(filter(None, (self.remark, self.source)))


class LabelledFacts(NamedTuple):
    """Labelled values below each other."""

    rows: tuple[Fact, ...]


class Column(NamedTuple):
    """A table column; numbers are set to the right.

    A column *below* holds names, one of *prose* what is said of the row: both stand below the
    other cells where these leave little room. A table has at most one such column.
    """

    title: str
    right: bool = False
    below: bool = False
    prose: bool = False


def header(*titles: str | Column) -> tuple[Column, ...]:
    """Return the columns of a table; a title after ``>`` is one of numbers, as formats write it."""
    return tuple(
        title if isinstance(title, Column) else Column(title.removeprefix(">"), title[:1] == ">")
        for title in titles
    )


class Table(NamedTuple):
    """Rows of cells under titled columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


def known(value: T | None, show: Callable[[T], str], unknown: str = "-") -> str:
    """Return *value* as *show* writes it, a dash where it is not known."""
    return unknown if value is None else show(value)


def cells(*shown: str | Cell) -> tuple[Cell, ...]:
    """Return a row of a table."""
    return tuple([cell if isinstance(cell, Cell) else Cell(cell) for cell in shown])


def table(items: Iterable[T], *columns: tuple[str | Column, Callable[[T], str | Cell]]) -> Table:
    """Return a table with a row for each of *items*: of a column its title and what it shows of an item."""
    rows = tuple([cells(*(show(item) for _, show in columns)) for item in items])
    return Table(header(*(title for title, _ in columns)), rows)


class Drawing(NamedTuple):
    """Lines that keep their shape: source code, a grid, or what draws a chart in so many columns."""

    lines: str | Callable[[int], str]


def left_out(
    count: int, noun: str, how: str, *, many: str = "", tone: Tone = Tone.FAINT, indent: int = 0
) -> list[Line]:
    """Return a line that says *how* to see the *count* that a list leaves out; none where it has all."""
    if count <= 0:
        return []
    shown = how if count > 1 else how.replace("them", "it")
    more = plural(count, f"more {noun}", f"more {many}" if many else None)
    return [Line(f"{more}: {shown}.", tone, indent)]


Block = Line | Heading | LabelledFacts | Table | Drawing
