"""The result and the text of ``gpuadvise roofline``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import plain
from gpuadvise.advisor.peaks import all_peaks
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_flops, show_number, show_rate, show_seconds, show_share
from gpuadvise.advisor.roofline import Bound, ridge_point
from gpuadvise.cli.blocks import (
    Block,
    Cell,
    Column,
    Fact,
    Heading,
    LabelledFacts,
    Line,
    Table,
    Tone,
    header,
)
from gpuadvise.cli.devices import device_line, source_words
from gpuadvise.cli.render.kernel_names import fitted, room

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.roofline_placement import Placed

_MOST_LISTED = 20
# From here on a share is told in times, as ``bandwidth`` does.
_TIMES = 10
_IMPOSSIBLE = (
    "More than the roof: operations counted twice, bytes served by a cache, another unit than "
    "assumed, or a time without synchronisation."
)


def result(device: Device, kernels: Sequence[Placed]) -> dict[str, Any]:
    """Return the ``result``: the first kernel's fields, all kernels, every ridge."""
    rate = kernels[0].roofline.bandwidth
    return {
        **row(kernels[0]),
        "moves": [plain(move) for move in kernels[0].moves],
        "kernels": [row(kernel) for kernel in kernels],
        "ridges": [
            {"unit": unit.key, "peak": unit.rate, "ridge_point": ridge_point(unit.rate, rate)}
            for unit in all_peaks(device)
        ],
    }


def row(kernel: Placed) -> dict[str, Any]:
    """Return one kernel for JSON and CSV."""
    position, work = kernel.roofline, kernel.workload
    return {
        "kernel": work.name,
        "arithmetic_intensity": position.intensity,
        "ridge_point": position.ridge,
        "attainable": position.attainable,
        "bound": str(position.bound),
        "achieved": position.achieved,
        "share": position.share,
        "least_seconds": position.least_seconds,
        "peak": position.peak,
        "unit": kernel.unit.key,
        "bandwidth": position.bandwidth,
        "flops": work.flops,
        "bytes": work.bytes,
        "seconds": work.seconds,
    }


def rows(kernels: Sequence[Placed]) -> list[Mapping[str, Any]]:
    """Return one row per kernel."""
    return [row(kernel) for kernel in kernels]


def blocks(device: Device, kernels: Sequence[Placed], *, typed: bool = False) -> list[Block]:
    """Return what a person reads; where both roofs are *typed*, those of the device are not the matter."""
    page: list[Block] = [Line(_verdict(kernels), Tone.STRONG), Line(device_line(device))]
    if len(kernels) > 1:
        return [*page, *_many(kernels)]
    kernel = kernels[0]
    page.append(LabelledFacts(tuple(_facts(kernel))))
    if kernel.roofline.far:
        page.append(Line("Below half of its roof: latency, occupancy or too little work limits."))
    if kernel.roofline.impossible:
        page.append(Line(_IMPOSSIBLE, Tone.BAD))
    if kernel.moves and not kernel.roofline.impossible:
        page += [Heading("What would move it"), _moves(kernel)]
    if typed:
        return page
    return [*page, Heading("Ridge points"), _ridges(device, kernel.roofline.bandwidth)]


def _verdict(kernels: Sequence[Placed]) -> str:
    """Return which roof it is and what it allows; of several kernels how many are under which."""
    if len(kernels) > 1:
        bounds = [kernel.roofline.bound for kernel in kernels]
        counts = [f"{bounds.count(bound):,} {bound}-bound" for bound in Bound if bound in bounds]
        far = sum(kernel.roofline.far for kernel in kernels)
        below = f"; {far:,} below half of the roof" if far else ""
        faster = sum(kernel.roofline.impossible for kernel in kernels)
        if faster:
            below += f"; {faster:,} above the roof, which is impossible"
        return f"{plural(len(kernels), 'kernel')}: {and_list(counts)}{below}."
    position, unit = kernels[0].roofline, kernels[0].unit.key
    peak = f"the {unit} peak"
    if position.bound is Bound.MEMORY:
        peak = f"{show_share(position.attainable / position.peak)} of {peak}"
    if position.impossible and position.share is not None:
        share = f"{show_share(position.share)} of"
        if position.share > _TIMES:
            share = f"{show_number(position.share)} times"
        return (
            f"Impossible: {share} the most that {unit} and this memory allow. The operations, the "
            "bytes, the time or the GPU are not those."
        )
    reached = "" if position.share is None else f" {show_share(position.share)} of that is reached."
    bound = str(position.bound).capitalize()
    return f"{bound}-bound: at most {show_flops(position.attainable)}, {peak}.{reached}"


