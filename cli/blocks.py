"""What a command has to say to a person, before any renderer gives it a form."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Tone(StrEnum):
    """How a piece of text is meant; the terminal shows it, plain text does not need it."""

    PLAIN = "plain"
    STRONG = "strong"
    GOOD = "good"
    POOR = "poor"
    BAD = "bad"
    FAINT = "faint"


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of text with its tone."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence or more, on lines of its own; *indent* in characters."""

    text: str
    tone: Tone = Tone.PLAIN
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Heading:
    """The name of what follows."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One labelled value, with a remark such as its source."""

    label: str
    value: Cell
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Labelled values below each other."""

    rows: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A table column; numbers are set to the right."""

    title: str
    right: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells under titled columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Lines that keep their shape: a chart, a grid, source code."""

    text: str


Block = Line | Heading | Facts | Table | Drawing
