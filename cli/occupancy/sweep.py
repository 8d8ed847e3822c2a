"""``--sweep WHAT``: one figure of a kernel varied, all others as given."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuadvise.advisor.catalogue import known_capabilities, limits_of
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.record import record
from gpuadvise.advisor.occupancy.sweep import KIB, Axis, Point, stairs, swept, value_of
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.advisor.quantity import show_bytes, show_share
from gpuadvise.advisor.values import LARGEST_LAUNCH, whole
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Cell, Column, Drawing, Line, Table, Tone, header
from gpuadvise.cli.devices import device_block, device_line
from gpuadvise.cli.formats import Format
from gpuadvise.cli.occupancy.request import echo, flat, question
from gpuadvise.cli.occupancy.text import NOUNS, impossible, tone
from gpuadvise.cli.options import OPTIONS, flag, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.launch import Launch
    from gpuadvise.cli.occupancy.command import OccupancyRequest
    from gpuadvise.cli.render.svg import Picture


_SPELLED = {**{axis.value: axis for axis in Axis}, "smem": Axis.SMEM}
TITLES = {
    Axis.BLOCK: "Threads per block",
    Axis.REGS: "Registers per thread",
    Axis.SMEM: "Dynamic shared memory, bytes",
    Axis.BARRIERS: "Named barriers",
}
_READ = {Axis.BLOCK: whole(1, LARGEST_LAUNCH)}  # others as their option reads them
_STEP = {Axis.BLOCK: 32, Axis.REGS: 1, Axis.SMEM: KIB, Axis.BARRIERS: 1}
# Values of one axis; more are a slip of the keyboard.
_MOST_VALUES = 1_000_000


class SweptAxis(NamedTuple):
    """An axis, and its values as the user gave them, rising; None: all that matter."""

    axis: Axis
    values: Sequence[int] | None = None


def sweep_axes(texts: Iterable[str]) -> list[SweptAxis]:
    """Return what each ``--sweep`` asks for; raises BadInput."""
    axes: dict[Axis, SweptAxis] = {}
    for text in texts:
        what, given, values = text.partition("=")
        by = _SPELLED.get(what.strip().lower().replace("-", "_"))
        if by is None:
            raise BadInput(
                f"--sweep: {quoted(what)} cannot be swept.",
                hint="It takes block, regs, smem or barriers, one --sweep for each; with values as in "
                "regs=32:128:8.",
            )
        if by in axes:
            raise BadInput(f"--sweep: {what.strip()} is swept twice.")
        axes[by] = SweptAxis(by, _values(by, values) if given else None)
    return list(axes.values())


def _values(by: Axis, text: str) -> Sequence[int]:
    """Return the values of ``32:1024:32`` or ``64,128,256``; raises BadInput."""
    spans = [_span(by, part) for part in text.split(",")]
    if sum(map(len, spans)) > _MOST_VALUES:
        raise BadInput(
            f"--sweep: {by}={quoted(text)} is more than {_MOST_VALUES:,} values.",
            hint="Give a larger step.",
        )
    return spans[0] if len(spans) == 1 else sorted(set(chain(*spans)))


def _span(by: Axis, text: str) -> range:
    label = f"--sweep {by}"
    read = _READ.get(by, OPTIONS[by.value].read)
    bounds = [named(label, read, part) for part in text.split(":")[:4]]
    if len(bounds) > 3:
        raise BadInput(f"{label}: {quoted(text)} is not LOW:HIGH:STEP.", hint=_SPANS)
    low, high = bounds[0], bounds[min(1, len(bounds) - 1)]
    usual = _STEP[by] if low % _STEP[by] == 0 else 1
    step = bounds[2] if len(bounds) > 2 else usual
    if high < low or not step:
        why = "has a step of 0" if not step else "ends before it begins"
        raise BadInput(f"{label}: {quoted(text)} {why}.", hint=_SPANS)
    return range(low, high + 1, step)


_SPANS = "Write a list as 64,128,256 or a range as 32:1024:32; its last value counts."


def rows(points: Iterable[Point], by: Axis) -> list[dict[str, Any]]:
    """Return the points as JSON."""
    return [{by.value: point.value, **record(point.occupancy)} for point in points]


_ANSWER = header(">Blocks", ">Warps", ">Occupancy", "Limited by")


def curve(
    device: Device, points: Sequence[Point], by: Axis, current: int | None, *, edges: bool = True
) -> list[Block]:
    """Return the steps of the staircase, the *current* one marked; a sentence where none can start."""
    title = Line(f"{TITLES[by]} on {device_line(device)}", Tone.STRONG)
    faults = {point.occupancy.fault for point in points}
    if len(faults) == 1 and (fault := faults.pop()):
        return [title, Line(impossible(fault), Tone.BAD)]
    table = Table(
        (Column(TITLES[by], right=True), *_ANSWER),
        tuple(_run(*run, current) for run in stairs(points, by, edges=edges)),
    )
    return [title, table]


def capabilities(occupancies: Sequence[tuple[Capability, Occupancy]]) -> list[Block]:
    """Return one line per compute capability."""
    rows = tuple((Cell(str(capability)), *_cells(answer)) for capability, answer in occupancies)
    table = Table((Column("Capability", right=True), *_ANSWER), rows)
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
    ((by, values),) = sweep_axes(request.sweep or ())
    given = request.texts[by] is not None
    texts = request.texts if given else {**request.texts, by.value: "1"}
    launch = question(texts, flag)
    choice = request.gpu.choice()
    points = swept(choice.device.limits, launch.launch, by, values)
    table = rows(points, by)

    own = value_of(launch.launch, by) if given else None
    if request.plot is not None:
        from gpuadvise.cli.render.picture import save

        title = f"{TITLES[by]} on {choice.device.name}"
        save(
            request.plot,
            title,
            lambda axes: draw(axes, points, by, own),
            lambda: staircase(points, by, own),
        )

    def blocks() -> Sequence[Block]:
        drawn = curve(choice.device, points, by, own, edges=values is None)
        if not request.show or all(point.occupancy.fault for point in points):
            return drawn
        return [drawn[0], Drawing(lambda columns: bars(points, by, own, columns))]

    return Answer(
        command="occupancy",
        device=device_block(choice.device),
        input={**echo(launch), by.value: None if not given else echo(launch)[by], "sweep": by},
        result={"sweep": table},
        blocks=blocks,
        rows=[flat(row) for row in table] if request.format == Format.CSV else table,
        notes=choice.notes,
        pictures=lambda: [staircase(points, by, own)],
    )


_WIDEST = 120
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bars(points: Sequence[Point], by: Axis, current: int | None, columns: int) -> str:
    """Return a bar of occupancy for each run of points, *columns* wide; the *current* is marked."""
    runs = stairs(points, by, edges=by is Axis.SMEM)
    labels = [
        f"{first:,}" if first == last else f"{first:,} to {last:,}" for first, last, _ in runs
    ]
    width = max(map(len, labels))
    room = max(10, min(columns, _WIDEST) - width - len(">   99.9 % "))
    rows = []
    for label, (first, last, answer) in zip(labels, runs, strict=True):
        here = current is not None and first <= current <= last
        share = show_share(answer.occupancy)
        whole, eighth = divmod(round(answer.occupancy * room * 8), 8)
        bar = "impossible" if answer.fault else "█" * whole + _EIGHTHS[eighth].strip()
        rows.append(f"{'>' if here else ' '} {label:>{width}} {share:>6} {bar}")
    if current is not None:
        rows.append(f"> this launch: {current:,}")
    return "\n".join(rows)


def draw(axes: Axes, points: Sequence[Point], by: Axis, current: int | None) -> None:
    """Draw occupancy in per cent over the axis as a staircase; the *current* value is marked."""
    values = [point.value for point in points]
    shares = [100 * point.occupancy.occupancy for point in points]
    if by is Axis.SMEM:
        axes.step(values, shares, where="pre")
    else:  # block sizes and registers are whole: nothing lies between two of them
        axes.bar(values, shares, width=0.8 * (values[1] - values[0] if len(values) > 1 else 1))
    if current is not None:
        axes.axvline(current, color="C3", label=f"this launch: {current:,}")
        axes.legend()
    axes.set(xlabel=TITLES[by], ylabel="Occupancy, %", ylim=(0, 100))


def curves(limits: Limits, launch: Launch) -> list[Picture]:
    """Return occupancy over block size, registers and shared memory, with *launch* marked on each."""
    return [
        staircase(swept(limits, launch, by), by, value_of(launch, by))
        for by in (Axis.BLOCK, Axis.REGS, Axis.SMEM)
    ]


_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 460, 12, 190  # of a staircase, in pixels
_MARKS, _MARKS_ACROSS = 4, 5


def staircase(points: Sequence[Point], by: Axis, current: int | None) -> Picture:
    """Return a picture of occupancy over the axis; the *current* value is marked."""
    from gpuadvise.cli.render import svg

    last = max(points[-1].value, current or 0, 1)
    across, up = svg.Scale(0, last, _LEFT, _RIGHT), svg.Scale(0, 1, _BOTTOM, _TOP)
    step = 2 ** math.ceil(math.log2(max(1.0, last / _MARKS_ACROSS)))
    label = show_bytes if by is Axis.SMEM else "{:,}".format
    marks_across = [(at, label(at)) for at in range(0, last + 1, step)]
    marks_up = [(at / _MARKS, f"{100 * at // _MARKS} %") for at in range(_MARKS + 1)]
    marks = [svg.axes(across, up, marks_across, marks_up, TITLES[by])]
    before = 0
    for first, end, answer in stairs(points, by):
        y = up.at(answer.occupancy)
        # Block sizes and registers are whole: a step reaches from behind the value before it.
        x = across.at(first if by is Axis.SMEM else before)
        marks.append(svg.box(x, y, across.at(end) - x, _BOTTOM - y, "c0"))
        before = end
    best = max(points, key=lambda point: point.occupancy.occupancy)
    described = f"At most {show_share(best.occupancy.occupancy)}, first at {best.value:,}."
    if current is not None:
        x = across.at(current)
        marks.append(svg.path([(x, _TOP), (x, _BOTTOM)], "mark"))
        right = x > (_LEFT + _RIGHT) / 2
        side = "end" if right else "start"
        # Under the marks of the axis, where no step hides it.
        marks.append(svg.words(x, _BOTTOM + 54, f"this launch: {current:,}", anchor=side))
        described += f" This launch: {current:,}."
    return svg.Picture(f"Occupancy by {_LABELS[by]}", described, _BOTTOM + 62, "".join(marks))


_LABELS = {
    Axis.BLOCK: "block size",
    Axis.REGS: "registers",
    Axis.SMEM: "shared memory",
    Axis.BARRIERS: "barriers",
}


def all_cc_answer(request: OccupancyRequest) -> Answer:
    """Return the answer, oldest capability first; raises BadInput."""
    launched = question(request.texts, flag)
    answers = [(cc, occupancy(limits_of(cc)[0], launched.launch)) for cc in known_capabilities()]
    table = [{"compute_capability": str(cc), **record(resident)} for cc, resident in answers]
    code, notes = request.verdict([resident for _, resident in answers])
    return Answer(
        command="occupancy",
        device=None,
        input=echo(launched),
        result={"sweep": table},
        blocks=lambda: capabilities(answers),
        rows=[flat(row) for row in table] if request.format == Format.CSV else table,
        failed=notes,
        exit=code,
    )
