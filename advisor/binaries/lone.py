"""Containers of one entry each, one behind the other: some libraries have ten thousands of them.

Only what is as it should be is read here: whatever else there is ends the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.entries import CONCATENATED, LAYOUT, entry_of, packed_as
from gpuadvise.advisor.binaries.fatbin import PATTERN, REGION
from gpuadvise.advisor.binaries.scan import ALIGNMENT, NEAR
from gpuadvise.advisor.binaries.span import AHEAD
from gpuadvise.advisor.binaries.stubs import MOST_STUB

if TYPE_CHECKING:
    from collections.abc import Generator

    from gpuadvise.advisor.binaries.counted import Counts
    from gpuadvise.advisor.binaries.images import Images
    from gpuadvise.advisor.binaries.model import Entry, Place
    from gpuadvise.advisor.binaries.span import Span

_MOST_HEADER = AHEAD - NEAR - REGION.size


def lone_entries(
    span: Span, images: Images, at: int, until: int, place: Place, counts: Counts | None
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
