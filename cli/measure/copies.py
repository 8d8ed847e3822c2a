"""``measure copies``: rates by size, what the link promises, and the calibration they give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.copies import (
    PAGEABLE_LARGEST,
    QUICK_SIZES,
    SIZES,
    Copy,
    CopyKind,
    expected_rate,
    measure_copies,
)
from gpuadvise.advisor.quantity import show_bytes, show_rate, show_seconds
from gpuadvise.cli.blocks import Block, Cell, Fact, Heading, LabelledFacts, Table, table
from gpuadvise.cli.measure.subject import SPREAD, Measured, Row, Subject, compared, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.transfers.links import LinkModel


def _count(quick: bool) -> int:
    sizes = QUICK_SIZES if quick else SIZES
    return sum(6 if size <= PAGEABLE_LARGEST else 4 for size in sizes)


def measured_copies(
    session: Session | None, device: Device, copies: Sequence[Copy], quick: bool = False
) -> Measured:
    """Return the answer that *copies* give; the calibration needs every kind once."""
    from gpuadvise.advisor.backends.measure.calibrate import calibrated

    whole = {copy.kind for copy in copies} == set(CopyKind)
    calibration = calibrated(session, copies) if session and whole else None
    rows = [compared(copy, "kind bytes moved", expected_rate(copy, device)) for copy in copies]
    return Measured(
        rows=rows,
        summary={"calibration": calibration and calibration.to_json()},
        blocks=lambda: [_table(rows), *(_calibration(calibration) if calibration else ())],
    )


def _table(rows: Sequence[Row]) -> Table:
    return table(
        rows,
        ("copy", lambda row: row["kind"]),
        (">size", lambda row: show_bytes(row["bytes"])),
        (">time", lambda row: show_seconds(row["seconds"])),
        *SPREAD,
        (">rate", lambda row: show_rate(row["rate"])),
        (">expected", lambda row: show_rate(row["expected"]) if row["expected"] else ""),
        (">reached", share("ratio")),
    )


def _calibration(model: LinkModel) -> list[Block]:
    rates = {
        "pinned, host to device": model.h2d_rate,
        "pinned, device to host": model.d2h_rate,
        "pageable, host to device": model.pageable_h2d_rate,
        "pageable, device to host": model.pageable_d2h_rate,
    }
    times = {
        "latency of a copy": model.copy_latency,
        "latency of a kernel": model.kernel_latency,
        "host time per copy": model.copy_cost,
        "host time per launch": model.launch_cost,
        "more per copy, both directions": model.duplex_latency,
    }
    rows = [Fact(label, Cell(show_rate(rate))) for label, rate in rates.items()]
    rows += [Fact(label, Cell(show_seconds(time))) for label, time in times.items()]
    slowdown = Cell(f"{model.duplex_slowdown:.3f} times as long")
    rows.append(Fact("both directions at once", slowdown))
    return [Heading("Calibration (--save keeps it for this GPU)"), LabelledFacts(tuple(rows))]


COPIES = Subject(
    run=lambda session, quick: measure_copies(session, quick=quick),
    count=_count,
    label=lambda copy: f"{copy.kind} {show_bytes(copy.bytes)}",
    measured=measured_copies,
    kept=True,
)
