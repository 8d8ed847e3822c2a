"""The result and the text of ``gpuadvise roofline``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import named_fields, plain
from gpuadvise.advisor.peaks import all_peaks
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_flops, show_number, show_rate, show_seconds, show_share
from gpuadvise.advisor.roofline import Bound, Roofline, ridge_point
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
    known,
    table,
)
from gpuadvise.cli.devices import device_line, source_words
from gpuadvise.cli.render.kernel_names import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    return named_fields(kernel, _FIELDS)


_FIELDS = (
    "kernel=workload.name arithmetic_intensity=roofline.intensity ridge_point=roofline.ridge "
    "attainable=roofline.attainable bound=roofline.bound achieved=roofline.achieved "
    "share=roofline.share least_seconds=roofline.least_seconds peak=roofline.peak unit=unit.key "
    "bandwidth=roofline.bandwidth flops=workload.flops bytes=workload.bytes seconds=workload.seconds"
)


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
    told = f"The slowest {_MOST_LISTED}, slowest first; {left:,} more are in --format csv."
    return [_kernels(slowest[:_MOST_LISTED]), Line(told)]


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
    return table(
        kernel.moves,
        ("change", lambda move: move.name),
        (">FLOP/B", lambda move: _number(move.intensity)),
        (">at most", lambda move: f"{show_number(move.gain)}x"),
        (Column("", prose=True), lambda move: move.how),
    )


def _ridges(device: Device, rate: float) -> Table:
    return table(
        all_peaks(device),
        ("unit", lambda unit: unit.key),
        (">peak", lambda unit: show_flops(unit.rate)),
        (">ridge, FLOP/B", lambda unit: _number(ridge_point(unit.rate, rate))),
    )


def _kernels(kernels: Sequence[Placed]) -> Table:
    def share(roofline: Roofline) -> Cell:
        tone = Tone.BAD if roofline.impossible else Tone.POOR if roofline.far else Tone.PLAIN
        return Cell(known(roofline.share, show_share, ""), tone)

    whole = table(
        [kernel.roofline for kernel in kernels],
        (Column("kernel", below=True), lambda _: ""),
        ("bound", lambda roofline: str(roofline.bound)),
        (">FLOP/B", lambda roofline: _number(roofline.intensity)),
        (">attainable", lambda roofline: show_flops(roofline.attainable)),
        (">achieved", lambda roofline: known(roofline.achieved, show_flops, "")),
        (">of the roof", share),
    )
    return named(whole, [kernel.workload.name or "" for kernel in kernels])


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
