"""From what a person or a driver calls a GPU to its entry."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.catalogue.entries import (
    CatalogueEntry,
    by_capability,
    entries,
    entry,
    names_of,
    slice_of,
    with_capability,
)
from gpuadvise.advisor.catalogue.files import line_of, text_of
from gpuadvise.advisor.catalogue.names import VENDOR, all_words, key, sizes, unlisted, words
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, plural, quoted

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device

# The GPU that answers when nobody names one: the commonest data-centre part of the
# generation that the guide's examples were last measured on.
DEFAULT_GPU = "h100-sxm"
# No GPU's name comes near this; longer text is not compared with every one of them.
LONGEST = 80
_LONGEST_LINE = 200  # of nvidia-smi -L: a name and its UUID
# A driver shows up to a sixteenth less than the nominal size with ECC on GDDR, and firmware
# takes some more.
_MEMORY_SLACK = 0.12
# The slice in "NVIDIA H100 80GB HBM3 MIG 1g.10gb"; +me differs in media engines only.
_SLICE = re.compile(r"[\s-]*(?:\bmig[\s-]*)?\b(\d+g\.\d+gb)(?:\+me\S*)?\s*$", re.IGNORECASE)
# Words that may be left away: no two products differ in them alone.
_FREE = frozenset(("edition", "with"))


def find(name: str) -> Device:
    """Return the GPU that *name* means; case, spacing, brand and vendor words do not matter.

    Also accepts a line of ``nvidia-smi -L``, a cloud machine (``g5.xlarge``), a MIG slice (``H100
    MIG 1g.10gb``) and a compute capability (``9.0``, ``sm_90a``). Raises BadInput that names the
    candidates when there are several, and the nearest names when there is none.
    """
    name = _name_in(name)
    if slice := _SLICE.search(name):
        return _find_slice(name, slice)
    found = candidates(name)
    if len(found) == 1:
        return found[0].device
    if found:
        some = and_list([each.id for each in found[:6]], "or")
        more = ", among others" if len(found) > 6 else ""
        raise BadInput(f"{quoted(name)} can be {some}{more}.", hint="Name one of them.")
    capability = _as_capability(name)
    if capability is None:
        raise BadInput(f"{quoted(name)} is no GPU of the catalogue.", hint=nearest(name))
    return capability


def _name_in(text: str) -> str:
    return unlisted(text) if len(text) <= _LONGEST_LINE else text


def _find_slice(name: str, slice: re.Match[str]) -> Device:
    whole = name[: slice.start()]
    if not words(whole):
        raise BadInput(
            f"{quoted(name)} is a slice of a GPU.", hint="Name the GPU before it: h100 1g.10gb."
        )
    return slice_of(find(whole), slice[1].lower())


def candidates(name: str) -> tuple[CatalogueEntry, ...]:
    """Return the GPUs that *name* may mean: one, several, or none."""
    name = _name_in(name)
    if len(name) > LONGEST or not (wanted := words(name)):
        return ()
    if ids := line_of("names.json", f"={name.strip()}"):
        return tuple(entry(id) for id in ids)
    # Google's labels read like names, and mean another part of the family.
    if name.strip().lower().startswith("nvidia-") and (id := _in_cloud(name)):
        return (entry(id),)
    if ids := line_of("names.json", key(name)):
        return tuple(entry(id) for id in ids)
    if _is_bare(name):
        return ()  # a bare number is a product or a capability, not a size of memory
    if id := _in_cloud(name):
        return (entry(id),)
    return _with_memory(name, wanted) or _of_words(set(wanted))


def _in_cloud(name: str) -> str | None:
    """Return the id of the GPU in the cloud machine *name*."""
    machine = name.strip().lower()
    for pattern, ids in json.loads(text_of("clouds.json")).items():
        if match := re.fullmatch(pattern, machine):
            gpu: str = ids[(match.lastindex or 1) - 1]
            return gpu
    return None


def _with_memory(name: str, wanted: tuple[str, ...]) -> tuple[CatalogueEntry, ...]:
    """Return the GPUs of the name without its memory, where they have just that memory."""
    said = sizes(name) | {word for word in wanted if word in _memory_types()}
    rest = "".join(word for word in wanted if word not in said)
    ids = line_of("names.json", rest) if said and rest else None
    return tuple(each for each in map(entry, ids or ()) if said <= _memory_words(each))


@cache
def _memory_types() -> set[str]:
    return {each.device.memory_type.lower() for each in entries() if each.device.memory_type}


def _memory_words(each: CatalogueEntry) -> set[str]:
    device = each.device
    size = str(device.memory_bytes >> 30) if device.memory_bytes else ""
    return {size, (device.memory_type or "").lower()}


def _of_words(wanted: set[str]) -> tuple[CatalogueEntry, ...]:
    """Return the GPUs whose names have all *wanted* words.

    A single one is meant only if a name of it has no other word but its memory: what tells
    products apart (Ti, Super, Laptop, RTX) is never supplied.
    """
    described = [each for each in entries() if _vocabulary()[each.id] >= wanted]
    if "quadro" in wanted and "rtx" not in wanted:  # Quadro 4000 is older than Quadro RTX 4000
        described = [each for each in described if "rtx" not in _vocabulary()[each.id]]
    if len(described) != 1:
        return tuple(described)
    (only,) = described
    free = _FREE | _memory_words(only)
    named = any(set(words(name)) <= wanted | free for name in names_of(only))
    return (only,) if named else ()


@cache
def _vocabulary() -> dict[str, set[str]]:
    """Return, by id, every word of a GPU's names that tells GPUs apart, and of its memory."""
    return {
        each.id: {word for name in names_of(each) for word in words(name)} | _memory_words(each)
        for each in entries()
    }


