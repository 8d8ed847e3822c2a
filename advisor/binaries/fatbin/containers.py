"""Fatbin containers of a file, or of one member of an archive, wherever in it they are."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, cast

from gpuadvise.advisor.binaries.fatbin.entry import (
    CONCATENATED,
    LAYOUT,
    Packed,
    entry_of,
    packed_as,
)
from gpuadvise.advisor.binaries.fatbin.images import MAX_STUB, Images
from gpuadvise.advisor.binaries.fatbin.region import PATTERN, REGION, Region, read_region
from gpuadvise.advisor.binaries.fatbin.toolkits import Toolkits
from gpuadvise.advisor.binaries.host_file import Sections, read_sections
from gpuadvise.advisor.binaries.model import Content, Damage
from gpuadvise.advisor.binaries.span import AHEAD, Damaged
from gpuadvise.advisor.binaries.tally import TallyByHeader
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Entry, Item, Place
    from gpuadvise.advisor.binaries.options import ReadOptions
    from gpuadvise.advisor.binaries.span import FileSpan, Span
    from gpuadvise.advisor.binaries.tally import EntryTally


ALIGNMENT = 8
# The next container mostly follows at once, or after some padding; when it does not, read on in
# larger pieces.
NEAR = 1 << 6
_FIRST_PIECE = 1 << 12
_PIECE = 1 << 18
_COLUMN = 1  # 0xED is the rarest byte of the pattern
_CROWDED = 32
_MARK = PATTERN[_COLUMN]
_NEXT = _COLUMN + 1
_NEXT_MARK = PATTERN[_NEXT]


class Scan:
    """A search through one span that moves forward only; *until*: where it next jumps ahead."""

    def __init__(self, span: Span, skipped: list[tuple[int, int]]) -> None:
        self._span = span
        self._skipped = skipped[::-1]
        self.until = self._until_code()

    def next(self, at: int) -> int | None:
        """Return where the first container at or after *at* starts; None when there is none.

        Calls must not go back.
        """
        at += -at % ALIGNMENT
        if at + NEAR <= self.until:
            near = self._span.read(at, NEAR).find(PATTERN)
            if near >= 0 and not near % ALIGNMENT:
                return at + near
        at = self._past_code(at)
        if at + len(PATTERN) <= self._span.size and self._span.read(at, len(PATTERN)) == PATTERN:
            return at
        size = _FIRST_PIECE
        while (at := self._past_code(at)) + len(PATTERN) <= self._span.size:
            # Pieces start aligned and containers are: none lies across two pieces.
            end = min(at + size, self.until)
            container_at = self._find(at, end)
            if container_at is not None:
                return container_at
            at, size = end, _PIECE
        return None

    def _past_code(self, at: int) -> int:
        at += -at % ALIGNMENT
        while self._skipped and at >= self._skipped[-1][0]:
            end = self._skipped.pop()[1]
            at = max(at, end + -end % ALIGNMENT)
            self.until = self._until_code()
        return at

    def _until_code(self) -> int:
        return min(self._skipped[-1][0] if self._skipped else self._span.size, self._span.size)

    def _find(self, at: int, end: int) -> int | None:
        data = self._span.read(at, end - at)
        # One column of the aligned words is searched first: a quarter of the time of a plain
        # search, unless the data are made to look like containers.
        column = data[_COLUMN : len(data) - len(data) % ALIGNMENT : ALIGNMENT]
        word, left = column.find(_MARK), len(column) // _CROWDED
        while word >= 0 and left:
            start = word * ALIGNMENT
            if data[start + _NEXT] == _NEXT_MARK and data.startswith(PATTERN, start):
                return at + start
            word, left = column.find(_MARK, word + 1), left - 1
        container_at = None if word < 0 else _aligned(data, word * ALIGNMENT)
        return None if container_at is None else at + container_at


def _aligned(data: bytes, start: int) -> int | None:
    start_of_match = data.find(PATTERN, start)
    while start_of_match % ALIGNMENT and start_of_match >= 0:
        start_of_match = data.find(PATTERN, start_of_match + 1)
    return None if start_of_match < 0 else start_of_match


_MAX_HEADER = AHEAD - NEAR - REGION.size


def single_entries(
    span: Span,
    images: Images,
    at: int,
    until: int,
    place: Place,
    tally: TallyByHeader | None,
    toolkits: Toolkits | None = None,
) -> Generator[Entry, None, int]:
    """Yield the entries of containers from *at* on that hold just one and end before *until*.

    With *tally*, entries equal to an earlier one are counted there instead: the *toolkits* are those
    of the first. Returns the offset at which the run ends and the search for the next container continues.
    """
    section = place.section
    at += -at % ALIGNMENT
    while at + AHEAD <= until:
        head = span.read(at, AHEAD)
        skipped = head.find(PATTERN, 0, NEAR)
        if skipped < 0 or skipped % ALIGNMENT:
            break
        module, body = at + skipped, skipped + REGION.size
        _, size = REGION.unpack_from(head, skipped)
        fields = LAYOUT.unpack_from(head, body)
        end = module + REGION.size + size
        if end > until or not _is_single(fields, size):
            break
        at = end + -end % ALIGNMENT
        header = head[body : body + fields[2]]
        if tally is not None and tally.count_if_known(section, fields, header):
            continue
        entry = entry_of(fields, header, place, module + REGION.size, module)
        small = (entry.unpacked_size or 0) <= MAX_STUB
        if small:
            entry = images.with_stub_mark(packed_as(entry, end - fields[3])).entry
        if toolkits is not None:
            entry = toolkits.marked(packed_as(entry, end - fields[3])).entry
        if not small and tally is not None:
            tally.add(fields, header, entry)
        yield entry
    return at


def _is_single(fields: tuple[int, ...], size: int) -> bool:
    kind, _, header, payload, packed, *_ = fields
    fits = header + payload == size and packed <= payload
    return fits and LAYOUT.size <= header <= _MAX_HEADER and kind != CONCATENATED


# Starting processes takes longer than reading less than this.
_WORTH_PROCESSES = 1 << 25
# Loading numpy takes longer than reading the kernels of fewer unpacked bytes: some 3,000, as one GPU
# loads of a large library. As many entries are looked at ahead to tell.
_WORTH_ARRAYS = 1 << 27
_MOST_AHEAD = 1 << 12


def read_containers(span: FileSpan, place: Place, options: ReadOptions) -> Iterator[Item]:
    """Yield the entries, kernels and damage of every container in *span*, module by module."""
    if not options.kernels:
        tally = TallyByHeader() if options.tally else None
        yield from cast("Iterator[Item]", _listing(span, place, tally, options))
        return
    images = Images(span.part(0, span.size))
    items = _items(span, place, options)
    if options.processes > 1 and place.member is None and span.size >= _WORTH_PROCESSES:
        from gpuadvise.advisor.binaries.parallel.pool import read_in_parallel

        read_here = partial(_read_ahead, images=images, options=options)
        yield from read_in_parallel(items, place.path, span, options, read_here)
        return
    yield from _read_ahead(items, images, options)


def _read_ahead(
    items: Iterable[Entry | Damage | Packed], images: Images, options: ReadOptions
) -> Iterator[Item]:
    """Yield *items*, payloads as their kernels, while the next ones are decompressed."""
    from gpuadvise.advisor.binaries.parallel.batches import read_batch
    from gpuadvise.advisor.binaries.parallel.prefetch import (
        Buffers,
        decompressed_ahead,  # listings need none
    )

    items_ahead, arrays = _worth_arrays(iter(items))
    for batch in decompressed_ahead(items_ahead, images, Buffers()):
        read_items = read_batch(
            batch, arrays=arrays, instructions=options.instructions, table=options.tables
        )
        yield from cast("Iterator[Item]", read_items)


def _worth_arrays(
    items: Iterator[Entry | Damage | Packed],
) -> tuple[Iterator[Entry | Damage | Packed], bool]:
    """Return *items* again, and whether so much is in them that numpy pays."""
    ahead: list[Entry | Damage | Packed] = []
    size = 0
    for item in items:
        ahead.append(item)
        size += item.unpacked_size if isinstance(item, Packed) else 0
        if size >= _WORTH_ARRAYS or len(ahead) >= _MOST_AHEAD:
            return chain(ahead, items), True
    return iter(ahead), False


# Containers in a row of a file that is made of broken ones take a second for each 65,000.
_MOST_BROKEN = 10_000


def _broken(region: Region, before: int) -> int:
    """Return how many containers are broken so far; raises Damaged for far too many."""
    broken = before + bool(region.damage)
    if broken > _MOST_BROKEN:
        text = f"More than {_MOST_BROKEN:,} containers are broken; the rest is not searched."
        raise Damaged(text, region.end)
    return broken


def _skipped(span: FileSpan, sections: Sections) -> list[tuple[int, int]]:
    """Return where no container can be: sections of code, and holes of sparse files."""
    return sorted([*sections.skipped(), *span.holes()])


def _listing(
    span: FileSpan, place: Place, tally: TallyByHeader | None, options: ReadOptions
) -> Iterator[Entry | EntryTally | Damage]:
    """Yield the entries and damage of *span*; with *tally*, equal entries once and a count."""
    sections, damage = _sections(span, place)
    yield from damage
    try:
        yield from _listed(span, place, sections, tally, toolkits=options.toolkits)
    except Damaged as early:  # the file ends early, or shrank
        yield Damage(place=place.at(early.offset), message=early.message)
    if tally is not None:
        yield from tally.tallies()


def _listed(
    span: FileSpan,
    place: Place,
    sections: Sections,
    tally: TallyByHeader | None,
    *,
    toolkits: bool,
) -> Iterator[Entry | Damage]:
    images = Images(span)
    known = Toolkits(span, images) if toolkits else None
    scan = Scan(span, _skipped(span, sections))
    broken = 0
    end = until = 0
    while (at := scan.next(end)) is not None:
        if at >= until:
            place = place._replace(section=sections.at(at))
            until = sections.until(at) or span.size
        region = read_region(span, at, place)
        broken = _broken(region, broken)
        yield from region.damage
        for packed_entry in region.packed:
            packed = images.with_stub_mark(packed_entry)
            yield (known.marked(packed) if known else packed).entry
        end = region.end
        if len(region.packed) == 1:
            limit = min(until, scan.until)
            end = yield from single_entries(span, images, end, limit, place, tally, known)


def _sections(span: FileSpan, place: Place) -> tuple[Sections, list[Damage]]:
    try:
        return read_sections(span), []
    except Damaged as damage:
        text = f"The file's section table cannot be read. {damage.message}"
        return Sections([]), [Damage(place=place.at(damage.offset), message=text)]


def ptx_programs(span: FileSpan, place: Place) -> Iterator[bytes]:
    """Yield the PTX texts that the containers of *span* hold; those that are broken are left out."""
    sections, _ = _sections(span, place)
    images = Images(span)
    for region in _regions(span, place, sections):
        for packed_entry in region.packed:
            if packed_entry.entry.content in (Content.PTX, Content.RELOCATABLE_PTX):
                with suppress(Damaged, Unavailable):
                    image = images.open(packed_entry)
                    yield bytes(image.read(0, image.size)).rstrip(b"\0")


def _items(span: FileSpan, place: Place, options: ReadOptions) -> Iterator[Entry | Damage | Packed]:
    """Yield the entries and damage of *span*, and the payloads whose kernels are selected."""
    sections, damage = _sections(span, place)
    yield from damage
    inputs = not sections.loaded()
    try:
        for region in _regions(span, place, sections):
            yield from region.damage
            for packed_entry in region.packed:
                yield packed_entry.entry
            yield from _selected(region.packed, options, inputs=inputs)
    except Damaged as early:  # the file ends early, or shrank
        yield Damage(place=place.at(early.offset), message=early.message)


def _regions(span: FileSpan, place: Place, sections: Sections) -> Iterator[Region]:
    images = Images(span)
    scan = Scan(span, _skipped(span, sections))
    broken = 0
    end = 0
    while (at := scan.next(end)) is not None:
        section = sections.at(at)
        if section != place.section:
            place = place._replace(section=section)
        region = read_region(span, at, place)
        broken = _broken(region, broken)
        region.packed = [images.with_stub_mark(packed_entry) for packed_entry in region.packed]
        yield region
        end = region.end


def _selected(packed: list[Packed], options: ReadOptions, *, inputs: bool) -> Iterator[Packed]:
    # What a device link consumed comes again, with final numbers, in what it made.
    entries = tuple(
        packed_entry.entry for packed_entry in packed if inputs or not packed_entry.entry.link_input
    )
    selected = {id(entry) for entry in options.pick(entries)}
    yield from (packed_entry for packed_entry in packed if id(packed_entry.entry) in selected)
