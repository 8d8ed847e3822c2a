"""A sweep, and one kernel over every capability, for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.quantity import show_share
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table, Tone
from gpuadvise.cli.devices import device_line
from gpuadvise.cli.occupancy.sweep import TITLES, stairs
from gpuadvise.cli.occupancy.words import NOUNS, tone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.cli.occupancy.sweep import Axis, Point

_ANSWER = (
    Column("Blocks", right=True),
    Column("Warps", right=True),
    Column("Occupancy", right=True),
    Column("Limited by"),
)


def curve(device: Device, points: Sequence[Point], by: Axis, given: int | None) -> list[Block]:
    """Return the steps of the staircase; the step of the *given* value is marked."""
    table = Table(
        columns=(Column(TITLES[by], right=True), *_ANSWER),
        rows=tuple(_run(*run, given) for run in stairs(points, by)),
    )
    return [Line(f"{TITLES[by]} on {device_line(device)}", Tone.STRONG), table]


def capabilities(found: Sequence[tuple[Capability, Occupancy]]) -> list[Block]:
    """Return one line per compute capability."""
    rows = tuple((Cell(str(capability)), *_cells(answer)) for capability, answer in found)
    table = Table(columns=(Column("Capability", right=True), *_ANSWER), rows=rows)
    return [Line("This launch on every compute capability", Tone.STRONG), table]


def _run(first: int, last: int, found: Occupancy, given: int | None) -> tuple[Cell, ...]:
    here = given is not None and first <= given <= last
    values = f"{first:,}" if first == last else f"{first:,} to {last:,}"
    label = Cell(f"> {values}", Tone.STRONG) if here else Cell(values)
    return (label, *_cells(found))


def _cells(found: Occupancy) -> tuple[Cell, ...]:
    if found.fault:
        cause = found.fault.cause.replace("_", " ")
        return Cell("0"), Cell("0"), Cell("-", Tone.BAD), Cell(f"impossible: {cause}", Tone.BAD)
    limiters = and_list([NOUNS[resource] for resource in found.limiters])
    return (
        Cell(str(found.blocks_per_sm)),
        Cell(str(found.warps_per_sm)),
        Cell(show_share(found.occupancy), tone(found)),
        Cell(limiters),
    )
