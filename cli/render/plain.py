"""Plain text for pipes: no colour, no boxes, no wrapping."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.prose import inert
from gpuadvise.cli.blocks import Block, Drawing, Heading, LabelledFacts, Line, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def render(blocks: Iterable[Block]) -> str:
    """Return *blocks* as text; each block ends its line."""
    return "".join(f"{harmless(line)}\n" for block in blocks for line in _lines(block))


def harmless(line: str) -> str:
    """Return *line* so that no continuous-integration log takes it for a command (``::error``)."""
    return re.sub(_COMMAND, r"\g<1>\\x3a:", line) if "::" in line else line


# Colours may stand before it.
_COMMAND = r"^((?:\s|\x1b\[[0-9;]*m)*)::"


COLUMNS = 80  # of a drawing where there is no terminal
# What stands for the characters of charts where the output has ASCII alone.
_ASCII = str.maketrans("─│┌┐└┘├┤┬┴┼╴╶•█▉▊▋▌▍▎▏", "-|++++++++++-*#######|"[:22])


def drawing_lines(drawing: Drawing, columns: int = COLUMNS) -> list[str]:
    """Return the lines of *drawing* for *columns*, each inert, trailing blanks removed."""
    text = drawing.lines if isinstance(drawing.lines, str) else drawing.lines(columns)
    return [inert(_writable(line)).rstrip() for line in text.split("\n")]


def _writable(line: str) -> str:
    try:
        line.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return line.translate(_ASCII)
    return line


def _lines(block: Block) -> list[str]:
    match block:
        case Line():
            return [" " * block.indent + inert(block.text)]
        case Heading():
            return ["", inert(block.text)]
        case LabelledFacts():
            cells = [
                [inert(row.label), inert(row.value.text), inert(row.said)] for row in block.rows
            ]
            return _aligned(cells, (False, False, False))
        case Table():
            head = [inert(column.title) for column in block.columns]
            body = [[inert(cell.text) for cell in row] for row in block.rows]
            return _aligned([head, *body], [column.right for column in block.columns])
        case Drawing():
            return drawing_lines(block)
        case other:
            assert_never(other)


def _aligned(rows: list[list[str]], right: Sequence[bool]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]
