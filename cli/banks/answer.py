"""The result and the text of ``gpuadvise banks``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.memory.banks import Conflicts, bank_count, bank_of
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.cli.access.warp import shown_lanes
from gpuadvise.cli.blocks import Block, Cell, Drawing, Fact, Heading, LabelledFacts, Line, Tone
from gpuadvise.cli.devices import device_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.memory.layouts import SharedTile, Swizzle
    from gpuadvise.advisor.memory.pattern import Pattern
    from gpuadvise.cli.render.svg import Picture


FREE, SERVED, CONFLICT = ".", "#", "X"


def picture(
    pattern: Pattern, conflicts: Conflicts, capability: Capability, *, wide: bool = False
) -> str:
    """Return a row per lane: the banks its first instruction visits, marked in a conflict.

    A bank is marked when more words of it are wanted in the same phase than one pass gives.
    """
    count = bank_count(capability)
    visits = [_visits(start, conflicts.width, capability, wide=wide) for start in pattern.starts]
    crowded = _crowded(pattern, visits, conflicts.lanes_per_phase)
    ruler = "".join(f"{bank:<4}" for bank in range(0, count, 4)).rstrip()
    drawn = [f"{'bank':>7}  {ruler}"]
    for lane, seen in zip(pattern.lanes, visits, strict=True):
        phase = lane // conflicts.lanes_per_phase
        banks = {bank for bank, _ in seen}
        marks = (
            FREE if bank not in banks else CONFLICT if (phase, bank) in crowded else SERVED
            for bank in range(count)
        )
        drawn.append(f"lane {lane:>2}  {''.join(marks)}")
    drawn.append(f"{SERVED} served in one pass  {CONFLICT} waits for other words of the bank")
    return "\n".join(drawn)


def _visits(start: int, width: int, capability: Capability, *, wide: bool) -> set[tuple[int, int]]:
    """Return the banks, and the row of each, that *width* bytes at *start* lie in."""
    row = bank_count(capability) * (8 if capability.major == 3 else 4)
    return {
        (bank_of(byte, capability, eight_byte_banks=wide), byte // row)
        for byte in range(start, start + width)
    }


def _crowded(
    pattern: Pattern, visits: list[set[tuple[int, int]]], group: int
) -> set[tuple[int, int]]:
    """Return (phase, bank) of which two rows or more are wanted."""
    wanted = {
        (lane // group, bank, row)
        for lane, seen in zip(pattern.lanes, visits, strict=True)
        for bank, row in seen
    }
    rows = Counter((phase, bank) for phase, bank, _ in wanted)
    return {place for place, number in rows.items() if number > 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class BanksCase:
    """One access to shared memory and what would end its conflicts.

    ``padding`` counts elements added to each row of the bare layout; None where none helps or
    the indices have no rows. *tile* is None for a stride or indices.
    """

    device: Device
    pattern: Pattern
    conflicts: Conflicts
    padding: int | None
    swizzle: Swizzle | None
    tile: SharedTile | None = None
    wide_banks: bool = False
    listed: bool = False  # by indices
    show: bool = False


def result(case: BanksCase) -> dict[str, Any]:
    """Return the ``result`` of the JSON document."""
    conflicts, swizzle = case.conflicts, case.swizzle
    return {
        "degree": conflicts.degree,
        "suggested_padding": case.padding,
        "swizzle": swizzle and {"expression": str(swizzle), **named_fields(swizzle, "mask shift")},
        **named_fields(conflicts, "wavefronts ideal_wavefronts"),
        "slowdown": conflicts.wavefronts / conflicts.ideal_wavefronts,
        **named_fields(conflicts, "instructions width lanes_per_phase busiest_banks"),
        "tile_bytes": case.tile and case.tile.bytes,
    }


def blocks(case: BanksCase) -> list[Block]:
    """Return what a person reads."""
    page: list[Block] = [
        _verdict(case),
        Line(device_line(case.device)),
        LabelledFacts(tuple(_facts(case))),
    ]
    page += [Line(sentence) for sentence in _advice(case)]
    if case.show:
        grid = picture(case.pattern, case.conflicts, case.device.capability, wide=case.wide_banks)
        page += [Heading("Lanes and banks"), Drawing(grid)]
    return page


def _verdict(case: BanksCase) -> Line:
    """Return the answer in a sentence: whether there is a conflict, and what ends it."""
    conflicts = case.conflicts
    if conflicts.degree == 1:
        return Line("No bank conflict.", Tone.STRONG)
    passes = (
        f"{plural(conflicts.wavefronts, 'pass', 'passes')} instead of {conflicts.ideal_wavefronts}"
    )
    end = f"; {plural(case.padding, 'element')} of padding per row ends it" if case.padding else ""
    article = "An" if conflicts.degree in (8, 11, 18) else "A"
    return Line(f"{article} {conflicts.degree}-way bank conflict: {passes}{end}.", Tone.STRONG)


def draw(axes: Axes, case: BanksCase) -> None:
    """Draw on *axes* which bank each lane of *case* takes its first word from."""
    capability = case.device.capability
    busy = case.conflicts.busiest_banks
    banks = [
        bank_of(start, capability, eight_byte_banks=case.wide_banks)
        for start in case.pattern.starts
    ]
    colours = ["C3" if bank in busy else "C0" for bank in banks]
    axes.scatter(banks, case.pattern.lanes, c=colours, marker="s")
    axes.set(xlim=(-1, bank_count(capability)), ylim=(WARP_SIZE, -1))
    axes.set(xlabel="bank", ylabel="lane")
    axes.grid(visible=True, alpha=0.2)


def lanes_and_banks(case: BanksCase) -> Picture:
    """Return a picture of the bank that each lane of *case* takes its first word from."""
    from gpuadvise.cli.render import svg

    capability = case.device.capability
    count = bank_count(capability)
    across = svg.Scale(0, count, 52, 460)
    up = svg.Scale(0, WARP_SIZE, 400, 12)  # lane 0 on top
    marks_across = [(bank + 0.5, f"{bank}") for bank in range(0, count, 4)]
    marks_up = [(WARP_SIZE - lane - 0.5, f"{lane}") for lane in range(0, WARP_SIZE, 4)]
    marks = [svg.axes(across, up, marks_across, marks_up, "bank")]
    busy = case.conflicts.busiest_banks
    for start, lane in zip(case.pattern.starts, case.pattern.lanes, strict=True):
        bank = bank_of(start, capability, eight_byte_banks=case.wide_banks)
        kind = "c4" if bank in busy else "c0"
        marks.append(svg.box(across.at(bank) + 1, up.at(WARP_SIZE - lane) + 1, 10, 10, kind))
    marks.append(svg.words(0, 206, "lane", small=True))
    if busy:
        marks += [svg.box(52, 448, 12, 12, "c4"), svg.words(72, 459, "in the busiest banks")]
    described = f"{case.conflicts.degree}-way conflict; busiest: {shown_lanes(busy) or 'none'}"
    return svg.Picture("Lanes and banks", described, 466, "".join(marks))


def _facts(case: BanksCase) -> Iterator[Fact]:
    conflicts = case.conflicts
    conflicting = conflicts.degree > 1
    verdict = f"{conflicts.degree}-way" if conflicting else "none"
    noun = "bank" if len(conflicts.busiest_banks) == 1 else "banks"
    banks = f"{noun} {shown_lanes(conflicts.busiest_banks)}" if conflicts.busiest_banks else ""
    tone = Tone.BAD if conflicting else Tone.GOOD
    yield Fact("conflict", Cell(verdict, tone), banks)
    passes = plural(conflicts.wavefronts, "pass", "passes")
    remark = f"{conflicts.ideal_wavefronts} without conflicts"
    yield Fact("takes", Cell(passes), remark)
    yield Fact(
        "width",
        Cell(plural(conflicts.width, "byte")),
        f"per lane and instruction, {conflicts.lanes_per_phase} lanes at a time",
    )
    if case.tile:
        yield Fact("tile", Cell(show_bytes(case.tile.bytes)))


def _advice(case: BanksCase) -> Iterator[str]:
    if case.conflicts.degree == 1:
        return
    if case.padding:
        size = case.pattern.element_bytes
        yield (
            f"Pad each row by {plural(case.padding, 'element')} ({case.padding * size} bytes): "
            "no conflict is left."
        )
    if case.swizzle:
        either = "Or keep" if case.padding else "Keep"
        yield f"{either} each element at {case.swizzle} within its row: no conflict, no padding."
    if case.listed:
        yield "Indices have no rows to pad: the layout behind them must change."
    elif not case.padding and not case.swizzle:
        yield "Neither padding the rows nor an XOR within them ends this conflict."
