"""Communication of a recorded run, as fields and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.quantity import show_bytes, show_rate, show_seconds, show_share
from gpuadvise.cli.blocks import Block, Cell, Fact, Heading, Line, Table, Tone, known, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.timelines.exposure import TracedCollective
    from gpuadvise.advisor.timelines.timeline import Timeline

_NS = 1e9
_MOST_COLLECTIVES = 8


def record(line: Timeline) -> dict[str, Any] | None:
    """Return the communication as JSON values: seconds, bytes, bytes per second; None: there is none."""
    communication = line.communication
    if communication is None:
        return None
    seconds = "seconds=total_ns hidden_seconds=hidden_ns exposed_seconds=exposed_ns"
    return {
        **named_fields(communication, seconds),
        "collectives": [named_fields(one, _COLLECTIVE) for one in communication.collectives],
    }


_COLLECTIVE = (
    "operation=collective.operation bytes=collective.bytes dtype=collective.dtype "
    "group_size=collective.ranks calls seconds median_seconds=median_ns "
    "shortest_seconds=shortest_ns algorithm_rate bus_rate"
)


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


def blocks(line: Timeline) -> list[Block]:
    """Return a table of the collectives; nothing where no kernel communicated."""
    communication = line.communication
    if communication is None or not communication.collectives:
        return []
    shown = communication.collectives[:_MOST_COLLECTIVES]
    told = "Bandwidths as nccl-tests has them, of the shortest run: waits are in all."
    screen: list[Block] = [Heading("Collectives"), _table(shown), Line(told, Tone.FAINT)]
    if hidden := len(communication.collectives) - len(shown):
        more = f"{hidden} more kinds of collectives: --format json has all."
        screen.append(Line(more, Tone.FAINT))
    return screen


def _table(shown: Sequence[TracedCollective]) -> Table:
    return table(
        shown,
        (">time", lambda one: show_seconds(one.seconds)),
        ("collective", lambda one: str(one.collective.operation)),
        (">calls", lambda one: f"{one.calls:,}"),
        (">bytes", lambda one: known(one.collective.bytes, show_bytes)),
        (">ranks", lambda one: known(one.collective.ranks, str)),
        (">median", lambda one: show_seconds(one.median_ns / _NS)),
        (">shortest", lambda one: show_seconds(one.shortest_ns / _NS)),
        (">algorithm", lambda one: known(one.algorithm_rate, show_rate)),
        (">bus", lambda one: known(one.bus_rate, show_rate)),
    )
