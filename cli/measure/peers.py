"""``measure p2p``: copies between every pair of GPUs, beside what their link promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.measure.peers import (
    PeerCopy,
    copies,
    expected_rate,
    gpus,
    measure_peers,
)
from gpuadvise.advisor.quantity import show_bytes, show_rate
from gpuadvise.cli.blocks import Block, Cell, Line, Table, header
from gpuadvise.cli.measure.subject import Measured, Subject, ratio_cell, sample_fields, spread_cells

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
    rows = [_row(pair, device) for pair in pairs]
    return Measured(rows=rows, blocks=lambda: _blocks(pairs, rows))


def _row(pair: PeerCopy, device: Device) -> dict[str, Any]:
    expected = expected_rate(pair, device)
    return {
        "from": pair.source,
        "to": pair.target,
        "both_ways": pair.both,
        "peer_access": pair.access,
        "atomics": pair.atomics,
        "bytes": pair.bytes,
        "moved": pair.moved,
        **sample_fields(pair.seconds),
        "rate": pair.rate,
        "expected": expected,
        "ratio": pair.rate / expected if expected else None,
    }


def _blocks(pairs: Sequence[PeerCopy], rows: Sequence[dict[str, Any]]) -> Sequence[Block]:
    titles = ("copy", "peer access", ">size", ">rate", ">spread", ">runs", ">expected", ">reached")
    return [Table(header(*titles), tuple(map(_cells, pairs, rows))), Line(_EXPLANATION)]


def _cells(pair: PeerCopy, row: dict[str, Any]) -> tuple[Cell, ...]:
    return (
        Cell(_label(pair).partition(",")[0]),
        Cell("on" if pair.access else "off"),
        Cell(show_bytes(pair.bytes)),
        Cell(show_rate(pair.rate)),
        *spread_cells(pair.seconds),
        Cell(show_rate(row["expected"]) if row["expected"] else ""),
        ratio_cell(row["ratio"]),
    )


def _label(pair: PeerCopy) -> str:
    way = f"{pair.source} {'and' if pair.both else 'to'} {pair.target}"
    both = " both ways" if pair.both else ""
    return f"{way}{both}, peer access {'on' if pair.access else 'off'}"


PEERS = Subject(
    run=lambda session, quick: measure_peers(session, quick=quick),
    count=lambda quick: copies(gpus()),
    label=_label,
    measured=measured_peers,
)
