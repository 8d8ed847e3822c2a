"""All containers of a file, or of one member of an archive, wherever in it they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from gpuadvise.advisor.binaries.fatbin.entry import CONCATENATED, LAYOUT, entry_of, packed_as
from gpuadvise.advisor.binaries.fatbin.images import MOST_STUB, Images
from gpuadvise.advisor.binaries.fatbin.region import PATTERN, REGION, Region, read_region
from gpuadvise.advisor.binaries.host_file import Sections, read_sections
from gpuadvise.advisor.binaries.model import Damage
from gpuadvise.advisor.binaries.span import AHEAD, Damaged
from gpuadvise.advisor.binaries.tally import TallyByHeader

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from gpuadvise.advisor.binaries.fatbin.entry import Packed
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
            found = self._find(at, end)
            if found is not None:
                return found
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
        found = None if word < 0 else _aligned(data, word * ALIGNMENT)
        return None if found is None else at + found


def _aligned(data: bytes, start: int) -> int | None:
    found = data.find(PATTERN, start)
    while found % ALIGNMENT and found >= 0:
        found = data.find(PATTERN, found + 1)
    return None if found < 0 else found


_MOST_HEADER = AHEAD - NEAR - REGION.size


def lone_entries(
    span: Span, images: Images, at: int, until: int, place: Place, counts: TallyByHeader | None
) -> Generator[Entry, None, int]:
    """Yield the entries of containers from *at* on that hold just one and end before *until*.

    With *counts*, those that it has already are counted there instead. Returns where the run
    ends, and the search for the next container goes on.
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
        if end > until or not _is_lone(fields, size):
            break
        at = end + -end % ALIGNMENT
        header = head[body : body + fields[2]]
        if counts is not None and counts.counted(section, fields, header):
            continue
        entry = entry_of(fields, header, place, module + REGION.size, module)
        if (entry.unpacked_size or 0) <= MOST_STUB:
            entry = images.marked(packed_as(entry, end - fields[3])).entry
        elif counts is not None:
            counts.add(fields, header, entry)
        yield entry
    return at


def _is_lone(fields: tuple[int, ...], size: int) -> bool:
    kind, _, header, payload, packed, *_ = fields
    fits = header + payload == size and packed <= payload
    return fits and LAYOUT.size <= header <= _MOST_HEADER and kind != CONCATENATED


# Starting processes takes longer than reading less than this.
_WORTH_PROCESSES = 1 << 25
# So does loading numpy.
_WORTH_ARRAYS = 1 << 25


def read_containers(span: FileSpan, place: Place, want: ReadOptions) -> Iterator[Item]:
    """Yield the entries, kernels and damage of every container in *span*, module by module."""
    if not want.kernels:
        counts = TallyByHeader() if want.counted else None
        yield from cast("Iterator[Item]", _listing(span, place, counts))
        return
    if want.processes > 1 and place.member is None and span.size >= _WORTH_PROCESSES:
        from gpuadvise.advisor.binaries.parallel.pool import read_in_parallel

        yield from read_in_parallel(_steps(span, place, want), place.path, span, want)
        return
    from gpuadvise.advisor.binaries.parallel.batches import read_batch
    from gpuadvise.advisor.binaries.parallel.prefetch import (
        Buffers,
        decompressed_ahead,  # listings need none
    )

    images = Images(span.part(0, span.size))
    arrays = span.size >= _WORTH_ARRAYS
    for steps in decompressed_ahead(_steps(span, place, want), images, Buffers()):
        items = read_batch(steps, arrays=arrays, instructions=want.instructions)
        yield from cast("Iterator[Item]", items)


def _listing(
    span: FileSpan, place: Place, counts: TallyByHeader | None
) -> Iterator[Entry | EntryTally | Damage]:
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
    span: FileSpan, place: Place, sections: Sections, counts: TallyByHeader | None
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


def _steps(span: FileSpan, place: Place, want: ReadOptions) -> Iterator[Entry | Damage | Packed]:
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


def _wanted(packed: list[Packed], want: ReadOptions, *, inputs: bool) -> Iterator[Packed]:
    # What a device link consumed comes again, with final numbers, in what it made.
    entries = tuple(one.entry for one in packed if inputs or not one.entry.link_input)
    chosen = {id(entry) for entry in want.pick(entries)}
    yield from (one for one in packed if id(one.entry) in chosen)
