"""What of a file could not be read, said alike by every command that reads files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.binaries.model import Damage, Place

# Enough to see what is wrong; the rest is counted.
_MOST_NOTES = 3


def damage_notes(damage: Sequence[Damage]) -> tuple[str, ...]:
    """Return what to say beside an answer about the rest of the file."""
    shown = tuple(f"{_where(part.place)}: {part.message}" for part in damage[:_MOST_NOTES])
    more = len(damage) - len(shown)
    return (*shown, f"{plural(more, 'more part')} cannot be read.") if more else shown


def unreadable(names: str, damage: Sequence[Damage]) -> BadInput:
    """Return the error for files of which nothing could be read."""
    return BadInput(
        f"{names} cannot be read. {damage[0].message}", hint="Is the copy or download complete?"
    )


def _where(place: Place) -> str:
    name = place.path if place.member is None else f"{place.path}!{place.member}"
    return name if place.offset is None else f"{name} at byte {place.offset:,}"
