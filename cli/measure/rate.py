"""``measure kernel-rate``: attained FLOP/s beside the catalogue's peak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.measure.rate import TYPES, Rate, measure_rates
from gpuadvise.advisor.quantity import show_flops
from gpuadvise.cli.blocks import Cell, Table, header
from gpuadvise.cli.measure.subject import Measured, Subject, ratio_cell, sample_fields, spread_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.device import Device


_COLUMNS = header("type", "by", ">attained", ">spread", ">runs", ">peak", ">reached")


def measured_rate(
    session: Session | None, device: Device, rates: Sequence[Rate], quick: bool = False
) -> Measured:
    """Return the answer that *rates* give."""
    rows = [_row(rate, device) for rate in rates]
    peaks = {rate.dtype: rate.rate for rate in rates}
    return Measured(
        rows=rows,
        summary={"peaks": peaks},
        blocks=lambda: [Table(_COLUMNS, tuple(map(_cells, rates, rows)))],
    )


def _row(rate: Rate, device: Device) -> dict[str, Any]:
    expected = device.peaks.get(rate.dtype)
    return {
        "dtype": rate.dtype,
        "instruction": rate.instruction,
        "operations": rate.operations,
        **sample_fields(rate.seconds),
        "rate": rate.rate,
        "expected": expected,
        "ratio": rate.rate / expected if expected else None,
    }


def _cells(rate: Rate, row: dict[str, Any]) -> tuple[Cell, ...]:
    return (
        Cell(row["dtype"]),
        Cell(rate.instruction),
        Cell(show_flops(row["rate"])),
        *spread_cells(rate.seconds),
        Cell(show_flops(row["expected"]) if row["expected"] else ""),
        ratio_cell(row["ratio"]),
    )


# The most tensor types that one capability has.
_TENSOR_TYPES = 6

RATES = Subject(
    run=lambda session, quick: measure_rates(session, quick=quick),
    count=lambda quick: len(TYPES) + _TENSOR_TYPES,
    label=lambda rate: rate.dtype,
    measured=measured_rate,
    kept=True,
    needs_memory=False,
)
