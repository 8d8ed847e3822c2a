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
from gpuadvise.advisor.catalogue.names import (
    VENDOR,
    NamedGpu,
    all_words,
    key,
    sizes,
    without_uuids,
    words,
)
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
# Compiled on first use: the names that most people type stand in the table as they are.
# The slice in "NVIDIA H100 80GB HBM3 MIG 1g.10gb"; +me differs in media engines only.
_SLICE = r"[\s_-]*(?:\bmig[\s_-]*)?(?<![a-z\d])(\d+c\.)?(\d+g\.\d+gb)(?:\+me\S*)?\s*$"
# lspci's: GL is a workstation's chip, M a laptop's.
_CHIP_SUFFIX = r"(?:GLM|GL|BM|M)$"
# What counts the GPUs of a machine.
_COUNTED = r"\s*(?:gpu|device|cuda)[\s:#-]*\d+\s*"
# nvidia-smi's table cuts names short, and with them what tells products apart.
_CUT = ("...", "…")


def find(name: str) -> Device:
    """Return the GPU that *name* means; case, spacing, brand and vendor words do not matter.

    Also accepts what tools print of a GPU (``tool_output``), a cloud machine (``g5.xlarge``), a MIG
    slice (``H100 MIG 1g.10gb``) and a compute capability (``9.0``, ``sm_90a``). Raises BadInput that
    names the candidates when there are several, and the nearest names when there is none.
    """
    named = named_gpus(name)
    devices = {device.name: device for device in map(_find_named, named)}
    if len(devices) == 1:
        return next(iter(devices.values()))
    some = and_list([device.id or device.name for device in devices.values()])
    raise BadInput(
        f"{_shown(', '.join(gpu.name for gpu in named))} names {len(devices)} GPUs, {some}, "
        "where one is accepted.",
        hint="Name one of them; gpuadvise gpus compares several.",
    )


def named_gpus(text: str) -> tuple[NamedGpu, ...]:
    """Return the GPUs that *text* names: a name, what tools print of GPUs, or a list of names."""
    if len(text) <= LONGEST and (_entered(text) or line_of("names.json", key(text))):
        return (NamedGpu(text.strip(" \t\r\n'\"")),)
    from gpuadvise.advisor.catalogue.tool_output import gpus_in  # few names are pasted lines

    return gpus_in(text)


def _find_named(named: NamedGpu) -> Device:
    name = named.name
    if slice := _slice_in(name):
        return _find_slice(name, slice)
    matches = described_by(named)
    if len(matches) == 1:
        return matches[0].device
    if matches:
        some = and_list([gpu.id for gpu in matches[:6]], "or")
        more = ", among others" if len(matches) > 6 else ""
        raise BadInput(f"{_shown(name)} can be {some}{more}.", hint="Name one of them.")
    capability = _as_capability(name)
    if capability is None:
        message, hint = refusal(name)
        raise BadInput(message, hint=hint)
    return capability


def _slice_in(name: str) -> re.Match[str] | None:
    return re.search(_SLICE, name, re.IGNORECASE) if "g." in name.lower() else None


def _shown(name: str) -> str:
    return quoted(without_uuids(name))


def _find_slice(name: str, slice: re.Match[str]) -> Device:
    whole = name[: slice.start()]
    if not words(whole):
        raise BadInput(
            f"{_shown(name)} is a slice of a GPU.", hint="Name the GPU before it: h100 1g.10gb."
        )
    if slice[1]:
        raise BadInput(
            f"{_shown(name)} is a compute instance, a part of a slice.",
            hint=f"Name the slice: {slice[2].lower()}.",
        )
    return slice_of(find(whole), slice[2].lower())


def described_by(named: NamedGpu) -> tuple[CatalogueEntry, ...]:
    """Return the GPUs that *named* may be: those of its name that its chip and facts allow.

    Raises BadInput where the facts contradict every GPU of that name.
    """
    matches = candidates(named.name)
    if named.sm_count or named.memory_bytes:
        same = _of_driver(named.name)
        matches += tuple(gpu for gpu in same if gpu not in matches)
    fitting = tuple(gpu for gpu in matches if _allows(named, gpu.device))
    if matches and not fitting:
        raise _contradiction(named, matches)
    return fitting


def _allows(named: NamedGpu, device: Device) -> bool:
    if named.chip and device.chip and re.sub(_CHIP_SUFFIX, "", named.chip.upper()) != device.chip:
        return False
    return _fits(device, named.sm_count, named.memory_bytes)


