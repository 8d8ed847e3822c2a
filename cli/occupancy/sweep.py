"""``--sweep block|regs|smem``: one figure of a kernel varied, all others as given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, assert_never

from gpuadvise.advisor.catalogue import known_capabilities, limits_of
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.occupancy.budget import dynamic_shared_budget
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.record import record
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.advisor.quantity import show_share
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Cell, Column, Drawing, Line, Table, Tone
from gpuadvise.cli.devices import device_block, device_line
from gpuadvise.cli.formats import Format
from gpuadvise.cli.occupancy.answer import echo, flat
from gpuadvise.cli.occupancy.request import question
from gpuadvise.cli.occupancy.text import NOUNS, tone
from gpuadvise.cli.options import flag

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from matplotlib.axes import Axes

    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.launch import Launch
    from gpuadvise.cli.occupancy.request import OccupancyRequest


_KIB = 1024


class Axis(StrEnum):
    """What a sweep varies; the value is the key of the option and of the row's first column."""

    BLOCK = "block"
    REGS = "regs"
    SMEM = "dynamic_smem"


_SPELLED = {"block": Axis.BLOCK, "regs": Axis.REGS, "smem": Axis.SMEM, "dynamic_smem": Axis.SMEM}
TITLES = {
    Axis.BLOCK: "Threads per block",
    Axis.REGS: "Registers per thread",
    Axis.SMEM: "Dynamic shared memory, bytes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The answer at one value of the axis."""

    value: int
    occupancy: Occupancy


def axis(text: str) -> Axis:
    """Return the axis that ``--sweep`` names; raises BadInput."""
    found = _SPELLED.get(text.strip().lower())
    if found is None:
        raise BadInput(f"--sweep: {quoted(text)} cannot be swept.", hint="Use block, regs or smem.")
    return found


def swept(limits: Limits, launch: Launch, by: Axis) -> tuple[Point, ...]:
    """Return the answer at every value of *by* that makes a difference, the smallest first.

    Block sizes are whole warps. Shared memory is in steps of 1 KiB and at the exact sizes
    where a block is lost.
    """
    match by:
        case Axis.BLOCK:
            sizes = range(limits.warp_size, limits.max_threads_per_block + 1, limits.warp_size)
            launches = [(n, replace(launch, threads=n, block_dim=None)) for n in sizes]
        case Axis.REGS:
            counts = range(1, limits.max_registers_per_thread + 1)
            launches = [(n, replace(launch, registers=n)) for n in counts]
        case Axis.SMEM:
            sizes_in_bytes = sorted(_shared_sizes(limits, launch))
            launches = [(n, replace(launch, dynamic_shared=n)) for n in sizes_in_bytes]
        case other:
            assert_never(other)
    return tuple(Point(value=n, occupancy=occupancy(limits, launch)) for n, launch in launches)


def rows(points: Iterable[Point], by: Axis) -> list[dict[str, Any]]:
    """Return the points as JSON."""
    return [{by.value: point.value, **record(point.occupancy)} for point in points]


def stairs(points: Iterable[Point], by: Axis) -> list[tuple[int, int, Occupancy]]:
    """Return runs of points with one answer: first and last value, and the first's answer.

    A run of bytes begins right behind the last, for a block is lost there and not at the KiB.
    """
    runs: list[tuple[int, int, Occupancy]] = []
    for point in points:
        if runs and _same(runs[-1][2], point.occupancy, by):
            runs[-1] = (runs[-1][0], point.value, runs[-1][2])
        else:
            first = runs[-1][1] + 1 if runs and by is Axis.SMEM else point.value
            runs.append((first, point.value, point.occupancy))
    return runs


def _shared_sizes(limits: Limits, launch: Launch) -> Iterator[int]:
    optin = limits.shared_memory_per_block_optin if launch.optin else 0
    most = max(limits.shared_memory_per_block, optin) - launch.static_shared
    yield from range(0, most + 1, _KIB)
    for blocks in range(1, limits.max_blocks_per_sm + 1):
        edge = dynamic_shared_budget(limits, launch, blocks)
        if edge is not None:
            yield edge


def _same(first: Occupancy, second: Occupancy, by: Axis) -> bool:
    # Where a second limiter joins is exact in warps and registers only.
    limited = by is Axis.SMEM or first.limiters == second.limiters
    return (
        first.warps_per_sm == second.warps_per_sm
        and limited
        and bool(first.fault) == bool(second.fault)
    )


_ANSWER = (
    Column("Blocks", right=True),
    Column("Warps", right=True),
    Column("Occupancy", right=True),
    Column("Limited by"),
)


def curve(device: Device, points: Sequence[Point], by: Axis, current: int | None) -> list[Block]:
    """Return the steps of the staircase; the step of the *current* value is marked."""
    table = Table(
        columns=(Column(TITLES[by], right=True), *_ANSWER),
        rows=tuple(_run(*run, current) for run in stairs(points, by)),
    )
    return [Line(f"{TITLES[by]} on {device_line(device)}", Tone.STRONG), table]


def capabilities(occupancies: Sequence[tuple[Capability, Occupancy]]) -> list[Block]:
    """Return one line per compute capability."""
    rows = tuple((Cell(str(capability)), *_cells(answer)) for capability, answer in occupancies)
    table = Table(columns=(Column("Capability", right=True), *_ANSWER), rows=rows)
    return [Line("This launch on every compute capability", Tone.STRONG), table]


def _run(first: int, last: int, occupancy: Occupancy, current: int | None) -> tuple[Cell, ...]:
    here = current is not None and first <= current <= last
    values = f"{first:,}" if first == last else f"{first:,} to {last:,}"
    label = Cell(f"> {values}", Tone.STRONG) if here else Cell(values)
    return (label, *_cells(occupancy))


def _cells(occupancy: Occupancy) -> tuple[Cell, ...]:
    if occupancy.fault:
        cause = occupancy.fault.cause.replace("_", " ")
        return Cell("0"), Cell("0"), Cell("-", Tone.BAD), Cell(f"impossible: {cause}", Tone.BAD)
    limiters = and_list([NOUNS[resource] for resource in occupancy.limiters])
    return (
        Cell(str(occupancy.blocks_per_sm)),
        Cell(str(occupancy.warps_per_sm)),
        Cell(show_share(occupancy.occupancy), tone(occupancy)),
        Cell(limiters),
    )


def sweep_answer(request: OccupancyRequest) -> Answer:
    """Return the answer; the swept option need not be given. Raises BadInput or Unavailable."""
    by = axis(request.sweep or "")
    given = request.texts[by] is not None
    texts = request.texts if given else {**request.texts, by.value: "1"}
    launch = question(texts, flag)
    choice = request.choice()
    points = swept(choice.device.limits, launch.launch, by)
    table = rows(points, by)

    own = _value(launch.launch, by) if given else None
    if request.plot is not None:
        from gpuadvise.cli.render.picture import save

        title = f"{TITLES[by]} on {choice.device.name}"
        save(request.plot, title, lambda axes: draw(axes, points, by, own))

    def blocks() -> Sequence[Block]:
        drawn = curve(choice.device, points, by, own)
        if not request.show:
            return drawn
        from shutil import get_terminal_size

        return [drawn[0], chart(points, by, get_terminal_size().columns)]

    return Answer(
        command="occupancy",
        device=device_block(choice.device),
        input={**echo(launch), by.value: None if not given else echo(launch)[by], "sweep": by},
        result={"sweep": table},
        blocks=blocks,
        rows=[flat(row) for row in table] if request.output.format == Format.CSV else table,
        notes=choice.notes,
    )


def _value(launch: Launch, by: Axis) -> int:
    match by:
        case Axis.BLOCK:
            return launch.threads
        case Axis.REGS:
            return launch.registers or 0
        case Axis.SMEM:
            return launch.dynamic_shared


_HEIGHT = 17
_WIDEST = 120
_STEPS = 4  # of the axis


def chart(points: Sequence[Point], by: Axis, width: int) -> Drawing:
    """Return occupancy in per cent over the axis, *width* columns wide; raises Unavailable."""
    try:
        import plotext
    except ImportError:
        raise Unavailable(
            "--show needs the package plotext, which is not installed.",
            hint="Install it with: pip install plotext.",
        ) from None
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(min(width, _WIDEST), _HEIGHT)
    plotext.plot(
        [point.value for point in points],
        [100 * point.occupancy.occupancy for point in points],
        marker="braille",
    )
    plotext.ylim(0, 100)
    plotext.yticks([0, 25, 50, 75, 100])
    ticks = [points[place * (len(points) - 1) // _STEPS].value for place in range(_STEPS + 1)]
    plotext.xticks(ticks, [f"{tick:,}" for tick in ticks])
    plotext.title("Occupancy, %")
    plotext.xlabel(TITLES[by])
    return Drawing(plotext.uncolorize(plotext.build()).rstrip("\n"))


def draw(axes: Axes, points: Sequence[Point], by: Axis, current: int | None) -> None:
    """Draw occupancy in per cent over the axis as a staircase; the *current* value is marked."""
    values = [point.value for point in points]
    shares = [100 * point.occupancy.occupancy for point in points]
    if by is Axis.SMEM:
        axes.step(values, shares, where="pre")
    else:  # block sizes and registers are whole: nothing lies between two of them
        axes.bar(values, shares, width=0.8 * (values[1] - values[0]))
    if current is not None:
        axes.axvline(current, color="C3", label=f"this launch: {current:,}")
        axes.legend()
    axes.set(xlabel=TITLES[by], ylabel="Occupancy, %", ylim=(0, 100))


def all_cc_answer(request: OccupancyRequest) -> Answer:
    """Return the answer, oldest capability first; raises BadInput."""
    launch = question(request.texts, flag)
    found = [(cc, occupancy(limits_of(cc)[0], launch.launch)) for cc in known_capabilities()]
    table = [{"compute_capability": str(cc), **record(launch)} for cc, launch in found]
    code, notes = request.verdict([launch for _, launch in found])
    return Answer(
        command="occupancy",
        device=None,
        input=echo(launch),
        result={"sweep": table},
        blocks=lambda: capabilities(found),
        rows=[flat(row) for row in table] if request.output.format == Format.CSV else table,
        failed=notes,
        exit=code,
    )
