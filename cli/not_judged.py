"""What was asked for and could not be judged: neither passed nor failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import inert, plural, quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuadvise.advisor.binaries.model import Damage

# Enough to see what is wrong; the answer's data name them all.
_MOST_NOTES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJudged:
    """A file or folder of which nothing, or not all, was judged; *reason* is a sentence.

    *said* is the note about it, where that is not the path and the reason. *foreign*: it is of a
    kind that the command knows and does not judge, and nothing is damaged.
    """

    path: str
    reason: str
    said: str | None = None
    foreign: bool = False


def records(left: Iterable[NotJudged]) -> list[dict[str, str]]:
    """Return the ``not_judged`` of an answer's result."""
    return [{"path": item.path, "reason": item.reason} for item in left]


def notes(left: Sequence[NotJudged]) -> list[str]:
    """Return what to say of *left* on stderr."""
    shown = [item.said or f"{quoted_path(item.path)}: {item.reason}" for item in left[:_MOST_NOTES]]
    more = len(left) - len(shown)
    return [*shown, f"{plural(more, 'more file')} not judged."] if more else shown


def of_damage(damage: Iterable[Damage]) -> list[NotJudged]:
    """Return the damaged parts of files, as they stand in ``not_judged``."""
    left = []
    for part in damage:
        place = part.place
        name = place.path if place.member is None else f"{place.path}!{place.member}"
        left.append(NotJudged(path=inert(name), reason=part.message))
    return left


def of_tests(paths: Iterable[str]) -> list[str]:
    """Return a note on the Python files at *paths*, which test or measure other code by their names."""
    spared = list(paths)
    if not spared:
        return []
    if len(spared) == 1:
        return [
            f"{quoted_path(spared[0])} tests other code, or is set aside, by its name: its speed is not judged."
        ]
    return [
        f"{len(spared):,} files test other code, or are set aside, by their names: their speed is not judged."
    ]
