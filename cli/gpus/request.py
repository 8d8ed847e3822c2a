"""Which GPUs of the catalogue a query means: one, several side by side, or a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.catalogue import candidates, entries, nearest, search, with_capability
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.cli.options import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.catalogue import CatalogueEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The GPUs that a query means.

    *compared*: the user named each of them. *note*: what ``--gpu`` would take where the words
    describe more than one.
    """

    entries: tuple[CatalogueEntry, ...]
    compared: bool = False
    note: str | None = None


def chosen(query: Sequence[str], cc: str | None = None) -> Chosen:
    """Return the GPUs of *query*, of them those of compute capability *cc*; raises BadInput for none."""
    if cc is None:
        return _described(query)
    same = with_capability(named("--cc", parse_capability, cc))
    if not same:
        raise BadInput(f"--cc: no GPU of the catalogue has compute capability {quoted(cc)}.")
    if not query:
        return Chosen(entries=same)
    ids = {entry.id for entry in same}
    found = _described(query)
    entries = tuple(entry for entry in found.entries if entry.id in ids)
    if not entries:
        words = quoted(" ".join(query))
        raise BadInput(f"{words} describes no GPU of compute capability {quoted(cc)}.")
    return Chosen(entries=entries, compared=found.compared)


def _described(query: Sequence[str]) -> Chosen:
    """Return the GPUs of *query*; raises BadInput that names the nearest ones for none.

    All words together are tried as one description first (``rtx 4090``, ``hopper``), then each
    word as a GPU of its own (``h100 h200 rtx4090``).
    """
    if not query:
        return Chosen(entries=entries())
    whole = " ".join(query)
    if matches := search(whole):
        return Chosen(entries=matches, note=_what_gpu_takes(whole, matches))
    if len(query) == 1:
        raise _nothing(whole)
    lists = [_of_word(word) for word in query]
    unique = {entry.id: entry for matches in lists for entry in matches}
    compared = all(len(matches) == 1 for matches in lists)
    return Chosen(entries=tuple(unique.values()), compared=compared)


def _of_word(word: str) -> tuple[CatalogueEntry, ...]:
    matches = candidates(word)
    if len(matches) != 1:
        matches = search(word)
    if not matches:
        raise _nothing(word)
    return matches


def _what_gpu_takes(text: str, entries: tuple[CatalogueEntry, ...]) -> str | None:
    exact = candidates(text)
    if len(entries) == 1 or len(exact) != 1:
        return None
    return f"--gpu {quoted(text)} takes {exact[0].id}."


def _nothing(text: str) -> BadInput:
    return BadInput(f"{quoted(text)} describes no GPU of the catalogue.", hint=nearest(text))
