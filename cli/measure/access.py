"""``measure access``: what strides, offsets and words cost, beside what the sectors say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.access import (
    AccessTiming,
    expected_efficiency,
    measure_access,
    patterns,
)
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.quantity import show_rate
from gpuadvise.cli.blocks import Line, Table, table
from gpuadvise.cli.measure.subject import SPREAD, Measured, Row, Subject, sample_fields, share

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
    return Measured(rows=rows, blocks=lambda: [_table(rows), Line(EXPLANATION)])


def _row(access: AccessTiming, accesses: Sequence[AccessTiming], device: Device) -> Row:
    pattern = access.pattern
    best = next(
        timing.rate
        for timing in accesses
        if (timing.pattern.move, timing.pattern.word) == (pattern.move, pattern.word)
    )
    efficiency, expected = access.rate / best, expected_efficiency(access, device)
    return {
        **named_fields(pattern, "move word stride offset"),
        "moved": access.moved,
        **sample_fields(access.seconds),
        "rate": access.rate,
        "efficiency": efficiency,
        "expected": expected,
        "ratio": efficiency / expected,
    }


def _table(rows: Sequence[Row]) -> Table:
    return table(
        rows,
        ("move", lambda row: row["move"]),
        (">word", lambda row: f"{row['word']} B"),
        (">stride", lambda row: str(row["stride"])),
        (">offset", lambda row: str(row["offset"])),
        (">useful rate", lambda row: show_rate(row["rate"])),
        *SPREAD,
        (">efficiency", share("efficiency")),
        (">sectors say", share("expected")),
        (">ratio", share("ratio")),
    )


ACCESS = Subject(
    run=lambda session, quick: measure_access(session, quick=quick),
    count=lambda quick: len(patterns(quick=quick)),
    label=lambda access: (
        f"{access.pattern.move} {access.pattern.word} B, stride {access.pattern.stride}, offset {access.pattern.offset}"
    ),
    measured=measured_access,
)
