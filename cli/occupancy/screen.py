"""One occupancy answer for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.occupancy.answer import Resource
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.cli.blocks import Block, Cell, Column, Heading, Line, Table, Tone
from gpuadvise.cli.devices import device_line
from gpuadvise.cli.occupancy.advice import advice
from gpuadvise.cli.occupancy.remarks import remarks
from gpuadvise.cli.occupancy.words import NOUNS, exact_bytes, tone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.cli.occupancy.case import Case

COLUMNS = (
    Column("Resource"),
    Column("A block", right=True),
    Column("The SM", right=True),
    Column("Blocks", right=True),
    Column(""),
)


def screen(case: Case, check: Mapping[str, Any] | None = None) -> list[Block]:
    """Return the headline, the limits, what to change, and what else must be known.

    *check* is the driver's agreement, if it was asked for.
    """
    found = case.found
    notes = remarks(case)
    if check is not None:
        from gpuadvise.cli.occupancy.driver_check import said

        notes.insert(0, said(check))
    return [
        Line(device_line(case.device), Tone.FAINT),
        Line(headline(found), tone(found)),
        Line(because(found)),
        Line(""),
        _limits(found),
        *_section("What to change", advice(case)),
        *_section("Notes", notes),
    ]


def headline(found: Occupancy) -> str:
    """Return the answer in one line."""
    if found.fault:
        return "This launch is impossible: no block can start."
    most = found.hardware.max_warps_per_sm
    return (
        f"{show_share(found.occupancy)} occupancy: {plural(found.blocks_per_sm, 'block')} and "
        f"{found.warps_per_sm} of {most} warps per SM."
    )


def because(found: Occupancy) -> str:
    """Return what limits it, or why nothing can start."""
    if found.reason:
        return f"{found.reason[:1].upper()}{found.reason[1:]}"
    nouns = [NOUNS[resource] for resource in found.limiters]
    return f"Limited by {and_list(nouns)}{' alike' if len(nouns) > 1 else ''}."


def _section(title: str, sentences: list[str]) -> list[Block]:
    return [Heading(title), *map(Line, sentences)] if sentences else []


def _limits(found: Occupancy) -> Table:
    takes, has = needs(found), capacities(found)
    return Table(
        columns=COLUMNS,
        rows=tuple(
            (
                Cell(NOUNS[resource]),
                Cell(_count(takes[resource], resource)),
                Cell(_count(has[resource], resource)),
                Cell(_count(blocks), _tone(found, resource)),
                Cell(_mark(found, resource), _tone(found, resource)),
            )
            for resource, blocks in found.limits.items()
        ),
    )


def needs(found: Occupancy) -> dict[Resource, int | None]:
    """Return what one block takes of each resource; bytes for shared memory."""
    values = (
        found.warps_per_block,
        1,
        found.registers_per_block,
        found.shared_memory_per_block,
        found.launch.barriers,
    )
    return dict(zip(found.limits, values, strict=True))


def capacities(found: Occupancy) -> dict[Resource, int | None]:
    """Return what one SM has of each resource, as this kernel finds it."""
    hardware = found.hardware
    values = (
        hardware.max_warps_per_sm,
        hardware.max_blocks_per_sm,
        hardware.registers_per_sm,
        found.carveout_bytes,
        hardware.barriers_per_sm,
    )
    return dict(zip(found.limits, values, strict=True))


def _count(value: int | None, resource: Resource | None = None) -> str:
    if value is None:
        return "-"
    return exact_bytes(value) if resource is Resource.SHARED_MEMORY else f"{value:,}"


def _mark(found: Occupancy, resource: Resource) -> str:
    return "<" if resource in found.limiters else ""


def _tone(found: Occupancy, resource: Resource) -> Tone:
    return Tone.STRONG if resource in found.limiters else Tone.PLAIN
