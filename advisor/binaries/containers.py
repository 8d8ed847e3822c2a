"""All containers of a file, or of one member of an archive, wherever in it they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from gpuadvise.advisor.binaries.counted import Counts
from gpuadvise.advisor.binaries.fatbin import Region, read_region
from gpuadvise.advisor.binaries.host import Sections, read_sections
from gpuadvise.advisor.binaries.images import Images
from gpuadvise.advisor.binaries.lone import lone_entries
from gpuadvise.advisor.binaries.model import Damage
from gpuadvise.advisor.binaries.scan import Scan
from gpuadvise.advisor.binaries.span import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.binaries.counted import Counted
    from gpuadvise.advisor.binaries.entries import Packed
    from gpuadvise.advisor.binaries.model import Entry, Item, Place
    from gpuadvise.advisor.binaries.span import FileSpan
    from gpuadvise.advisor.binaries.want import Want


# Starting processes takes longer than reading less than this.
_WORTH_PROCESSES = 1 << 25
# So does loading numpy.
_WORTH_ARRAYS = 1 << 25


def read_containers(span: FileSpan, place: Place, want: Want) -> Iterator[Item]:
    """Yield the entries, kernels and damage of every container in *span*, module by module."""
    if not want.kernels:
        counts = Counts() if want.counted else None
        yield from cast("Iterator[Item]", _listing(span, place, counts))
        return
    if want.processes > 1 and place.member is None and span.size >= _WORTH_PROCESSES:
        from gpuadvise.advisor.binaries.apart import read_apart

        yield from read_apart(_steps(span, place, want), place.path, span, want)
        return
    from gpuadvise.advisor.binaries.ahead import unpacked_ahead  # listings need none
    from gpuadvise.advisor.binaries.buffers import Buffers
    from gpuadvise.advisor.binaries.together import read_together

    images = Images(span.part(0, span.size))
    arrays = span.size >= _WORTH_ARRAYS
    for steps in unpacked_ahead(_steps(span, place, want), images, Buffers()):
        items = read_together(steps, arrays=arrays, instructions=want.instructions)
        yield from cast("Iterator[Item]", items)


def _listing(
    span: FileSpan, place: Place, counts: Counts | None
) -> Iterator[Entry | Counted | Damage]:
    """Yield what lies in *span*, what is in *counts* as often as there only."""
    sections, damage = _sections(span, place)
    yield from damage
    try:
        yield from _listed(span, place, sections, counts)
    except Damaged as early:  # the file ends early, or shrank
        yield Damage(place=place.at(early.offset), message=early.message)
    if counts is not None:
        yield from counts.every()


def _listed(
    span: FileSpan, place: Place, sections: Sections, counts: Counts | None
) -> Iterator[Entry | Damage]:
    images = Images(span)
    scan = Scan(span, sections.barren())
    end = until = 0
    while (at := scan.next(end)) is not None:
        if at >= until:
            place = place._replace(section=sections.at(at))
            until = sections.until(at) or span.size
        region = read_region(span, at, place)
        yield from region.damage
        for one in region.packed:
            yield images.marked(one).entry
        end = region.end
        if len(region.packed) == 1:
            limit = min(until, scan.until)
            end = yield from lone_entries(span, images, end, limit, place, counts)


def _sections(span: FileSpan, place: Place) -> tuple[Sections, list[Damage]]:
    try:
        return read_sections(span), []
    except Damaged as damage:
        text = f"The file's section table cannot be read. {damage.message}"
        return Sections([]), [Damage(place=place.at(damage.offset), message=text)]


def _steps(span: FileSpan, place: Place, want: Want) -> Iterator[Entry | Damage | Packed]:
    """Yield what lies in *span*, and the payloads whose kernels are wanted."""
    sections, damage = _sections(span, place)
    yield from damage
    inputs = not sections.loaded()
    try:
        for region in _regions(span, place, sections):
            yield from region.damage
            for one in region.packed:
                yield one.entry
            yield from _wanted(region.packed, want, inputs=inputs)
    except Damaged as early:  # the file ends early, or shrank
        yield Damage(place=place.at(early.offset), message=early.message)


def _regions(span: FileSpan, place: Place, sections: Sections) -> Iterator[Region]:
    images = Images(span)
    scan = Scan(span, sections.barren())
    end = 0
    while (at := scan.next(end)) is not None:
        section = sections.at(at)
        if section != place.section:
            place = place._replace(section=section)
        region = read_region(span, at, place)
        region.packed = [images.marked(one) for one in region.packed]
        yield region
        end = region.end


def _wanted(packed: list[Packed], want: Want, *, inputs: bool) -> Iterator[Packed]:
    # What a device link consumed comes again, with final numbers, in what it made.
    entries = tuple(one.entry for one in packed if inputs or not one.entry.link_input)
    chosen = {id(entry) for entry in want.pick(entries)}
    yield from (one for one in packed if id(one.entry) in chosen)
