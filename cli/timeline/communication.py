"""Communication of a recorded run, as fields and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.quantity import show_bytes, show_rate, show_seconds, show_share
from gpuadvise.cli.blocks import Block, Cell, Fact, Heading, Line, Table, Tone, header

if TYPE_CHECKING:
    from gpuadvise.advisor.timelines.exposure import TracedCollective
    from gpuadvise.advisor.timelines.timeline import Timeline

_NS = 1e9
_MOST_COLLECTIVES = 8


def record(line: Timeline) -> dict[str, Any] | None:
    """Return the communication as JSON values: seconds, bytes, bytes per second; None: there is none."""
    communication = line.communication
    if communication is None:
        return None
    return {
        "seconds": communication.total_ns / _NS,
        "hidden_seconds": communication.hidden_ns / _NS,
        "exposed_seconds": communication.exposed_ns / _NS,
        "collectives": [_collective(one) for one in communication.collectives],
    }


def _collective(traced: TracedCollective) -> dict[str, Any]:
    one = traced.collective
    return {
        "operation": str(one.operation),
        "bytes": one.bytes,
        "dtype": one.dtype,
        "group_size": one.ranks,
        "calls": traced.calls,
        "seconds": traced.seconds,
        "median_seconds": traced.median_ns / _NS,
        "shortest_seconds": traced.shortest_ns / _NS,
        "algorithm_rate": traced.algorithm_rate,
        "bus_rate": traced.bus_rate,
    }


def fact(line: Timeline) -> Fact:
    """Return how long kernels communicated, and what of it other kernels hid."""
    communication = line.communication
    assert communication is not None
    share = f", {show_share(communication.total_ns / line.span_ns)}" if line.span_ns else ""
    return Fact(
        "communication",
        Cell(f"{show_seconds(communication.total_ns / _NS)}{share}"),
        f"of the kernels; {show_share(communication.hidden_share)} of it beside kernels that compute",
    )


_COLUMNS = header(
    ">time", "collective", ">calls", ">bytes", ">ranks", ">median", ">shortest", ">algorithm",
    ">bus",
)  # fmt: skip


def blocks(line: Timeline) -> list[Block]:
    """Return a table of the collectives; nothing where no kernel communicated."""
    communication = line.communication
    if communication is None or not communication.collectives:
        return []
    shown = communication.collectives[:_MOST_COLLECTIVES]
    screen: list[Block] = [
        Heading("Collectives"),
        Table(_COLUMNS, tuple(map(_row, shown))),
        Line(
            "Bandwidths as nccl-tests has them, of the shortest run: waits are in all.", Tone.FAINT
        ),
    ]
    if hidden := len(communication.collectives) - len(shown):
        screen.append(
            Line(f"{hidden} more kinds of collectives: --format json has all.", Tone.FAINT)
        )
    return screen


def _row(traced: TracedCollective) -> tuple[Cell, ...]:
    one = traced.collective
    return (
        Cell(show_seconds(traced.seconds)),
        Cell(str(one.operation)),
        Cell(f"{traced.calls:,}"),
        Cell("-" if one.bytes is None else show_bytes(one.bytes)),
        Cell("-" if one.ranks is None else str(one.ranks)),
        Cell(show_seconds(traced.median_ns / _NS)),
        Cell(show_seconds(traced.shortest_ns / _NS)),
        _rate(traced.algorithm_rate),
        _rate(traced.bus_rate),
    )


def _rate(rate: float | None) -> Cell:
    return Cell("-" if rate is None else show_rate(rate))
