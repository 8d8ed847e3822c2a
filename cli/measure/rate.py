"""``measure kernel-rate``: attained FLOP/s beside the catalogue's peak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.rate import TYPES, Rate, measure_rates
from gpuadvise.advisor.quantity import show_flops
from gpuadvise.cli.blocks import Table, table
from gpuadvise.cli.measure.subject import SPREAD, Measured, Row, Subject, compared, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.device import Device


def measured_rate(
    session: Session | None, device: Device, rates: Sequence[Rate], quick: bool = False
) -> Measured:
    """Return the answer that *rates* give."""
    fields = "dtype instruction operations"
    rows = [compared(rate, fields, device.peaks.get(rate.dtype)) for rate in rates]
    peaks = {rate.dtype: rate.rate for rate in rates}
    return Measured(rows=rows, summary={"peaks": peaks}, blocks=lambda: [_table(rows)])


def _table(rows: Sequence[Row]) -> Table:
    return table(
        rows,
        ("type", lambda row: row["dtype"]),
        ("by", lambda row: row["instruction"]),
        (">attained", lambda row: show_flops(row["rate"])),
        *SPREAD,
        (">peak", lambda row: show_flops(row["expected"]) if row["expected"] else ""),
        (">reached", share("ratio")),
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