def _contradiction(named: NamedGpu, matches: tuple[CatalogueEntry, ...]) -> BadInput:
    facts = [f"the chip {named.chip}"] if named.chip else []
    facts += [plural(named.sm_count, "SM")] if named.sm_count else []
    facts += [f"{named.memory_bytes >> 20:,} MiB"] if named.memory_bytes else []
    some = and_list([f"{gpu.id} ({gpu.device.chip})" for gpu in matches[:4]], "and")
    slices = "" if named.chip else " A MIG slice is named after its GPU, as h100 1g.10gb."
    return BadInput(
        f"The catalogue has no {_shown(named.name)} with {and_list(facts)}.",
        hint=f"It has {some}.{slices}",
    )


def candidates(name: str) -> tuple[CatalogueEntry, ...]:
    """Return the GPUs that *name* may mean: one, several, or none."""
    if ids := _entered(name):
        return tuple(entry(id) for id in ids)
    if len(name) > LONGEST or name.rstrip().endswith(_CUT) or not (wanted := words(name)):
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
    if {"laptop", "maxq"} <= set(wanted):
        return _mobile_or_max_q(wanted)
    return _with_memory(name, wanted) or _of_words(set(wanted))


def _entered(name: str) -> list[str] | None:
    """Return the ids of the GPUs that the table has under just *name*: ``h100`` or ``h100-sxm``."""
    if name.isalnum():
        ids: list[str] | None = line_of("names.json", name)
        return ids
    return [name] if line_of("gpus.json", name) else None


def _mobile_or_max_q(wanted: tuple[str, ...]) -> tuple[CatalogueEntry, ...]:
    """Return the GPUs of lspci's "Mobile / Max-Q", which is two products up to Turing."""
    laptop, max_q = (
        candidates(" ".join(word for word in wanted if word != dropped))
        for dropped in ("maxq", "laptop")
    )
    return (*laptop, *max_q) if laptop else ()


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
    return tuple(gpu for gpu in map(entry, ids or ()) if said <= _memory_words(gpu))


@cache
def _memory_types() -> set[str]:
    return {gpu.device.memory_type.lower() for gpu in entries() if gpu.device.memory_type}


def _memory_words(gpu: CatalogueEntry) -> set[str]:
    device = gpu.device
    memory = device.memory_bytes or 0
    size = str(memory >> 30) if memory >= 1 << 30 else ""
    return {size, (device.memory_type or "").lower()}


def _of_words(wanted: set[str]) -> tuple[CatalogueEntry, ...]:
    """Return the GPUs whose names have all *wanted* words.

    A single one is meant only if a name of it has no other word but its memory: what tells
    products apart (Ti, Super, Laptop, RTX) is never supplied.
    """
    described = [gpu for gpu in entries() if _vocabulary()[gpu.id] >= wanted]
    if "quadro" in wanted and "rtx" not in wanted:  # Quadro 4000 is older than Quadro RTX 4000
        described = [gpu for gpu in described if "rtx" not in _vocabulary()[gpu.id]]
    if len(described) != 1:
        return tuple(described)
    (only,) = described
    free = _memory_words(only)
    named = any(set(words(name)) <= wanted | free for name in names_of(only))
    return (only,) if named else ()


@cache
def _vocabulary() -> dict[str, set[str]]:
    """Return, by id, every word of a GPU's names that tells GPUs apart, and of its memory."""
    return {
        gpu.id: {word for name in names_of(gpu) for word in words(name)} | _memory_words(gpu)
        for gpu in entries()
    }


def identify(
    driver_name: str, *, sm_count: int | None = None, memory_bytes: int | None = None
) -> Device | None:
    """Return the GPU that a driver calls *driver_name*, or None unless exactly one fits.

    Modules and memory variants share driver names: SM count and memory tell them apart, and
    contradict a name that fits alone (a slice of a GPU, an engineering sample).
    """
    named = _of_driver(driver_name)
    fitting = [gpu.device for gpu in named if _fits(gpu.device, sm_count, memory_bytes)]
    return fitting[0] if len(fitting) == 1 else None


def _of_driver(name: str) -> tuple[CatalogueEntry, ...]:
    """Return the GPUs that a driver calls *name*."""
    ids = line_of("names.json", f"={name}") or line_of("drivers.json", key(name))
    return tuple(map(entry, ids or ()))


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
    return name.strip(" -").isdigit() or bool(re.fullmatch(_COUNTED, name, re.IGNORECASE))


