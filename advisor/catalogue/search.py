"""Every GPU that a few words describe, for people who look around."""

from __future__ import annotations

from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.catalogue.entries import Entry, all_words, entries
from gpuadvise.advisor.catalogue.lookup import LONGEST, candidates
from gpuadvise.advisor.catalogue.names import words
from gpuadvise.advisor.errors import BadInput


def search(text: str) -> tuple[Entry, ...]:
    """Return the GPUs that *text* describes, in the catalogue's order; none is an empty answer.

    All its words must be among an entry's names, memory size and type, class, architecture
    and chip. A compute capability (``9.0``, ``sm_90a``) finds every GPU that has it.
    """
    if len(text) > LONGEST:
        return ()
    wanted = words(text)
    exact = candidates(text)
    found = tuple(
        each for each in entries() if each in exact or (wanted and _described(each) >= set(wanted))
    )
    return found or _with_capability(text)


def _described(each: Entry) -> set[str]:
    device = each.device
    about = f"{device.product_class} {device.architecture} {device.chip}"
    return all_words(each) | set(words(about))


def _with_capability(text: str) -> tuple[Entry, ...]:
    try:
        asked = str(parse_capability(text))
    except BadInput:
        return ()
    return tuple(each for each in entries() if str(each.device.capability) == asked)
