"""Containers of one entry each, one behind the other: some libraries have ten thousands of them.

Only what is as it should be is read here: whatever else there is ends the run.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.entries import CONCATENATED, LAYOUT, entry_of, packed_as
from gpuadvise.advisor.binaries.fatbin import PATTERN, REGION
from gpuadvise.advisor.binaries.images import MOST_STUB
from gpuadvise.advisor.binaries.model import Place
from gpuadvise.advisor.binaries.scan import ALIGNMENT, NEAR
from gpuadvise.advisor.binaries.span import AHEAD

if TYPE_CHECKING:
    from collections.abc import Generator

    from gpuadvise.advisor.binaries.images import Images
    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.binaries.span import Span

_as_place = partial(tuple.__new__, Place)


def lone_entries(
    span: Span, images: Images, at: int, until: int, place: Place
) -> Generator[Entry, None, int]:
    """Yield the entries of containers from *at* on that hold just one and end before *until*.

    Returns where the run ends, and the search for the next container goes on.
    """
    path, member, section, _, line = place
    at += -at % ALIGNMENT
    while at + AHEAD <= until:
        head = span.read(at, AHEAD)
        skipped = head.find(PATTERN, 0, NEAR)
        if skipped < 0 or skipped % ALIGNMENT:
            break
        module = at + skipped
        body = skipped + REGION.size
        _, size = REGION.unpack_from(head, skipped)
        end = module + REGION.size + size
        fields = LAYOUT.unpack_from(head, body)
        kind, _, header, payload, packed, *_ = fields
        whole = header + payload == size and packed <= payload and end <= until
        if not whole or not LAYOUT.size <= header <= AHEAD - body or kind == CONCATENATED:
            break
        where = _as_place((path, member, section, module + REGION.size, line))
        entry = entry_of(fields, head[body : body + header], where, module)
        if (entry.unpacked_size or 0) > MOST_STUB:
            yield entry
        else:
            yield images.marked(packed_as(entry, end - payload)).entry
        at = end + -end % ALIGNMENT
    return at
