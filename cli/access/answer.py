"""The result and the text of ``gpuadvise access``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import plain
from gpuadvise.advisor.memory.remedies import Remedy, average_sectors, padded_pitch
from gpuadvise.advisor.memory.transactions import LINE, SECTOR, CachePath, cache_path
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_share
from gpuadvise.cli.access.warp import WarpOptions, distance, shown_lanes
from gpuadvise.cli.blocks import (
    Block,
    Cell,
    Column,
    Drawing,
    Fact,
    Heading,
    LabelledFacts,
    Line,
    Table,
    Tone,
    header,
    table,
)
from gpuadvise.cli.devices import device_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.axes import Axes

    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.memory.coalescing import AccessCost
    from gpuadvise.advisor.memory.pattern import Pattern
    from gpuadvise.cli.render.svg import Picture


# One mark stands for 4 bytes: used, moved but unused, not moved.
USED, MOVED, ASIDE = "#", "-", "."
_MARK = 4
_MOST_LINES = 32


def picture(pattern: Pattern, access: AccessCost) -> str:
    """Return the lines of memory that *access* touches, one row per 128 bytes."""
    used = {
        byte // _MARK
        for start in pattern.starts
        for byte in range(start, start + pattern.element_bytes)
    }
    moved = set(access.touched)
    lines = sorted({sector * SECTOR // LINE for sector in moved})
    width = len(str(lines[min(len(lines), _MOST_LINES) - 1] * LINE))
    drawn = [f"{'byte':>{width}}  sector 0 sector 1 sector 2 sector 3  lanes"]
    for line in lines[:_MOST_LINES]:
        sectors = (_sector(line * 4 + n, used, moved) for n in range(4))
        drawn.append(f"{line * LINE:>{width}}  {' '.join(sectors)}  {_lanes(pattern, line)}")
    if len(lines) > _MOST_LINES:
        drawn.append(f"and {len(lines) - _MOST_LINES} lines more")
    drawn.append(f"{USED} used  {MOVED} moved but unused  {ASIDE} not moved; one mark is 4 bytes")
    return "\n".join(drawn)


def _sector(number: int, used: set[int], moved: set[int]) -> str:
    if number not in moved:
        return ASIDE * (SECTOR // _MARK)
    marks = range(number * SECTOR // _MARK, (number + 1) * SECTOR // _MARK)
    return "".join(USED if mark in used else MOVED for mark in marks)


def _lanes(pattern: Pattern, line: int) -> str:
    """Return the lanes that take a byte of *line*."""
    first, last = line * LINE, (line + 1) * LINE
    return shown_lanes(
        lane
        for start, lane in zip(pattern.starts, pattern.lanes, strict=True)
        if start < last and start + pattern.element_bytes > first
    )


def draw(axes: Axes, pattern: Pattern, access: AccessCost) -> None:
    """Draw on *axes* the lines of memory that *access* moves, and the bytes of them it uses."""
    lines = sorted({sector * SECTOR // LINE for sector in access.touched})[:_MOST_LINES]
    moved = [(sector * SECTOR, SECTOR) for sector in sorted(access.touched)]
    used = [(start, pattern.element_bytes) for start in pattern.starts]
    for bars, colour, label in ((moved, "C1", "moved"), (used, "C0", "used")):
        for row, line in enumerate(lines):
            within = [_within(bar, line * LINE) for bar in bars]
            axes.broken_barh(
                [bar for bar in within if bar[1] > 0],
                (row - 0.4, 0.8),
                facecolor=colour,
                label="" if row else label,
            )
    axes.set_yticks(range(len(lines)), [f"{line * LINE:,}" for line in lines])
    axes.set(xlim=(0, LINE), xlabel="byte of the line", ylabel="line at byte")
    axes.invert_yaxis()
    axes.legend()


_LEFT, _PER_BYTE, _ROW = 90, 2.9, 18  # pixels of a picture


def lines_of_memory(pattern: Pattern, access: AccessCost) -> Picture:
    """Return a picture of the lines of memory that *access* moves, and the bytes of them it uses."""
    from gpuadvise.cli.render import svg

    lines = sorted({sector * SECTOR // LINE for sector in access.touched})
    moved = [(sector * SECTOR, SECTOR) for sector in sorted(access.touched)]
    used = [(start, pattern.element_bytes) for start in pattern.starts]
    marks = [svg.words(0, 12, "line at byte", small=True)]
    for at, name in ((0, "moved"), (90, "used")):
        kind = "c1" if name == "moved" else "c0"
        marks += [svg.box(_LEFT + at, 2, 12, 12, kind), svg.words(_LEFT + at + 18, 13, name)]
    for row, line in enumerate(lines[:_MOST_LINES]):
        y = 24 + _ROW * row
        marks.append(svg.words(0, y + 12, f"{line * LINE:,}", small=True))
        marks.append(svg.box(_LEFT, y, LINE * _PER_BYTE, _ROW - 4, "track"))
        for bars, kind in ((moved, "c1"), (used, "c0")):
            for start, size in (_within(bar, line * LINE) for bar in bars):
                if size > 0:
                    x = _LEFT + start * _PER_BYTE
                    marks.append(svg.box(x, y, size * _PER_BYTE, _ROW - 4, kind))
    height = 24 + _ROW * min(len(lines), _MOST_LINES) + 16
    for byte in range(0, LINE + 1, SECTOR):
        x = _LEFT + byte * _PER_BYTE
        marks.append(svg.words(x, height - 4, f"{byte}", anchor="middle", small=True))
    if len(lines) > _MOST_LINES:
        height += svg.LINE
        marks.append(svg.words(_LEFT, height - 4, f"and {len(lines) - _MOST_LINES} lines more"))
    described = f"{plural(len(moved), 'sector')} of {plural(len(lines), 'line')}"
    return svg.Picture("Bytes moved and used", described, height, "".join(marks))


def _within(bar: tuple[int, int], line: int) -> tuple[int, int]:
    """Return the part of *bar* (start, bytes) in the line that starts at *line*, from there."""
    first, last = max(bar[0], line), min(bar[0] + bar[1], line + LINE)
    return first - line, last - first


# The rule uncoalesced-access fires below 80 %; half and less is the plain waste of a stride.
_FAIR, _POOR = 0.8, 0.5
_SUMS = (
    "sectors", "distinct_sectors", "lines", "ideal_sectors", "bytes_moved", "bytes_used",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessCase:
    """One access by one or more warps; *all_rows* where a pitch was given."""

    device: Device
    patterns: Sequence[Pattern]
    accesses: Sequence[AccessCost]
    remedies: Sequence[Remedy]
    all_rows: Rows | None = None
    sweep: Sequence[Mapping[str, Any]] | None = None
    show: bool = False

    @property
    def efficiency(self) -> float:
        """Bytes used / bytes moved of all warps."""
        return sum(a.bytes_used for a in self.accesses) / sum(a.bytes_moved for a in self.accesses)


def result(case: AccessCase) -> dict[str, Any]:
    """Return the ``result`` of the JSON document; counts are summed over the warps."""
    first = case.accesses[0]
    sums: dict[str, Any] = {name: _sum(case, name) for name in _SUMS}
    return {
        **sums,
        "efficiency": case.efficiency,
        "cached_efficiency": sums["bytes_used"] / (32 * sums["distinct_sectors"]),
        "instructions": max(access.instructions for access in case.accesses),
        "width": min(access.width for access in case.accesses),
        "aligned": all(access.aligned for access in case.accesses),
        "path": str(first.path),
        "warps": len(case.accesses),
        "row_sectors": case.all_rows and case.all_rows.sectors,
        "padded_pitch": case.all_rows and case.all_rows.padded_pitch,
        "remedies": [plain(remedy) for remedy in case.remedies],
        "sweep": case.sweep,
    }


def rows(case: AccessCase) -> list[Mapping[str, Any]] | None:
    """Return what CSV and NDJSON list: the sweep, or each of several warps; else None."""
    if case.sweep is not None:
        return list(case.sweep)
    if len(case.accesses) == 1:
        return None
    return [{"warp": n, **measures(access)} for n, access in enumerate(case.accesses)]


def measures(access: AccessCost) -> dict[str, Any]:
    """Return the numbers of one warp's access for a row."""
    counts = {name: getattr(access, name) for name in _SUMS}
    return {**counts, "efficiency": access.efficiency, "instructions": access.instructions}


