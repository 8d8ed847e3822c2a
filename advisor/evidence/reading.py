"""What reading evidence has to say beside the evidence: notes, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import inert

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Damage


@dataclass(slots=True, kw_only=True)
class Reading:
    """Notes and damage, as they come while files are read."""

    notes: list[str] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)  # what of the files could not be read
    unread: list[Damage] = field(default_factory=list)  # what of recordings: only gates mind

    def note(self, *notes: str) -> None:
        """Keep those of *notes* that are new."""
        self.notes.extend(note for note in dict.fromkeys(notes) if note not in self.notes)

    def add(self, other: Reading) -> None:
        """Keep what *other* does."""
        self.note(*other.notes)
        self.damage += other.damage
        self.unread += other.unread

    def leave_out(self, path: str, reason: str) -> None:
        """Keep that the file *path* was not judged, or not all of it."""
        self.damage.append(_part(path, reason))

    def leave_unread(self, path: str, reason: str) -> None:
        """Keep, and note, what of the recording *path* could not be read."""
        self.unread.append(_part(path, reason))
        self.note(reason)


def _part(path: str, reason: str) -> Damage:
    from gpuadvise.advisor.binaries.model import Damage, Place

    return Damage(place=Place(path=inert(path)), message=reason)
