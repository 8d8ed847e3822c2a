"""The limits and the throughput of every compute capability, from the generated tables."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.files import text_of
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.limits import Limits, RegisterAllocation, SharedMode
from gpuadvise.advisor.prose import and_list

if TYPE_CHECKING:
    from gpuadvise.advisor.throughput import Throughput

# The last generation whose list of capabilities is closed. From 10 on new minor numbers still
# appear, so an unknown one is answered from the nearest older documented capability.
_CLOSED_MAJOR = 9


@cache
def limits_of(capability: Capability) -> tuple[Limits, bool]:
    """Return the limits of *capability*, and whether they are only those of an older one.

    An unknown newer capability gets the limits of the nearest older documented one and True.
    Raises BadInput for a capability that never existed. Source: catalogue/capabilities.toml.
    """
    stands_for = _stand_in(capability)
    return _limits(stands_for), stands_for != str(capability)


def throughput_of(capability: Capability) -> Throughput:
    """Return results per clock and SM; every field is None for an unknown newer capability.

    Raises BadInput for a capability that never existed. Source: catalogue/capabilities.toml.
    """
    from gpuadvise.advisor.throughput import Throughput  # most look-ups never ask

    if _stand_in(capability) != str(capability):
        return Throughput()
    return Throughput(**_table("throughput.json")[str(capability)])


def architecture_of(capability: Capability) -> str:
    """Return the name of the architecture, such as ``Hopper``, of a known *capability*."""
    architecture: str = _table("limits.json")["rows"][str(capability)][1]
    return architecture


def nearest_documented(capability: Capability) -> Capability:
    """Return *capability* itself, or the older one whose limits stand for it; raises BadInput."""
    return known_capability(_stand_in(capability))


def known_capabilities() -> tuple[Capability, ...]:
    """Return every capability of the catalogue that is not another's old name, oldest first."""
    rows = _table("limits.json")["rows"]
    return tuple(known_capability(cc) for cc, row in rows.items() if row[0] != "superseded")


def _stand_in(capability: Capability) -> str:
    rows = _table("limits.json")["rows"]
    if str(capability) in rows:
        return str(capability)
    if capability.major <= _CLOSED_MAJOR:
        raise BadInput(_never(capability), hint="See gpuadvise occupancy --all-cc for the list.")
    documented = (known_capability(cc) for cc, row in rows.items() if row[0] == "documented")
    return str(max(known for known in documented if known < capability))


def _never(capability: Capability) -> str:
    same = [str(cc) for cc in known_capabilities() if cc.major == capability.major]
    known = f"{and_list(same)} exist" if len(same) > 1 else f"{and_list(same)} exists"
    rest = f"; of {capability.major}.x only {known}." if same else "; the oldest is 1.0."
    if not same and capability.major:
        rest = f"; there is no {capability.major}.x."
    return f"No GPU has compute capability {capability}{rest}"


def known_capability(cc: str) -> Capability:
    """Return the capability that the catalogue writes as *cc*: ``9.0``."""
    major, minor = cc.split(".")
    return Capability(int(major), int(minor))


@cache
def _limits(cc: str) -> Limits:
    table = _table("limits.json")
    fields: dict[str, Any] = dict(zip(table["fields"], table["rows"][cc][2:], strict=True))
    for name, value in fields.items():
        if isinstance(value, list):
            fields[name] = tuple(value)
    fields["register_allocation"] = RegisterAllocation(fields["register_allocation"])
    fields["shared_memory_config_mode"] = SharedMode(fields["shared_memory_config_mode"])
    return Limits(**fields)


@cache
def _table(name: str) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(text_of(name))
    return table
