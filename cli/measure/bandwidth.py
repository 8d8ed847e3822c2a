"""``measure bandwidth``: what kernels read, write and copy, beside the memory's bandwidth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.bandwidth import (
    WORDS,
    Streamed,
    WordTraffic,
    measure_bandwidth,
)
from gpuadvise.advisor.quantity import show_rate
from gpuadvise.cli.blocks import Line, Table, table
from gpuadvise.cli.measure.subject import SPREAD, Measured, Row, Subject, compared, share

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
    fields = "move=traffic word moved"
    rows = [compared(streamed, fields, device.memory_bandwidth) for streamed in streams]
    summary = {"memory_bandwidth": max(streamed.rate for streamed in streams)}
    return Measured(rows=rows, summary=summary, blocks=lambda: [_table(rows), Line(_EXPLANATION)])


def _table(rows: Sequence[Row]) -> Table:
    return table(
        rows,
        ("move", lambda row: row["move"]),
        (">word", lambda row: f"{row['word']} B"),
        (">rate", lambda row: show_rate(row["rate"])),
        *SPREAD,
        (">theoretical", lambda row: show_rate(row["expected"]) if row["expected"] else ""),
        (">reached", share("ratio")),
    )