def _many(kernels: Sequence[Placed]) -> list[Block]:
    """Return a table of the kernels, of very many those that take longest."""
    if len(kernels) <= _MOST_LISTED:
        return [_kernels(kernels)]
    slowest = sorted(kernels, key=lambda kernel: kernel.workload.seconds or 0, reverse=True)
    left = len(kernels) - _MOST_LISTED
    return [
        _kernels(slowest[:_MOST_LISTED]),
        Line(f"The slowest {_MOST_LISTED}, slowest first; {left:,} more are in --format csv."),
    ]


def _facts(kernel: Placed) -> Iterator[Fact]:
    position = kernel.roofline
    ridge = f"ridge at {_number(position.ridge)}"
    yield Fact("intensity", Cell(f"{_number(position.intensity)} FLOP/B"), ridge)
    yield Fact("bound", Cell(str(position.bound), Tone.STRONG))
    peak = Cell(show_flops(position.peak))
    yield Fact("peak", peak, f"{kernel.unit.key}; {source_words(kernel.unit.source)}")
    roof = show_rate(position.bandwidth) if position.bound is Bound.MEMORY else kernel.unit.key
    yield Fact(
        "attainable",
        Cell(show_flops(position.attainable)),
        f"under {roof}; at least {show_seconds(position.least_seconds)}",
    )
    if position.achieved is not None and position.share is not None:
        tone = Tone.BAD if position.impossible else Tone.POOR if position.far else Tone.GOOD
        yield Fact("achieved", Cell(show_flops(position.achieved)))
        yield Fact("share", Cell(show_share(position.share), tone), "of the roof")


def _moves(kernel: Placed) -> Table:
    columns = header("change", ">FLOP/B", ">at most", Column("", prose=True))
    rows = tuple(
        (Cell(m.name), Cell(_number(m.intensity)), Cell(f"{show_number(m.gain)}x"), Cell(m.how))
        for m in kernel.moves
    )
    return Table(columns, rows)


def _ridges(device: Device, rate: float) -> Table:
    columns = header("unit", ">peak", ">ridge, FLOP/B")
    rows = tuple(
        (Cell(u.key), Cell(show_flops(u.rate)), Cell(_number(ridge_point(u.rate, rate))))
        for u in all_peaks(device)
    )
    return Table(columns, rows)


def _kernels(kernels: Sequence[Placed]) -> Table:
    titles = ("bound", ">FLOP/B", ">attainable", ">achieved", ">of the roof")
    columns = header(Column("kernel", below=True), *titles)
    rows = [_kernel(kernel, "") for kernel in kernels]
    whole = [kernel.workload.name or "" for kernel in kernels]
    names = fitted(whole, room(columns, rows))
    return Table(columns, tuple(map(_kernel, kernels, names)))


def _kernel(kernel: Placed, name: str) -> tuple[Cell, ...]:
    position = kernel.roofline
    tone = Tone.BAD if position.impossible else Tone.POOR if position.far else Tone.PLAIN
    return (
        Cell(name),
        Cell(str(position.bound)),
        Cell(_number(position.intensity)),
        Cell(show_flops(position.attainable)),
        Cell("" if position.achieved is None else show_flops(position.achieved)),
        Cell("" if position.share is None else show_share(position.share), tone),
    )


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
