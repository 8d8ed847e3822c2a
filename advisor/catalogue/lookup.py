"""From what a person or a driver calls a GPU to its entry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.catalogue.entries import Entry, all_words, by_capability, entries, entry
from gpuadvise.advisor.catalogue.files import line_of, text_of
from gpuadvise.advisor.catalogue.names import key, words
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, plural, quoted

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device

# The GPU that answers when nobody names one: the commonest data-centre part of the
# generation that the guide's examples were last measured on.
DEFAULT_GPU = "h100-sxm"
# No GPU's name comes near this; longer text is not compared with every one of them.
LONGEST = 80
# A driver shows up to a sixteenth less than the nominal size with ECC on GDDR, and firmware
# takes some more.
_MEMORY_SLACK = 0.12


def find(name: str) -> Device:
    """Return the GPU that *name* means; case, spacing, brand and vendor words do not matter.

    Also accepts a compute capability (``9.0``, ``sm_90a``). Raises BadInput that names the
    candidates when there are several, and the nearest names when there is none.
    """
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


def candidates(name: str) -> tuple[Entry, ...]:
    """Return the GPUs that *name* may mean: one, several, or none."""
    if len(name) > LONGEST or not (wanted := words(name)):
        return ()
    if ids := line_of("names.json", key(name)):
        return tuple(entry(id) for id in ids)
    if _is_bare(name):
        return ()  # a bare number is a product or a capability, not a size of memory
    return tuple(each for each in entries() if all_words(each).issuperset(wanted))


def identify(
    driver_name: str, *, sm_count: int | None = None, memory_bytes: int | None = None
) -> Device | None:
    """Return the GPU that a driver calls *driver_name*, or None unless exactly one fits.

    Modules and memory variants share driver names: SM count and memory tell them apart, and
    contradict a name that fits alone (a slice of a GPU, an engineering sample).
    """
    wanted = key(driver_name)
    named = (each for each in entries() if wanted in {key(name) for name in each.driver_names})
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
    if described:
        some = and_list(described[:4])
        such = f"such as {some}" if len(described) > 4 else some
        return f"It describes {plural(len(described), 'GPU')}, {such}; gpuadvise gpus lists them."
    index = json.loads(text_of("names.json"))
    near = get_close_matches(key(name[:LONGEST]), index, n=4, cutoff=0.5)
    ids = list(dict.fromkeys(id for each in near for id in index[each]))
    listing = "gpuadvise gpus lists them all."
    return f"Nearest: {and_list(ids, 'or')}; {listing}" if ids else listing


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