# What people paste that names no GPU of the catalogue, and what to tell them.
_NO_NAMES = (
    (
        r"\W*(?:CudaDevice\(.*|(?:torch\.)?device\(.*|jax\.devices\(.*|(?:cuda|gpu|device)\W*(?:device\W*)?\d*)\W*",
        "{} says which GPU of a machine it is, not what it is called.",
        "torch.cuda.get_device_name(0), jax.devices()[0].device_kind and nvidia-smi -L name it.",
    ),
    (
        r".*(?:\b10de:[0-9a-f]{4}\b|ven_10de&dev_|v000010ded|nvidia corporation device ).*|0x[0-9a-f]{4}",
        "{} is the PCI id of a device; the catalogue goes by names.",
        "lspci and nvidia-smi -L print the name.",
    ),
    (
        r".*(?:\.\.\.|…)",
        "{} is cut short.",
        "nvidia-smi -L prints the whole name.",
    ),
    (
        r"(?:grid |nvidia )*[a-z]+\d+\w*(?:-\w+)??(?:-\d+){1,2}[qcab]",
        "{} is a vGPU, a share of a GPU.",
        "Name the GPU itself: of its shares the catalogue knows the MIG slices alone.",
    ),
    (
        r"(?:standard_)?nv\d+adm?s_a10_v5|(?:ml\.)?gr?6f\.\w+",
        "{} has a part of a GPU.",
        "Name the GPU itself: of its shares the catalogue knows the MIG slices alone.",
    ),
    (
        r".*\b\d+g\.\d+gb(?:\+me\S*)?",
        "{} is a slice of a GPU.",
        "--gpu takes it: gpuadvise device --gpu {}.",
    ),
    (
        r".*\b(?:amd|ati|advanced micro devices|radeon|instinct|mi\d{2,3}[axp]?|gfx\d+|intel|arc|iris|gaudi\d?|apple|adreno"
        r"|mali|tpu|trainium\d?|inferentia\d?)\b.*",
        "{} is no GPU of NVIDIA's.",
        "The catalogue has NVIDIA's GPUs alone.",
    ),
)


def refusal(name: str, verb: str = "is") -> tuple[str, str]:
    """Return what to say of *name*, which *verb* no GPU of the catalogue, and what helps."""
    if len(name) <= LONGEST:
        for pattern, message, hint in _NO_NAMES:
            if re.fullmatch(pattern, name.strip(), re.IGNORECASE | re.DOTALL):
                return message.format(_shown(name)), hint.format(_shown(name))
    return f"{_shown(name)} {verb} no GPU of the catalogue.", nearest(name)


def nearest(name: str) -> str:
    """Return a hint that names the GPUs that *name* describes, or whose names come nearest."""
    from difflib import get_close_matches  # only a failed look-up needs it

    described = [] if _is_bare(name) else [gpu.id for gpu in search(name)]
    if len(described) > 1:
        some = and_list(described[:4])
        such = f"such as {some}" if len(described) > 4 else some
        return f"It describes {plural(len(described), 'GPU')}, {such}; gpuadvise gpus lists them."
    index = json.loads(text_of("names.json"))
    wanted = key(name[:LONGEST])
    near = get_close_matches(wanted, index, n=8, cutoff=0.4)
    near.sort(key=lambda spelling: sorted(spelling) != sorted(wanted))  # swapped letters come first
    families = get_close_matches(wanted, _architectures(), n=1, cutoff=0.75)
    names = (id for spelling in near[:4] for id in index[spelling])
    ids = list(dict.fromkeys([*described, *families, *names]))
    listing = "gpuadvise gpus lists them all."
    return f"Nearest: {and_list(ids[:4], 'or')}; {listing}" if ids else listing


@cache
def _architectures() -> tuple[str, ...]:
    """Return the names of the architectures, which describe GPUs as words do."""
    known = (gpu.device.architecture for gpu in entries())
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
    matches = tuple(gpu for gpu in entries() if gpu in exact or _described(gpu.id) >= wanted)
    return matches or _with_text_capability(text)


@cache
def _described(id: str) -> set[str]:
    device = entry(id).device
    about = f"{device.product_class} {device.architecture} {device.chip}"
    texts = (about, *names_of(entry(id)))
    return {word for text in texts for word in all_words(text)} | _memory_words(entry(id))


def _with_text_capability(text: str) -> tuple[CatalogueEntry, ...]:
    try:
        return with_capability(parse_capability(text))
    except BadInput:
        return ()
