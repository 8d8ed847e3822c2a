"""All containers of a file, or of one member of an archive, wherever in it they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.fatbin import read_region
from gpuadvise.advisor.binaries.host import Sections, read_sections
from gpuadvise.advisor.binaries.images import Images
from gpuadvise.advisor.binaries.model import Damage
from gpuadvise.advisor.binaries.scan import Scan
from gpuadvise.advisor.binaries.span import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.binaries.entries import Packed
    from gpuadvise.advisor.binaries.model import Item, Place
    from gpuadvise.advisor.binaries.span import FileSpan
    from gpuadvise.advisor.binaries.want import Want


def read_containers(span: FileSpan, place: Place, want: Want) -> Iterator[Item]:
    """Yield the entries, kernels and damage of every container in *span*, module by module."""
    try:
        sections = read_sections(span)
    except Damaged as damage:
        text = f"The file's section table cannot be read. {damage.message}"
        yield Damage(place=place.at(damage.offset), message=text)
        sections = Sections([])
    images = Images(span)
    scan = Scan(span, sections.barren())
    inputs = not sections.loaded()
    end = 0
    while (at := scan.next(end)) is not None:
        section = sections.at(at)
        if section != place.section:
            place = replace(place, section=section)
        region = read_region(span, at, place)
        yield from region.damage
        packed = [images.marked(one) for one in region.packed]
        yield from (one.entry for one in packed)
        yield from _kernels(images, packed, want, inputs=inputs)
        end = region.end


def _kernels(images: Images, packed: list[Packed], want: Want, *, inputs: bool) -> Iterator[Item]:
    # What a device link consumed comes again, with final numbers, in what it made.
    entries = tuple(one.entry for one in packed if inputs or not one.entry.link_input)
    chosen = {id(entry) for entry in want.pick(entries)}
    for one in packed:
        if id(one.entry) in chosen:
            yield from images.kernels(one)
