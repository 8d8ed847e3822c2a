"""``measure bandwidth``: what kernels read, write and copy, beside the memory's bandwidth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.measure.bandwidth import (
    WORDS,
    Streamed,
    WordTraffic,
    measure_bandwidth,
)
from gpuadvise.advisor.quantity import show_rate
from gpuadvise.cli.blocks import Block, Cell, Line, Table, header
from gpuadvise.cli.measure.subject import Measured, Subject, ratio_cell, sample_fields, spread_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.device import Device

_EXPLANATION = "A copied byte counts twice: it is read and written."


def bandwidth(word: int | None) -> Subject:
    """Return the subject for words of *word* bytes, or of every size."""
    words = WORDS if word is None else (word,)
    return Subject(
        run=lambda session, quick: measure_bandwidth(session, words, quick=quick),
        count=lambda quick: len(words) * len(WordTraffic),
        label=lambda streamed: f"{streamed.traffic} {streamed.word} B",
        measured=measured_bandwidth,
        kept=True,
    )


def measured_bandwidth(
    session: Session | None, device: Device, streams: Sequence[Streamed], quick: bool = False
) -> Measured:
    """Return the answer that *streams* give; the best of them is what memory reaches."""
    rows = [_row(streamed, device) for streamed in streams]
    best = max(streamed.rate for streamed in streams)
    summary = {"memory_bandwidth": best}
    return Measured(rows=rows, summary=summary, blocks=lambda: _blocks(streams, rows))


def _row(streamed: Streamed, device: Device) -> dict[str, Any]:
    expected = device.memory_bandwidth
    return {
        "move": str(streamed.traffic),
        "word": streamed.word,
        "moved": streamed.moved,
        **sample_fields(streamed.seconds),
        "rate": streamed.rate,
        "expected": expected,
        "ratio": streamed.rate / expected if expected else None,
    }


def _blocks(streams: Sequence[Streamed], rows: Sequence[dict[str, Any]]) -> Sequence[Block]:
    columns = header("move", ">word", ">rate", ">spread", ">runs", ">theoretical", ">reached")
    return [Table(columns, tuple(map(_cells, streams, rows))), Line(_EXPLANATION)]


def _cells(streamed: Streamed, row: dict[str, Any]) -> tuple[Cell, ...]:
    return (
        Cell(row["move"]),
        Cell(f"{row['word']} B"),
        Cell(show_rate(row["rate"])),
        *spread_cells(streamed.seconds),
        Cell(show_rate(row["expected"]) if row["expected"] else ""),
        ratio_cell(row["ratio"]),
    )
