"""What each of many images was made for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpuadvise.advisor.binaries import elf
from gpuadvise.advisor.binaries.cubin import identity
from gpuadvise.advisor.binaries.cubin.identity import CubinIdentity
from gpuadvise.advisor.binaries.span import Damaged, MemorySpan
from gpuadvise.advisor.capability import Capability

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.vectorized.tables import Tables


_NOBODY = CubinIdentity(
    capability=Capability(0, 0), toolkit=None, linked=False, new_abi=False, debug=False
)


def read_identities(tables: Tables) -> list[CubinIdentity]:
    """Return the identity of each image, anybody's for those without one, which are refused."""
    # All that an identity is read from, besides the header and the names.
    rows = np.flatnonzero(np.isin(tables.sections["type"], identity.SECTIONS))
    # They may all lie over each other: what they come to counts before any is looked at.
    tables.readable(rows[tables.sections["size"][rows] <= identity.MAX_NOTES])
    sections: list[list[elf.Section]] = [[] for _ in tables.images]
    for image, row in zip(tables.image[rows].tolist(), tables.sections[rows].tolist(), strict=True):
        sections[image].append(elf.Section._make(row))
    by_key: dict[tuple[object, ...], CubinIdentity | None] = {}
    identities = []
    for image, image_sections in enumerate(sections):
        key = _key(tables, image, image_sections)
        if key not in by_key:
            by_key[key] = _identity(tables, image, image_sections)
        identities.append(by_key[key])
    tables.refuse(np.array([image_identity is None for image_identity in identities], bool))
    return [image_identity or _NOBODY for image_identity in identities]


def _key(tables: Tables, image: int, sections: list[elf.Section]) -> tuple[object, ...]:
    """Return what tells one identity from another: those of the new ABI are often the same."""
    header, data = tables.headers[image], tables.images[image]
    if header is None or header.os_abi != identity.NEW_ABI or tables.refused[image]:
        return (image,)
    notes = (
        (kind, size, bytes(data[offset : offset + size]) if size <= identity.MAX_NOTES else b"")
        for _, kind, _, offset, size, *_ in sections
    )
    return (header.machine, header.type, header.flags, *notes)


def _identity(tables: Tables, image: int, sections: list[elf.Section]) -> CubinIdentity | None:
    header = tables.headers[image]
    if header is None or tables.refused[image]:
        return None
    names = elf.Section._make(tables.sections[tables.first[image] + header.names_index].tolist())
    span = MemorySpan(tables.images[image])
    try:
        return identity.identify(span, header, sections, elf.read_section(span, names))
    except Damaged:
        return None