def blocks(case: AccessCase) -> list[Block]:
    """Return what a person reads."""
    page: list[Block] = [_verdict(case), Line(device_line(case.device))]
    if case.sweep:
        page += [_sweep(case.sweep)]
    else:
        page += [LabelledFacts(tuple(_facts(case)))]
        page += [Line(note) for note in _notes(case)]
        if case.remedies:
            page += [Heading("What would move less"), _remedies(case.remedies)]
    if case.show:
        warps = len(case.accesses)
        first = f", first of {plural(warps, 'warp')}" if warps > 1 else ""
        drawn = Drawing(picture(case.patterns[0], case.accesses[0]))
        page += [Heading(f"Bytes of each 128-byte line{first}"), drawn]
    return page


def _verdict(case: AccessCase) -> Line:
    """Return the answer in a sentence: whether the access is coalesced."""
    if case.sweep:
        name = next(iter(case.sweep[0]))
        best = max(case.sweep, key=lambda row: float(row["efficiency"]))
        worst = min(case.sweep, key=lambda row: float(row["efficiency"]))
        most, least = (
            f"{show_share(step['efficiency'])} ({name} {step[name]})" for step in (best, worst)
        )
        return Line(
            f"Between {most} and {least} of the bytes that are moved are used.", Tone.STRONG
        )
    sectors, ideal = _sum(case, "sectors"), _sum(case, "ideal_sectors")
    used = f"{show_share(case.efficiency)} of the bytes that are moved are used"
    if sectors <= ideal:
        return Line(f"Coalesced: these bytes take no fewer sectors; {used}.", Tone.STRONG)
    less = f"{plural(sectors, 'sector')} instead of {ideal:,}"
    degree = "Nearly coalesced" if case.efficiency >= _FAIR else "Not coalesced"
    return Line(f"{degree}: {used}, {less}.", Tone.STRONG)


