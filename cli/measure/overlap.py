"""``measure overlap``: staged copies and kernels beside the prediction for each."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.measure.overlap import (
    MIXES,
    QUICK_MIXES,
    QUICK_STREAMS,
    STREAMS,
    Staged,
    in_place,
    measure_overlap,
    predicted_seconds,
)
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_seconds, show_share
from gpuadvise.advisor.transfers.links import LinkModel, default_link_model
from gpuadvise.cli.blocks import Block, Cell, Line, Table, Tone, header
from gpuadvise.cli.measure.subject import Measured, Subject, sample_fields, spread_cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.device import Device


def measured_overlap(
    session: Session | None, device: Device, stagings: Sequence[Staged], quick: bool = False
) -> Measured:
    """Return the answer that *stagings* give, with predictions calibrated here and now."""
    model = default_link_model(device)
    if session:
        from gpuadvise.advisor.backends.measure.calibrate import calibrated
        from gpuadvise.advisor.backends.measure.copies import measure_copies

        model = calibrated(session, list(measure_copies(session, quick=quick)))
    rows = [_row(staged, model) for staged in stagings]
    errors = [abs(row["expected"] / row["seconds"] - 1) for row in rows]
    summary = {
        "calibration": model.to_json(),
        "median_error": median(errors),
        "worst_error": max(errors),
        "best": list(_best(rows)),
    }
    return Measured(rows=rows, summary=summary, blocks=lambda: _blocks(stagings, rows, summary))


def _row(staged: Staged, model: LinkModel) -> dict[str, Any]:
    parts = staged.parts
    expected = predicted_seconds(staged, in_place(model, staged))
    return {
        "mix": staged.mix.name,
        "bytes": staged.mix.bytes,
        "copy_back": staged.mix.copy_back,
        "streams": staged.streams,
        **sample_fields(staged.seconds),
        "h2d_seconds": parts.h2d.median,
        "kernel_seconds": parts.kernel.median,
        "issue_cost": staged.issue_cost,
        "d2h_seconds": parts.d2h.median if parts.d2h else None,
        "both_seconds": parts.both.median if parts.both else None,
        "expected": expected,
        "ratio": staged.seconds.median / expected,
    }


def _best(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield, for each mix, the best stream counts measured and predicted."""
    keys = dict.fromkeys((row["mix"], row["copy_back"]) for row in rows)
    for mix, back in keys:
        own = [row for row in rows if (row["mix"], row["copy_back"]) == (mix, back)]
        measured = min(own, key=lambda row: row["seconds"])
        predicted = min(own, key=lambda row: row["expected"])
        yield {
            "mix": mix,
            "copy_back": back,
            "streams": measured["streams"],
            "seconds": measured["seconds"],
            "expected_streams": predicted["streams"],
            "expected": predicted["expected"],
        }


def _blocks(
    stagings: Sequence[Staged], rows: Sequence[dict[str, Any]], summary: dict[str, Any]
) -> Sequence[Block]:
    titles = (
        "job", ">size", "back", ">streams", ">measured", ">spread", ">runs", ">predicted", ">error"
    )  # fmt: skip
    return [
        Line(
            f"Prediction against measurement: median error "
            f"{show_share(summary['median_error'])}, worst {show_share(summary['worst_error'])}.",
            Tone.STRONG,
        ),
        Table(header(*titles), tuple(map(_cells, stagings, rows))),
    ]


def _cells(staged: Staged, row: dict[str, Any]) -> tuple[Cell, ...]:
    return (
        Cell(row["mix"]),
        Cell(show_bytes(row["bytes"])),
        Cell("yes" if row["copy_back"] else "no"),
        Cell(str(row["streams"])),
        Cell(show_seconds(row["seconds"])),
        *spread_cells(staged.seconds),
        Cell(show_seconds(row["expected"])),
        Cell(f"{row['expected'] / row['seconds'] - 1:+.1%}"),
    )


OVERLAP = Subject(
    run=lambda session, quick: measure_overlap(session, quick=quick),
    count=lambda quick: (
        len(QUICK_MIXES) * len(QUICK_STREAMS) if quick else len(MIXES) * len(STREAMS)
    ),
    label=lambda staged: f"{staged.mix.name}, {plural(staged.streams, 'stream')}",
    measured=measured_overlap,
)
