"""``measure copies``: rates by size, what the link promises, and the calibration they give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from gpuadvise.cli.blocks import Block, Cell, Fact, Heading, LabelledFacts, Table, header
from gpuadvise.cli.measure.subject import Measured, Subject, ratio_cell, sample_fields, spread_cells

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
    return Measured(
        rows=[_row(copy, device) for copy in copies],
        summary={"calibration": calibration and calibration.to_json()},
        blocks=lambda: _blocks(copies, device, calibration),
    )


def _row(copy: Copy, device: Device) -> dict[str, Any]:
    expected = expected_rate(copy, device)
    return {
        "kind": str(copy.kind),
        "bytes": copy.bytes,
        "moved": copy.moved,
        **sample_fields(copy.seconds),
        "rate": copy.rate,
        "expected": expected,
        "ratio": copy.rate / expected if expected else None,
    }


def _blocks(
    copies: Sequence[Copy], device: Device, calibration: LinkModel | None
) -> Sequence[Block]:
    titles = ("copy", ">size", ">time", ">spread", ">runs", ">rate", ">expected", ">reached")
    table = Table(header(*titles), tuple(_cells(copy, device) for copy in copies))
    return [table] if calibration is None else [table, *_calibration(calibration)]


def _cells(copy: Copy, device: Device) -> tuple[Cell, ...]:
    expected = expected_rate(copy, device)
    return (
        Cell(str(copy.kind)),
        Cell(show_bytes(copy.bytes)),
        Cell(show_seconds(copy.seconds.median)),
        *spread_cells(copy.seconds),
        Cell(show_rate(copy.rate)),
        Cell(show_rate(expected) if expected else ""),
        ratio_cell(copy.rate / expected if expected else None),
    )


def _calibration(model: LinkModel) -> list[Block]:
    rates = (
        ("pinned, host to device", model.h2d_rate),
        ("pinned, device to host", model.d2h_rate),
        ("pageable, host to device", model.pageable_h2d_rate),
        ("pageable, device to host", model.pageable_d2h_rate),
    )
    times = (
        ("latency of a copy", model.copy_latency),
        ("latency of a kernel", model.kernel_latency),
        ("host time per copy", model.copy_cost),
        ("host time per launch", model.launch_cost),
        ("more per copy, both directions", model.duplex_latency),
    )
    rows = [Fact(label, Cell(show_rate(rate))) for label, rate in rates]
    rows += [Fact(label, Cell(show_seconds(time))) for label, time in times]
    slowdown = Cell(f"{model.duplex_slowdown:.3f} times as long")
    rows.append(Fact("both directions at once", slowdown))
    return [
        Heading("Calibration (--save keeps it for this GPU)"),
        LabelledFacts(tuple(rows)),
    ]


COPIES = Subject(
    run=lambda session, quick: measure_copies(session, quick=quick),
    count=_count,
    label=lambda copy: f"{copy.kind} {show_bytes(copy.bytes)}",
    measured=measured_copies,
    kept=True,
)
