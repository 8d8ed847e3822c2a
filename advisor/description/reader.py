"""One described kernel becomes facts; every fault names the path of keys that leads to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.description.keys import LAUNCH
from gpuadvise.advisor.description.tables import (
    DescriptionFault,
    Key,
    Table,
    unknown_key,
)
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.bag import SUPPLY, Facts
from gpuadvise.advisor.facts.derive import facts_of
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.values import text, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from gpuadvise.advisor.description.tables import Path
    from gpuadvise.advisor.device import Device

    # From the texts of `gpu` and `cc` (either may be None) to a device; raises BadInput.
    DeviceFinder: TypeAlias = Callable[[str | None, str | None], Device | None]

# By their keys: the facts of one value each, and those of a table or of a list of tables.
_PLAIN = {
    supply.key: Key(name, supply.read)
    for name, supply in SUPPLY.items()
    if supply.key and supply.read and not isinstance(supply.read, Table)
}
_TABLES = {
    supply.key: (name, supply.read)
    for name, supply in SUPPLY.items()
    if supply.key and isinstance(supply.read, Table)
}
_DEVICE = ("gpu", "cc")
_OTHERS = ("devices",)
_SELECTION = ("select", "ignore")
_ALSO = {"static_smem": "smem"}  # as the kernels command calls it
KEYS = (*_PLAIN, *_DEVICE, *_OTHERS, *LAUNCH, *_TABLES, *_SELECTION)
_KNOWN = frozenset(KEYS)
# Keys that say nothing which could be judged.
NO_FACTS = frozenset(_SELECTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The facts of one kernel, and the rules its author wants or does not want."""

    facts: Facts
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what the author should know about how it was read
    file: str | None = None  # the report that holds its launches
    launch_ids: tuple[int, ...] = ()  # their numbers in it
    seconds: float | None = None  # of all its launches, where each was measured
    traced: bool = False  # of a timeline, which tells no more than shapes and times


def described(raw: object, find_device: DeviceFinder, path: Path = ()) -> Described:
    """Return the kernel that *raw*, a table as TOML or JSON gives it, describes; raises Fault."""
    if not isinstance(raw, dict):
        raise DescriptionFault(path, "A kernel is described by a table of keys.")
    for key in raw:
        if key not in _KNOWN and not (key in _ALSO and _ALSO[key] not in raw):
            raise unknown_key(key, dict.fromkeys(KEYS), path)
    raw = _with_names(raw)
    return Described(
        facts=facts_of(_given(raw, find_device, path)),
        select=_read(texts, raw, "select", path) or (),
        ignore=_read(texts, raw, "ignore", path) or (),
        notes=_notes(raw),
    )


def _with_names(raw: dict[str, Any]) -> dict[str, Any]:
    """Return *raw* with every key under the name that `KEYS` has for it."""
    if _ALSO.keys().isdisjoint(raw):
        return raw
    return {_ALSO.get(key, key): value for key, value in raw.items()}


def _notes(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the note on offsets without a unit, which counted bytes before they had units."""
    offsets = [access.get("offset") for access in raw.get("accesses", ())]
    offset = next((value for value in offsets if value and not isinstance(value, str)), None)
    if offset is None:
        return ()
    return (f'offset = {offset} counts elements: write "{offset}B" for bytes.',)


def _given(raw: Mapping[str, Any], find_device: DeviceFinder, path: Path) -> dict[str, Any]:
    """Return the facts that *raw* itself gives, by name."""
    given = _plain(raw, _PLAIN, path)
    for key, (name, table) in _TABLES.items():
        if key in raw:
            given[name] = table.value(raw[key], (*path, key))
    if "devices" in raw:
        given["devices"] = _devices(raw["devices"], find_device, path)
    given |= {"device": _device(raw, find_device, path), "launch": _launch(raw, path)}
    return {name: value for name, value in given.items() if value is not None}


def _devices(raw: object, find_device: DeviceFinder, path: Path) -> tuple[Device | None, ...]:
    try:
        return tuple(find_device(name, None) for name in texts(raw))
    except BadInput as error:
        raise DescriptionFault((*path, "devices"), error.message, hint=error.hint) from None


def _plain(raw: Mapping[str, Any], keys: Mapping[str, Key], path: Path) -> dict[str, Any]:
    return {keys[key].field: _read(keys[key].read, raw, key, path) for key in raw if key in keys}


def _device(raw: Mapping[str, Any], find_device: DeviceFinder, path: Path) -> Device | None:
    names = [_read(text, raw, key, path) for key in _DEVICE]
    key = next((key for key in _DEVICE if key in raw), "gpu")
    try:
        return find_device(*names)
    except BadInput as error:
        raise DescriptionFault((*path, key), error.message, hint=error.hint) from None


def _launch(raw: Mapping[str, Any], path: Path) -> Launch | None:
    given = _plain(raw, LAUNCH, path)
    if "block_dim" not in given:
        if given:
            hint = "Give the threads per block: block = 256, or --block 256."
            raise DescriptionFault(path, "A launch is described without its block size.", hint=hint)
        return None
    try:
        return Launch(threads=math.prod(given["block_dim"]), **given)
    except BadInput as error:
        raise DescriptionFault(path, error.message, hint=error.hint) from None


def _read(read: Callable[[object], Any], raw: Mapping[str, Any], key: str, path: Path) -> Any:
    if key not in raw:
        return None
    try:
        return read(raw[key])
    except BadInput as error:
        raise DescriptionFault((*path, key), error.message, hint=error.hint) from None
