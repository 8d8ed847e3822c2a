"""Modules that hold the same, counted while their entries go by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.tally import EntryTally
from gpuadvise.advisor.compatibility.fit import is_input

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Entry

# What a driver's choice depends on.
Key = tuple[object, ...]


class Alike:
    """*count* modules of one path with the same entries in the same order; *module* is one."""

    __slots__ = ("count", "keys", "module", "path", "sizes")

    def __init__(self, path: str, keys: tuple[Key, ...], module: list[Entry]) -> None:
        self.path = path
        self.keys = keys
        self.module = module
        self.count = 0
        self.sizes = [0] * len(module)


def alike_modules(entries: Iterable[Entry | EntryTally]) -> Iterable[Alike]:
    """Return the modules of *entries*; those of one must follow each other, as readers do."""
    found: dict[object, Alike] = {}
    for module, count in _by_module(entries):
        place = module[0].place
        path = place.member or place.path
        keys = tuple(map(same_for_a_driver, module))
        alike = found.get((path, keys))
        if alike is None:
            alike = Alike(path, keys, module)
            found[path, keys] = alike
        alike.count += count
        for index, entry in enumerate(module):
            alike.sizes[index] += entry.size
    return found.values()


def same_for_a_driver(entry: Entry) -> Key:
    """Return all of *entry* that a driver's choice depends on."""
    # Plain values only: they hash several times faster than the records themselves.
    target = entry.capability
    number = target and (target.major, target.minor, target.variant)
    return (entry.content.value, number, entry.ptx_version, entry.new_abi, is_input(entry))


def _by_module(entries: Iterable[Entry | EntryTally]) -> Iterator[tuple[list[Entry], int]]:
    """Yield modules and how many there are; the sizes are those of all of them together."""
    module: list[Entry] = []
    for entry in entries:
        if module and (isinstance(entry, EntryTally) or not _together(module[0], entry)):
            yield module, 1
            module = []
        if isinstance(entry, EntryTally):
            yield [entry.entry._replace(size=entry.size)], entry.times
        else:
            module.append(entry)
    if module:
        yield module, 1


def _together(one: Entry, other: Entry) -> bool:
    """Return whether both entries are of one module."""
    if one.module is None or one.module != other.module:
        return False
    here, there = one.place, other.place
    return (here.path, here.member, here.section) == (there.path, there.member, there.section)
