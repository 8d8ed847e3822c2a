"""``measure p2p``: copies between every pair of GPUs, beside what their link promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.peers import (
    PeerCopy,
    copies,
    expected_rate,
    gpus,
    measure_peers,
)
from gpuadvise.advisor.quantity import show_bytes, show_rate
from gpuadvise.cli.blocks import Line, Table, table
from gpuadvise.cli.measure.subject import SPREAD, Measured, Row, Subject, compared, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.device import Device

_EXPLANATION = (
    "Numbers are CUDA's. Without peer access the driver stages each copy through the host's "
    "memory. Both ways: the rates of both copies together."
)


def measured_peers(
    session: Session | None, device: Device, pairs: Sequence[PeerCopy], quick: bool = False
) -> Measured:
    """Return the answer that *pairs* give."""
    fields = "from=source to=target both_ways=both peer_access=access atomics bytes moved"
    rows = [compared(pair, fields, expected_rate(pair, device)) for pair in pairs]
    return Measured(rows=rows, blocks=lambda: [_table(rows), Line(_EXPLANATION)])


def _table(rows: Sequence[Row]) -> Table:
    return table(
        rows,
        ("copy", _way),
        ("peer access", lambda row: "on" if row["peer_access"] else "off"),
        (">size", lambda row: show_bytes(row["bytes"])),
        (">rate", lambda row: show_rate(row["rate"])),
        *SPREAD,
        (">expected", lambda row: show_rate(row["expected"]) if row["expected"] else ""),
        (">reached", share("ratio")),
    )


def _way(row: Row) -> str:
    both = row["both_ways"]
    return f"{row['from']} {'and' if both else 'to'} {row['to']}{' both ways' if both else ''}"


def _label(pair: PeerCopy) -> str:
    way = _way({"from": pair.source, "to": pair.target, "both_ways": pair.both})
    return f"{way}, peer access {'on' if pair.access else 'off'}"


PEERS = Subject(
    run=lambda session, quick: measure_peers(session, quick=quick),
    count=lambda quick: copies(gpus()),
    label=_label,
    measured=measured_peers,
)
