"""The catalogue's GPUs as values: one by its id, or all of them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

from gpuadvise.advisor.capability import Capability, parse_capability
from gpuadvise.advisor.catalogue.capabilities import architecture_of, limits_of
from gpuadvise.advisor.catalogue.files import line_of, text_of
from gpuadvise.advisor.catalogue.names import words
from gpuadvise.advisor.device import Device, Origin

_FILE = "gpus.json"


class Entry(NamedTuple):
    """One GPU of the catalogue: its facts, and every name it is known by."""

    device: Device
    id: str
    aliases: tuple[str, ...]
    driver_names: tuple[str, ...]


def entry(id: str) -> Entry:
    """Return the entry whose catalogue id is *id*; raises KeyError."""
    return _entry(id, line_of(_FILE, id))


@cache
def entries() -> tuple[Entry, ...]:
    """Return every GPU of the catalogue, data-centre parts first, newest first in each file."""
    return tuple(_entry(id, record) for id, record in json.loads(text_of(_FILE)).items())


def by_capability(capability: Capability) -> Device:
    """Return a device of which only *capability* is known: limits, and no product's facts.

    Raises BadInput for a capability that never existed.
    """
    limits, extrapolated = limits_of(capability)
    return Device(
        name=f"compute capability {capability}",
        capability=capability,
        limits=limits,
        origin=Origin.CAPABILITY,
        extrapolated=extrapolated,
        architecture=None if extrapolated else architecture_of(capability),
        sources={"capability": "you", "limits": "catalogue: capabilities.toml"},
    )


def all_words(each: Entry) -> set[str]:
    """Return every word of *each*'s names, and of its memory's size and type."""
    device = each.device
    size = f"{device.memory_bytes >> 30}gb" if device.memory_bytes else ""
    names = (device.name, *each.aliases, *each.driver_names, device.memory_type or "", size)
    return {word for name in names for word in words(name)}


def _entry(id: str, record: dict[str, Any]) -> Entry:
    names = {key: tuple(record.pop(key)) for key in ("aliases", "driver_names")}
    capability = parse_capability(record.pop("capability"))
    sources = record.pop("sources").items()
    device = Device(
        id=id,
        capability=capability,
        limits=limits_of(capability)[0],
        origin=Origin.CATALOGUE,
        product_class=record.pop("class"),
        notes=tuple(record.pop("notes")),
        sources={field: sentence for sentence, fields in sources for field in fields},
        **record,
    )
    return Entry(device=device, id=id, **names)
