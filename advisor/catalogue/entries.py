"""The catalogue's GPUs as values: one by its id, or all of them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuadvise.advisor.catalogue.capabilities import architecture_of, known_capability, limits_of
from gpuadvise.advisor.catalogue.files import line_of, text_of
from gpuadvise.advisor.device import Device, Origin
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted

if TYPE_CHECKING:
    from gpuadvise.advisor.capability import Capability

_FILE = "gpus.json"
_SLICED = ("sm_count", "memory_bytes", "memory_bandwidth", "l2_bytes", "async_engines")
# Facts of the whole GPU that its slices do not have.
_WHOLE_ONLY = (
    "id",
    "published_bandwidth",
    "memory_bus_bits",
    "persisting_l2_bytes",
    "nvlink_bandwidth",
    "power_limit_watts",
)
_SLICE_PEAKS = "derived: the whole GPU's peak x share of its SMs"
_SLICE_SOURCE = "catalogue: NVIDIA's MIG user guide, supported profiles; nvidia-smi mig -lgip"


class CatalogueEntry(NamedTuple):
    """One GPU of the catalogue: its facts, and every name it is known by."""

    device: Device
    id: str
    aliases: tuple[str, ...]
    driver_names: tuple[str, ...]


def entry(id: str) -> CatalogueEntry:
    """Return the entry whose catalogue id is *id*; raises KeyError."""
    return _entry(id, line_of(_FILE, id))


@cache
def entries() -> tuple[CatalogueEntry, ...]:
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


def with_capability(capability: Capability) -> tuple[CatalogueEntry, ...]:
    """Return every GPU of the catalogue that has *capability*, in its order."""
    text = str(capability)
    return tuple(entry for entry in entries() if str(entry.device.capability) == text)


def slice_of(whole: Device, profile: str) -> Device:
    """Return the MIG slice *profile* (``1g.10gb``) of the catalogue's GPU *whole*.

    Its memory, L2 and bandwidth are the share of its memory slices, its peaks that of its SMs.
    Raises BadInput that names the profiles for another one, or for a GPU without any.
    """
    profiles = line_of("slices.json", whole.id or "")
    if not profiles:
        raise BadInput(f"No MIG profiles are known of {whole.name}.")
    if profile not in profiles:
        known = and_list(list(profiles))
        raise BadInput(
            f"{whole.name} has no MIG profile {quoted(profile)}.", hint=f"It has {known}."
        )
    sms, share, copy_engines = profiles[profile]
    shared_sms = sms / whole.sm_count if sms and whole.sm_count else 0
    kept = {
        field: source
        for field, source in whole.sources.items()
        if field not in _WHOLE_ONLY and not field.startswith("peaks.")
    }
    unknown: dict[str, Any] = dict.fromkeys(_WHOLE_ONLY)
    return replace(
        whole,
        **unknown,
        name=f"{whole.name} MIG {profile}",
        sm_count=sms,
        memory_bytes=_share(whole.memory_bytes, share),
        memory_bandwidth=whole.memory_bandwidth and whole.memory_bandwidth * share,
        l2_bytes=_share(whole.l2_bytes, share),
        async_engines=copy_engines,
        peaks={kind: peak * shared_sms for kind, peak in whole.peaks.items() if shared_sms},
        notes=(*whole.notes, "All slices of a GPU share its link to the host."),
        sources=kept | dict.fromkeys(_SLICED, _SLICE_SOURCE) | {"peaks": _SLICE_PEAKS},
    )


def _share(size: int | None, share: float) -> int | None:
    return None if size is None else int(size * share)


def names_of(gpu: CatalogueEntry) -> tuple[str, ...]:
    """Return every name that *each* is known by."""
    return (gpu.id, gpu.device.name, *gpu.aliases, *gpu.driver_names)


def _entry(id: str, record: dict[str, Any]) -> CatalogueEntry:
    names = {key: tuple(record.pop(key)) for key in ("aliases", "driver_names")}
    capability = known_capability(record.pop("capability"))
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
    return CatalogueEntry(device=device, id=id, **names)
