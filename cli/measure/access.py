"""``measure access``: what strides, offsets and words cost, beside what the sectors say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.measure.access import (
    AccessTiming,
    expected_efficiency,
    measure_access,
    patterns,
)
from gpuadvise.advisor.quantity import show_rate, show_share
from gpuadvise.cli.blocks import Block, Cell, Line, Table, header
from gpuadvise.cli.measure.subject import Measured, Subject, ratio_cell, sample_fields, spread_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.device import Device

EXPLANATION = (
    "Efficiency is the useful rate over that of adjacent aligned words of the same size and "
    "direction. Neighbouring warps share the sectors that a misaligned warp adds, so loads "
    "hardly pay for an offset. A store that fills part of a sector costs a load as well. Beyond "
    "a stride of 8 words every sector serves one word, and DRAM pages and address translation "
    "cost more."
)


def measured_access(
    session: Session | None, device: Device, accesses: Sequence[AccessTiming], quick: bool = False
) -> Measured:
    """Return the answer that *accesses* give."""
    rows = [_row(access, accesses, device) for access in accesses]
    return Measured(rows=rows, blocks=lambda: _blocks(accesses, rows))


def _row(access: AccessTiming, accesses: Sequence[AccessTiming], device: Device) -> dict[str, Any]:
    pattern = access.pattern
    best = next(
        timing.rate
        for timing in accesses
        if (timing.pattern.move, timing.pattern.word) == (pattern.move, pattern.word)
    )
    efficiency, expected = access.rate / best, expected_efficiency(access, device)
    return {
        "move": str(pattern.move),
        "word": pattern.word,
        "stride": pattern.stride,
        "offset": pattern.offset,
        "moved": access.moved,
        **sample_fields(access.seconds),
        "rate": access.rate,
        "efficiency": efficiency,
        "expected": expected,
        "ratio": efficiency / expected,
    }


def _blocks(accesses: Sequence[AccessTiming], rows: Sequence[dict[str, Any]]) -> Sequence[Block]:
    titles = (
        "move", ">word", ">stride", ">offset", ">useful rate", ">spread", ">runs", ">efficiency",
        ">sectors say", ">ratio",
    )  # fmt: skip
    return [Table(header(*titles), tuple(map(_cells, accesses, rows))), Line(EXPLANATION)]


def _cells(access: AccessTiming, row: dict[str, Any]) -> tuple[Cell, ...]:
    return (
        Cell(row["move"]),
        Cell(f"{row['word']} B"),
        Cell(str(row["stride"])),
        Cell(str(row["offset"])),
        Cell(show_rate(row["rate"])),
        *spread_cells(access.seconds),
        Cell(show_share(row["efficiency"])),
        Cell(show_share(row["expected"])),
        ratio_cell(row["ratio"]),
    )


ACCESS = Subject(
    run=lambda session, quick: measure_access(session, quick=quick),
    count=lambda quick: len(patterns(quick=quick)),
    label=lambda access: (
        f"{access.pattern.move} {access.pattern.word} B, stride {access.pattern.stride}, offset {access.pattern.offset}"
    ),
    measured=measured_access,
)
