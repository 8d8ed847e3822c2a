"""What a person reads, as HTML for notebooks: no style or script but alignment, all text escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.prose import inert
from gpuadvise.cli.blocks import Block, Cell, Drawing, Heading, LabelledFacts, Line, Table, Tone
from gpuadvise.cli.render.plain import drawing_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

_LEFT, _RIGHT = "text-align:left", "text-align:right"


def html(blocks: Iterable[Block]) -> str:
    """Return *blocks* as one element of HTML."""
    return f"<div>{''.join(map(_block, blocks))}</div>"


def _block(block: Block) -> str:
    match block:
        case Line():
            indent = f' style="margin-left:{block.indent}ch"' if block.indent else ""
            return f"<p{indent}>{_toned(Cell(block.text, block.tone))}</p>"
        case Heading():
            return f"<h4>{_text(block.text)}</h4>"
        case LabelledFacts():
            rows = (
                f"<tr><th {_style(_LEFT)}>{_text(row.label)}</th>"
                f"<td {_style(_LEFT)}>{_toned(row.value)}</td><td {_style(_LEFT)}>{_text(row.said)}</td></tr>"
                for row in block.rows
            )
            return f"<table><tbody>{''.join(rows)}</tbody></table>"
        case Table():
            return _table(block)
        case Drawing():
            return f"<pre>{_text_lines(drawing_lines(block))}</pre>"
        case other:
            assert_never(other)


def _table(table: Table) -> str:
    sides = [_style(_RIGHT if column.right else _LEFT) for column in table.columns]
    head = "".join(
        f"<th {side}>{_text(column.title)}</th>"
        for column, side in zip(table.columns, sides, strict=True)
    )
    rows = (
        "".join(f"<td {side}>{_toned(cell)}</td>" for cell, side in zip(row, sides, strict=True))
        for row in table.rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _style(side: str) -> str:
    return f'style="{side}"'


def _toned(cell: Cell) -> str:
    text = _text(cell.text)
    return f"<strong>{text}</strong>" if text and cell.tone in (Tone.STRONG, Tone.BAD) else text


def _text(text: str) -> str:
    return escape(inert(text))


def _text_lines(lines: Iterable[str]) -> str:
    return "\n".join(map(_text, lines))
