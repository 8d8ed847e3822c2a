"""``--sweep`` given several times: every combination, streamed, and the fullest for people."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.occupancy.answer import Resource
from gpuadvise.advisor.occupancy.launch_grid import LaunchGrid, best_engine
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.sweep import Axis, everything
from gpuadvise.advisor.occupancy.tiers import Tier, decoded
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Cell, Column, Heading, Line, Table, Tone, header
from gpuadvise.cli.devices import device_block, device_line
from gpuadvise.cli.emit import note, stream
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format
from gpuadvise.cli.occupancy.request import echo, question
from gpuadvise.cli.occupancy.sweep import sweep_axes
from gpuadvise.cli.occupancy.text import ENOUGH, NOUNS, exact_bytes
from gpuadvise.cli.options import flag
from gpuadvise.cli.render.json import (
    MEMBER_START,
    OBJECT_INDENT,
    compact,
    indented,
    label,
    render_with,
)
from gpuadvise.cli.render.rows import cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.occupancy.case import LaunchRequest
    from gpuadvise.cli.occupancy.command import OccupancyRequest

# More launches are a slip of the keyboard: their CSV would take gigabytes.
_MOST_LAUNCHES = 100_000_000
# Rows that --get may hold in memory at once.
_MOST_HELD = 100_000
_MOST_TIERS = 8
# A table of two axes that still fits a screen of 80 columns.
_MOST_ACROSS, _MOST_DOWN = 10, 32
_MANY = 100_000  # from here on the wait is worth a word: seconds without numpy
_TITLES = {
    Axis.BLOCK: "Block",
    Axis.REGS: "Registers",
    Axis.SMEM: "Dynamic smem",
    Axis.BARRIERS: "Barriers",
}


class GridCase(NamedTuple):
    """The question, understood."""

    request: OccupancyRequest
    launch: LaunchRequest
    choice: Choice
    grid: LaunchGrid
    keys: tuple[Axis, ...]


def run(request: OccupancyRequest) -> Answer | Exit:
    """Answer for every combination; once it is printed, the exit code; raises BadInput or Unavailable."""
    if request.show or request.plot is not None:
        raise BadInput("--show and --plot draw one --sweep, not several.")
    case = _understood(request)
    if len(case.grid) >= _MANY and not case.grid.arrays:
        note("numpy answers so many launches some forty times as fast: pip install numpy.")
    streamed = {Format.JSON: _json, Format.CSV: _csv, Format.NDJSON: _ndjson}
    if request.output.fields or request.output.format not in streamed:
        return _answer(case)
    note(*case.choice.notes)
    stream(streamed[Format(request.output.format)](case))
    return Exit.RAN


def _understood(request: OccupancyRequest) -> GridCase:
    by = sweep_axes(request.sweep or ())
    given = {axis.value: request.texts[axis] or "1" for axis, _ in by}
    launch = question({**request.texts, **given}, flag)
    choice = request.gpu.choice()
    limits = choice.device.limits
    axes = tuple(
        (axis.field, values or everything(limits, launch.launch, axis)) for axis, values in by
    )
    count = math.prod(len(values) for _, values in axes)
    if count > _MOST_LAUNCHES:
        raise BadInput(
            f"--sweep: {count:,} launches are more than {_MOST_LAUNCHES:,}.",
            hint="Give a larger step, as in smem=0:227K:8K.",
        )
    grid = best_engine(LaunchGrid(limits=limits, launch=launch.launch, axes=axes))
    return GridCase(request, launch, choice, grid, tuple(axis for axis, _ in by))


def _answer(case: GridCase) -> Answer:
    """Return the answer without its rows, but for those that ``--get`` asks for."""
    tiers = case.grid.tiers()
    result = {"launches": len(case.grid), **_summary(case, tiers)}
    if any(path.partition(".")[0] == "sweep" for path in case.request.output.fields):
        if len(case.grid) > _MOST_HELD:
            raise BadInput(
                f"--get sweep: {len(case.grid):,} rows are more than {_MOST_HELD:,}.",
                hint="Use --format csv or ndjson, which print them as they come.",
            )
        result["sweep"] = list(_rows(case))
    return Answer(
        command="occupancy",
        device=device_block(case.choice.device),
        input=_input(case),
        result=result,
        blocks=lambda: _blocks(case, tiers),
        notes=case.choice.notes,
    )


def _input(case: GridCase) -> dict[str, Any]:
    given = echo(case.launch)
    swept = {key.value: None for key in case.keys if case.request.texts[key] is None}
    axes = [
        {"axis": key.value, "first": values[0], "last": values[-1], "values": len(values)}
        for key, (_, values) in zip(case.keys, case.grid.axes, strict=True)
    ]
    return {**given, **swept, "axes": axes}


def _summary(case: GridCase, tiers: Sequence[Tier]) -> dict[str, Any]:
    most = case.choice.device.limits.max_warps_per_sm
    return {
        "tiers": [
            {
                "warps_per_sm": tier.warps_per_sm,
                "occupancy": tier.warps_per_sm / most,
                "launches": tier.launches,
                "spans": {
                    key.value: list(span) for key, span in zip(case.keys, tier.spans, strict=True)
                },
            }
            for tier in tiers
        ],
        "roomiest": [_row(case, values) for values in _roomiest(tiers[0])],
    }


def _roomiest(fullest: Tier) -> list[tuple[int, ...]]:
    return list(dict.fromkeys(fullest.roomiest.values())) if fullest.warps_per_sm else []


def _row(case: GridCase, values: tuple[int, ...]) -> dict[str, Any]:
    resident = occupancy(case.grid.limits, case.grid.launch_of(values))
    return {
        **{key.value: value for key, value in zip(case.keys, values, strict=True)},
        **named_fields(resident, "blocks_per_sm warps_per_sm occupancy"),
        "limiters": [limiter.value for limiter in resident.limiters] if resident.launchable else [],
    }


def _rows(case: GridCase) -> Iterator[dict[str, Any]]:
    names = [key.value for key in case.keys]
    for piece in case.grid.pieces():
        for launch, code in zip(piece.launches(), piece.codes(), strict=True):
            yield {**dict(zip(names, launch, strict=True)), **_fields(case, code)}


def _fields(case: GridCase, code: int) -> dict[str, Any]:
    """Return the fields of a row behind its figures; no limiters where nothing can start."""
    figures = decoded(code)
    return {
        "blocks_per_sm": figures.blocks_per_sm,
        "warps_per_sm": figures.warps_per_sm,
        "occupancy": figures.warps_per_sm / case.grid.limits.max_warps_per_sm,
        "limiters": [limiter.value for limiter in figures.limiters],
    }


class _Ends(dict[int, str]):
    """The end of a row by its code: few differ, however many rows there are."""

    def __init__(self, write: Callable[[int], str]) -> None:
        self._write = write

    def __missing__(self, code: int) -> str:
        self[code] = end = self._write(code)
        return end


def _lines(case: GridCase, starts: Sequence[str], end: Callable[[int], str]) -> Iterator[str]:
    """Yield the rows as text, many at once: *starts* stand before the values, then *end*."""
    ends = _Ends(end)
    for piece in case.grid.pieces():
        *outer, (_, inner) = piece.axes
        last = [f"{starts[-1]}{value}" for value in inner]
        codes = piece.codes()
        heads = (
            "".join(f"{start}{value}" for start, value in zip(starts, values, strict=False))
            for values in product(*(values for _, values in outer))
        )
        for index, head in enumerate(heads):
            own = codes[index * len(last) : (index + 1) * len(last)]
            pairs = zip(last, own, strict=True)
            yield "".join([f"{head}{value}{ends[code]}" for value, code in pairs])


def _csv(case: GridCase) -> Iterator[str]:
    names = [key.value for key in case.keys]
    yield ",".join([*names, *_fields(case, 0)]) + "\n"
    starts = ["", *[","] * (len(names) - 1)]

    def end(code: int) -> str:
        return "".join(f",{cell(value)}" for value in _fields(case, code).values()) + "\n"

    yield from _lines(case, starts, end)


def _ndjson(case: GridCase) -> Iterator[str]:
    return _lines(
        case,
        [f"{'{' if not index else ','}{compact(key)}:" for index, key in enumerate(case.keys)],
        lambda code: f",{compact(_fields(case, code))[1:]}\n",
    )


def _json(case: GridCase) -> Iterator[str]:
    answer = _answer(case)
    empty = answer._replace(result={**answer.result, "sweep": []})
    before = f"{OBJECT_INDENT}{{{MEMBER_START}"
    starts = [
        f"{before if not index else ',' + MEMBER_START}{compact(key)}: "
        for index, key in enumerate(case.keys)
    ]

    def end(code: int) -> str:
        fields = (label(name) + indented(value) for name, value in _fields(case, code).items())
        parts = "".join(f",{MEMBER_START}{field}" for field in fields)
        return f"{parts}\n{OBJECT_INDENT}}},\n"

    texts = (text.removesuffix(",\n") for text in _lines(case, starts, end))
    yield from render_with(empty, "sweep", texts)


def _blocks(case: GridCase, tiers: Sequence[Tier]) -> list[Block]:
    limits = case.choice.device.limits
    start = Line(device_line(case.choice.device), Tone.FAINT)
    count, best = len(case.grid), tiers[0]
    if not best.warps_per_sm:
        return [start, Line(f"None of {plural(count, 'launch', 'launches')} can start.", Tone.BAD)]
    share = best.warps_per_sm / limits.max_warps_per_sm
    reached = plural(best.launches, "launch", "launches")
    impossible = sum(tier.launches for tier in tiers if not tier.warps_per_sm)
    cannot = f"; {impossible:,} cannot start" if impossible else ""
    return [
        start,
        Line(
            f"At best {show_share(share)} occupancy, in {reached} of {count:,}{cannot}.",
            Tone.GOOD if share >= ENOUGH else Tone.POOR,
        ),
        Line(""),
        *(_matrix(case) or [_tier_table(case, tiers), *_rest(tiers)]),
        *_room(case, best),
    ]


def _matrix(case: GridCase) -> list[Block]:
    """Return the occupancy over two short axes, the longer one downwards; nothing for others."""
    lengths = [len(values) for _, values in case.grid.axes]
    if len(lengths) != 2 or min(lengths) > _MOST_ACROSS or max(lengths) > _MOST_DOWN:
        return []
    down, across = (0, 1) if lengths[1] <= _MOST_ACROSS else (1, 0)
    names = [key.value for key in case.keys]
    rows = {(row[names[down]], row[names[across]]): row for row in _rows(case)}
    heads = case.grid.axes[across][1]
    table = Table(
        (
            Column(_TITLES[case.keys[down]], right=True),
            *(Column(_shown(case.keys[across], head), right=True) for head in heads),
        ),
        tuple(
            (
                Cell(_shown(case.keys[down], value)),
                *(_share(rows[value, head]) for head in heads),
            )
            for value in case.grid.axes[down][1]
        ),
    )
    first, second = (_TITLES[case.keys[place]].lower() for place in (down, across))
    return [Line(f"Occupancy in %: {first} down, {second} across."), table]


def _share(row: Mapping[str, Any]) -> Cell:
    if not row["blocks_per_sm"]:
        return Cell("-", Tone.BAD)
    occupancy: float = row["occupancy"]
    shown = show_share(occupancy).removesuffix(" %")
    return Cell(shown, Tone.GOOD if occupancy >= ENOUGH else Tone.POOR)


def _tier_table(case: GridCase, tiers: Sequence[Tier]) -> Table:
    most = case.choice.device.limits.max_warps_per_sm
    return Table(
        header(
            ">Occupancy",
            ">Warps",
            ">Launches",
            *(Column(_TITLES[key], right=True) for key in case.keys),
        ),
        tuple(
            (
                Cell(show_share(tier.warps_per_sm / most)),
                Cell(str(tier.warps_per_sm)),
                Cell(f"{tier.launches:,}"),
                *(
                    Cell(" to ".join(dict.fromkeys(_shown(key, end) for end in span)))
                    for key, span in zip(case.keys, tier.spans, strict=True)
                ),
            )
            for tier in tiers[:_MOST_TIERS]
        ),
    )


def _shown(key: Axis, value: int) -> str:
    return exact_bytes(value) if key is Axis.SMEM else f"{value:,}"


def _rest(tiers: Sequence[Tier]) -> Iterator[Line]:
    more = len(tiers) - _MOST_TIERS
    if more > 0:
        yield Line(f"{plural(more, 'lower occupancy', 'lower occupancies')} not shown.", Tone.FAINT)
    yield Line(
        "A range is what occurs at that occupancy; not every combination in it has it. "
        "--format csv has every launch.",
        Tone.FAINT,
    )


def _room(case: GridCase, best: Tier) -> list[Block]:
    """Return the launches of the best occupancy that leave the kernel most."""
    launches = _roomiest(best)
    if not launches:
        return []
    rows = [_row(case, values) for values in launches]
    table = Table(
        header(*(Column(_TITLES[key], right=True) for key in case.keys), ">Blocks", "Limited by"),
        tuple(
            (
                *(Cell(_shown(key, row[key.value])) for key in case.keys),
                Cell(str(row["blocks_per_sm"])),
                Cell(and_list([NOUNS[Resource(limiter)] for limiter in row["limiters"]])),
            )
            for row in rows
        ),
    )
    return [Heading("Most room for the kernel at the best occupancy"), table]
