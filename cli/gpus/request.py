"""Which GPUs of the catalogue a query means: one, several side by side, or a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.catalogue import (
    NamedGpu,
    candidates,
    described_by,
    entries,
    named_gpus,
    refusal,
    search,
    with_capability,
)
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
    described = _described(query)
    entries = tuple(entry for entry in described.entries if entry.id in ids)
    if not entries:
        words = quoted(" ".join(query))
        raise BadInput(f"{words} describes no GPU of compute capability {quoted(cc)}.")
    return Chosen(entries=entries, compared=described.compared)


def _described(query: Sequence[str]) -> Chosen:
    """Return the GPUs of *query*; raises BadInput that names the nearest ones for none.

    All words together are tried as one description first (``rtx 4090``, ``hopper``), then each
    word as a GPU of its own (``h100 h200 rtx4090``). Pasted lines and lists (``h100, a100``) name
    their GPUs one by one.
    """
    if not query:
        return Chosen(entries=entries())
    whole = " ".join(query)
    named = named_gpus(whole)
    if len(named) == 1:
        described = described_by(named[0]) if named[0] != NamedGpu(named[0].name) else ()
        if matches := described or search(named[0].name):
            return Chosen(entries=matches, note=_what_gpu_takes(named[0], matches))
        words = query if len(query) > 1 else whole.split()
        if len(query) == 1 and not (words and all(map(candidates, words))):
            raise _nothing(named[0].name)
        named = tuple(map(NamedGpu, words))
    lists = [_each(gpu) for gpu in named]
    unique = {entry.id: entry for matches in lists for entry in matches}
    compared = all(len(matches) == 1 for matches in lists)
    return Chosen(entries=tuple(unique.values()), compared=compared)


def _each(named: NamedGpu) -> tuple[CatalogueEntry, ...]:
    matches = described_by(named)
    if len(matches) != 1:
        matches = search(named.name)
    if not matches:
        raise _nothing(named.name)
    return matches


def _what_gpu_takes(named: NamedGpu, entries: tuple[CatalogueEntry, ...]) -> str | None:
    exact = candidates(named.name)
    if len(entries) == 1 or len(exact) != 1:
        return None
    return f"--gpu {quoted(named.name)} takes {exact[0].id}."


def _nothing(text: str) -> BadInput:
    message, hint = refusal(text, "describes")
    return BadInput(message, hint=hint)
