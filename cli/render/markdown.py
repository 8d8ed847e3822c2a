"""Markdown for tickets and pull requests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.prose import inert
from gpuadvise.cli.blocks import Block, Drawing, Heading, LabelledFacts, Line, Table, Tone
from gpuadvise.cli.render.plain import drawing_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

# The last is the colon of an address: only those of NVIDIA's documents, which our sources are, become links.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#!&~]|:(?=//(?!docs\.nvidia\.com/))|(?<=\bwww)\.)")
# What would begin a list, underline a heading or draw a line.
_AT_LINE_START = re.compile(r"^([-+=])(?=\s|[-+=]*$)")
_MENTION = re.compile(r"@(?=\w)|\\#(?=\d)|\bGH-(?=\d)")


def render(blocks: Iterable[Block]) -> str:
    """Return *blocks* as Markdown, one empty line between two of them."""
    return "\n\n".join(filter(None, map(_block, blocks))) + "\n"


def escaped(text: str) -> str:
    """Return foreign *text* inert, with everything Markdown would read as markup escaped.

    Services look for names to ping and numbers of issues in what a reader sees: a space without
    width keeps these from being any.
    """
    return _MENTION.sub("\\g<0>\u200b", _SPECIAL.sub(r"\\\1", inert(text)))


def _block(block: Block) -> str:
    match block:
        case Line():
            text = _AT_LINE_START.sub(r"\\\1", escaped(block.text))
            strong = f"**{text}**" if block.tone is Tone.STRONG and text else text
            return " " * block.indent + strong  # what belongs to a numbered item stays in it
        case Heading():
            return f"## {escaped(block.text)}"
        case LabelledFacts():
            rows = ((row.label, row.value.text, row.said) for row in block.rows)
            return _table(("", "", ""), rows, (False, False, False))
        case Table():
            titles = [column.title for column in block.columns]
            cells = ([cell.text for cell in row] for row in block.rows)
            return _table(titles, cells, [column.right for column in block.columns])
        case Drawing():
            lines = drawing_lines(block)
            fence = "`" * max(3, 1 + max(map(_longest_ticks, lines), default=0))
            return "\n".join((f"{fence}text", *lines, fence))
        case other:
            assert_never(other)


def _longest_ticks(line: str) -> int:
    """Return the most backticks in a row in *line*: as many would end the drawing."""
    return max(map(len, re.findall("`+", line)), default=0)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]], right: Iterable[bool]) -> str:
    rule = ["---:" if to_right else "---" for to_right in right]
    return "\n".join([_row(map(escaped, head)), _row(rule), *(_row(map(escaped, r)) for r in rows)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
