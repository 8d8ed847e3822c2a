"""``measure overlap``: staged copies and kernels beside the prediction for each."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

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
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_seconds, show_share
from gpuadvise.advisor.transfers.links import LinkModel, default_link_model
from gpuadvise.cli.blocks import Block, Line, Tone, table
from gpuadvise.cli.measure.subject import SPREAD, Measured, Row, Subject, sample_fields

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
    return Measured(rows=rows, summary=summary, blocks=lambda: _blocks(rows, summary))


def _row(staged: Staged, model: LinkModel) -> Row:
    expected = predicted_seconds(staged, in_place(model, staged))
    parts = (
        "h2d_seconds=parts.h2d.median kernel_seconds=parts.kernel.median issue_cost "
        "d2h_seconds=parts.d2h.median both_seconds=parts.both.median"
    )
    return {
        **named_fields(staged, "mix=mix.name bytes=mix.bytes copy_back=mix.copy_back streams"),
        **sample_fields(staged.seconds),
        **named_fields(staged, parts),
        "expected": expected,
        "ratio": staged.seconds.median / expected,
    }


def _best(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield, for each mix, the best stream counts measured and predicted."""
    keys = dict.fromkeys((row["mix"], row["copy_back"]) for row in rows)
    for mix, back in keys:
        own = [row for row in rows if (row["mix"], row["copy_back"]) == (mix, back)]
        measured = min(own, key=lambda row: row["seconds"])
        predicted = min(own, key=lambda row: row["expected"])
        told = {name: measured[name] for name in ("mix", "copy_back", "streams", "seconds")}
        best = {"expected_streams": predicted["streams"], "expected": predicted["expected"]}
        yield told | best


def _blocks(rows: Sequence[Row], summary: Row) -> Sequence[Block]:
    median, worst = (show_share(summary[f"{which}_error"]) for which in ("median", "worst"))
    told = f"Prediction against measurement: median error {median}, worst {worst}."
    shown = table(
        rows,
        ("job", lambda row: row["mix"]),
        (">size", lambda row: show_bytes(row["bytes"])),
        ("back", lambda row: "yes" if row["copy_back"] else "no"),
        (">streams", lambda row: str(row["streams"])),
        (">measured", lambda row: show_seconds(row["seconds"])),
        *SPREAD,
        (">predicted", lambda row: show_seconds(row["expected"])),
        (">error", lambda row: f"{row['expected'] / row['seconds'] - 1:+.1%}"),
    )
    return [Line(told, Tone.STRONG), shown]


OVERLAP = Subject(
    run=lambda session, quick: measure_overlap(session, quick=quick),
    count=lambda quick: (
        len(QUICK_MIXES) * len(QUICK_STREAMS) if quick else len(MIXES) * len(STREAMS)
    ),
    label=lambda staged: f"{staged.mix.name}, {plural(staged.streams, 'stream')}",
    measured=measured_overlap,
)