def identify(
    driver_name: str, *, sm_count: int | None = None, memory_bytes: int | None = None
) -> Device | None:
    """Return the GPU that a driver calls *driver_name*, or None unless exactly one fits.

    Modules and memory variants share driver names: SM count and memory tell them apart, and
    contradict a name that fits alone (a slice of a GPU, an engineering sample).
    """
    ids = line_of("names.json", f"={driver_name}") or line_of("drivers.json", key(driver_name))
    named = map(entry, ids or ())
    fitting = [each.device for each in named if _fits(each.device, sm_count, memory_bytes)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(device: Device, sm_count: int | None, memory_bytes: int | None) -> bool:
    if sm_count and device.sm_count and sm_count != device.sm_count:
        return False
    if not memory_bytes or not device.memory_bytes:
        return True
    return abs(memory_bytes / device.memory_bytes - 1) <= _MEMORY_SLACK


def _as_capability(name: str) -> Device | None:
    try:
        capability = parse_capability(name)
        device = by_capability(capability)
    except BadInput:
        return None
    # "750" is a lost GeForce, not capability 75.0.
    return None if _is_bare(name) and device.extrapolated else device


def _is_bare(name: str) -> bool:
    return name.strip(" -").isdigit()


def nearest(name: str) -> str:
    """Return a hint that names the GPUs that *name* describes, or whose names come nearest."""
    from difflib import get_close_matches  # only a failed look-up needs it

    described = [] if _is_bare(name) else [each.id for each in search(name)]
    if len(described) > 1:
        some = and_list(described[:4])
        such = f"such as {some}" if len(described) > 4 else some
        return f"It describes {plural(len(described), 'GPU')}, {such}; gpuadvise gpus lists them."
    index = json.loads(text_of("names.json"))
    wanted = key(name[:LONGEST])
    near = get_close_matches(wanted, index, n=8, cutoff=0.4)
    near.sort(key=lambda each: sorted(each) != sorted(wanted))  # swapped letters come first
    families = get_close_matches(wanted, _architectures(), n=1, cutoff=0.75)
    names = (id for each in near[:4] for id in index[each])
    ids = list(dict.fromkeys([*described, *families, *names]))
    listing = "gpuadvise gpus lists them all."
    return f"Nearest: {and_list(ids[:4], 'or')}; {listing}" if ids else listing


@cache
def _architectures() -> tuple[str, ...]:
    """Return the names of the architectures, which describe GPUs as words do."""
    known = (each.device.architecture for each in entries())
    return tuple(sorted({name.lower() for name in known if name}))


def search(text: str) -> tuple[CatalogueEntry, ...]:
    """Return the GPUs that *text* describes, in the catalogue's order; none is an empty answer.

    All its words must be among an entry's names, memory size and type, class, architecture
    and chip. A compute capability (``9.0``, ``sm_90a``) finds every GPU that has it.
    """
    if len(text) > LONGEST or not all_words(text):
        return ()
    wanted = set(all_words(text)) - VENDOR
    exact = candidates(text)
    found = tuple(each for each in entries() if each in exact or _described(each.id) >= wanted)
    return found or _with_text_capability(text)


@cache
def _described(id: str) -> set[str]:
    device = entry(id).device
    about = f"{device.product_class} {device.architecture} {device.chip}"
    every = (about, *names_of(entry(id)))
    return {word for text in every for word in all_words(text)} | _memory_words(entry(id))


def _with_text_capability(text: str) -> tuple[CatalogueEntry, ...]:
    try:
        return with_capability(parse_capability(text))
    except BadInput:
        return ()
