"""What device code a file holds, with the modules that hold the same counted together.

A library has thousands of modules and few kinds of them: each kind is judged once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Content
from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.compatibility.fit import is_input
from gpuadvise.advisor.compatibility.releases import cuda_for_ptx

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gpuadvise.advisor.binaries.model import Entry, Place
    from gpuadvise.advisor.compatibility.releases import Version

# What a driver loads from a module by itself. The rest waits for a linker, or holds no code.
LOADABLE = frozenset({Content.SASS, Content.PTX})

# What a driver's choice depends on.
Key = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Modules:
    """*count* modules of one file or member that hold the same; *entries* are one's, each once."""

    path: str
    entries: tuple[Entry, ...]
    count: int

    @property
    def toolkit(self) -> Version | None:
        """The toolkit that made them, as far as the PTX beside the machine code tells."""
        versions = [entry.ptx_version for entry in self.entries if entry.ptx_version]
        return cuda_for_ptx(max(versions)) if versions else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """*count* entries that are the same to a driver, *entry* being one; *size* stored bytes."""

    entry: Entry
    count: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The device code of a file: what a driver could load, and the entries of all the rest."""

    loadable: tuple[Modules, ...]
    inputs: Mapping[str, tuple[Modules, ...]]  # of device links, by file or member
    unloadable: Counter[Content]
    holdings: tuple[Holding, ...]  # everything, by kind and target


def survey(entries: Iterable[Entry]) -> Survey:
    """Return what *entries* hold; those of one module must follow each other, as readers do."""
    loadable, inputs = _Kinds(), _Kinds()
    unloadable: Counter[Content] = Counter()
    tally = _Tally()
    for module in _by_module(entries):
        keys = [same_for_a_driver(entry) for entry in module]
        distinct = dict(zip(keys, module, strict=True))
        tally.add(keys, module)
        if any(map(can_load, distinct.values())):
            loadable.add(module[0].place, distinct)
            continue
        unloadable.update(entry.content for entry in module)
        if is_input(module[0]):
            inputs.add(module[0].place, distinct)
    by_path: dict[str, tuple[Modules, ...]] = {}
    for one in inputs.modules():
        by_path[one.path] = (*by_path.get(one.path, ()), one)
    return Survey(
        loadable=loadable.modules(),
        inputs=by_path,
        unloadable=unloadable,
        holdings=tally.holdings(),
    )


class _Kinds:
    """Modules counted by what they hold."""

    def __init__(self) -> None:
        self._kinds: dict[object, tuple[str, tuple[Entry, ...]]] = {}
        self._counts: Counter[object] = Counter()

    def add(self, place: Place, distinct: dict[Key, Entry]) -> None:
        path = place.member or place.path
        key = (path, frozenset(distinct))
        self._kinds.setdefault(key, (path, tuple(distinct.values())))
        self._counts[key] += 1

    def modules(self) -> tuple[Modules, ...]:
        return tuple(
            Modules(path=path, entries=distinct, count=self._counts[key])
            for key, (path, distinct) in self._kinds.items()
        )


class _Tally:
    """Entries counted by what they are to a driver."""

    def __init__(self) -> None:
        self._sizes: dict[Key, list[int]] = {}
        self._first: dict[Key, Entry] = {}

    def add(self, keys: list[Key], module: list[Entry]) -> None:
        for key, entry in zip(keys, module, strict=True):
            if key in self._sizes:
                self._sizes[key].append(entry.size)
            else:
                self._sizes[key] = [entry.size]
                self._first[key] = entry

    def holdings(self) -> tuple[Holding, ...]:
        found = [
            Holding(entry=entry, count=len(self._sizes[key]), size=sum(self._sizes[key]))
            for key, entry in self._first.items()
        ]
        return tuple(sorted(found, key=_order))


def _order(holding: Holding) -> Key:
    entry = holding.entry
    kind = (entry.link_input, tuple(Content).index(entry.content))
    return (*kind, entry.capability or Capability(0, 0), entry.ptx_version or (0, 0))


def can_load(entry: Entry) -> bool:
    """Return whether some driver would load *entry* as it is."""
    return entry.content in LOADABLE and not is_input(entry)


def same_for_a_driver(entry: Entry) -> Key:
    """Return all of *entry* that a driver's choice depends on."""
    # Plain values only: they hash several times faster than the records themselves.
    target = entry.capability
    number = target and (target.major, target.minor, target.variant)
    return (str(entry.content), number, entry.ptx_version, entry.new_abi, is_input(entry))


def _by_module(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    module: list[Entry] = []
    for entry in entries:
        if module and not _together(module[0], entry):
            yield module
            module = []
        module.append(entry)
    if module:
        yield module


def _together(one: Entry, other: Entry) -> bool:
    """Return whether both entries are of one module."""
    if one.module is None or one.module != other.module:
        return False
    here, there = one.place, other.place
    return (here.path, here.member, here.section) == (there.path, there.member, there.section)