def _sum(case: AccessCase, name: str) -> int:
    return sum(getattr(access, name) for access in case.accesses)


def _facts(case: AccessCase) -> Iterator[Fact]:
    sectors, lines, ideal = (_sum(case, n) for n in ("sectors", "lines", "ideal_sectors"))
    moved, used = _sum(case, "bytes_moved"), _sum(case, "bytes_used")
    if len(case.accesses) > 1:
        yield Fact("warps", Cell(f"{len(case.accesses):,}"))
    remark = f"{ideal:,} would hold the bytes that are used"
    yield Fact("sectors", Cell(f"{sectors:,}"), remark)
    yield Fact("lines", Cell(f"{lines:,}"), "of 128 bytes")
    remark = f"{show_bytes(used)} used of {show_bytes(moved)} moved"
    yield Fact("efficiency", _share(case.efficiency), remark)
    first = case.accesses[0]
    remark = f"{plural(first.width, 'byte')} per lane and instruction"
    yield Fact("instructions", Cell(str(first.instructions)), remark)
    if case.all_rows:
        value = Cell(f"{case.all_rows.sectors:.3g} sectors")
        yield Fact("over all rows", value, _pitch(case.all_rows))


def _pitch(rows: Rows) -> str:
    if rows.pitch == rows.padded_pitch:
        return f"per warp: every row starts on a multiple of {rows.unit} bytes"
    return (
        f"per warp; a pitch of {rows.padded_pitch} bytes would start every row on a multiple of "
        f"{rows.unit}"
    )


def _notes(case: AccessCase) -> Iterator[str]:
    first = case.accesses[0]
    if not all(access.aligned for access in case.accesses):
        size = case.patterns[0].alignment
        yield (
            f"Some addresses are not a multiple of {size} bytes: words of {size} bytes there fault or "
            f"read wrong data, so words of {first.width} are assumed."
        )
    if first.instructions > 1 and first.distinct_sectors < first.sectors:
        yield (
            f"The {plural(first.instructions, 'instruction')} share sectors: where the cache "
            f"keeps them in between, {show_share(first.cached_efficiency)} of the bytes are used."
        )


def _share(value: float) -> Cell:
    tone = Tone.GOOD if value >= _FAIR else Tone.POOR if value > _POOR else Tone.BAD
    return Cell(show_share(value), tone)


def _remedies(remedies: Sequence[Remedy]) -> Table:
    return table(
        remedies,
        ("change", lambda remedy: remedy.name),
        (">moved", lambda remedy: show_bytes(remedy.bytes_moved)),
        (">used", lambda remedy: _share(remedy.efficiency)),
        (Column("", prose=True), lambda remedy: remedy.how),
    )


def _sweep(swept: Sequence[Mapping[str, Any]]) -> Table:
    """Return the rows of a sweep, runs that move as much as one."""
    name = next(iter(swept[0]))
    runs: list[list[Mapping[str, Any]]] = []
    for row in swept:
        if runs and runs[-1][-1]["efficiency"] == row["efficiency"]:
            runs[-1].append(row)
        else:
            runs.append([row])
    titles = (name, "sectors", "lines", "efficiency")
    rows = []
    for run in runs:
        ends = [sorted({row[title] for row in run}) for title in titles[:3]]
        texts = (" to ".join(map(str, dict.fromkeys((end[0], end[-1])))) for end in ends)
        rows.append((*map(Cell, texts), _share(run[0]["efficiency"])))
    return Table(header(*(f">{title}" for title in titles)), tuple(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows *pitch* bytes apart: average sectors of a warp, and the next pitch that aligns them.

    *unit* is what the memory moves at least: a sector, or a line where whole lines are moved.
    """

    pitch: int
    sectors: float
    padded_pitch: int
    unit: int


def rows_of(
    words: WarpOptions, pattern: Pattern, capability: Capability, path: CachePath | None
) -> Rows | None:
    """Return what ``--pitch`` does to all rows; None without one, or where warps begin mid-row."""
    if words.pitch is None:
        return None
    width = words.row_threads or WARP_SIZE
    pitch = distance("pitch", words.pitch, words.word)
    if not pitch or WARP_SIZE % width:
        return None
    unit = SECTOR if cache_path(capability, path) is CachePath.SECTORS else LINE
    step = WARP_SIZE // width * pitch
    return Rows(
        pitch=pitch,
        sectors=average_sectors(pattern, step, capability, path),
        padded_pitch=padded_pitch(pitch, multiple=unit),
        unit=unit,
    )
