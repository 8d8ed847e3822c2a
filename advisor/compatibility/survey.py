"""What device code a file holds, with the modules that hold the same counted together.

A library has thousands of modules and few kinds of them: each kind is judged once.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.model import Content
from gpuadvise.advisor.binaries.tally import EntryTally
from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.compatibility.fit import is_input
from gpuadvise.advisor.compatibility.releases import cuda_for_ptx

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.compatibility.releases import Version


# What a driver's choice depends on.
Key = tuple[object, ...]


class Alike:
    """*count* modules of one path with the same entries in the same order; *module* is one."""

    __slots__ = ("count", "kernels", "keys", "module", "path", "sizes")

    def __init__(self, path: str, keys: tuple[Key, ...], module: list[Entry]) -> None:
        self.path = path
        self.keys = keys
        self.module = module
        self.count = 0
        self.sizes = [0] * len(module)
        self.kernels: list[frozenset[str] | None] = [frozenset() for _ in module]


def alike_modules(entries: Iterable[Entry | EntryTally]) -> Iterable[Alike]:
    """Return the modules of *entries*; those of one must follow each other, as readers do."""
    by_contents: dict[object, Alike] = {}
    for module, count in _by_module(entries):
        place = module[0].place
        path = place.member or place.path
        keys = tuple(map(same_for_a_driver, module))
        alike = by_contents.get((path, keys))
        if alike is None:
            alike = Alike(path, keys, module)
            by_contents[path, keys] = alike
        alike.count += count
        for index, entry in enumerate(module):
            alike.sizes[index] += entry.size
            alike.kernels[index] = _joined(alike.kernels[index], entry.kernels)
    return by_contents.values()


def _joined(some: frozenset[str] | None, more: frozenset[str] | None) -> frozenset[str] | None:
    if some is None or more is None:
        return None
    return some | more if some else more


def same_for_a_driver(entry: Entry) -> Key:
    """Return all of *entry* that a driver's choice depends on."""
    # Plain values only: they hash several times faster than the records themselves.
    target = entry.capability
    number = target and (target.major, target.minor, target.variant)
    return (
        entry.content.value, number, entry.ptx_version, entry.new_abi, is_input(entry), entry.toolkit
    )  # fmt: skip


def _by_module(entries: Iterable[Entry | EntryTally]) -> Iterator[tuple[list[Entry], int]]:
    """Yield modules and how many there are; the sizes are those of all of them together."""
    module: list[Entry] = []
    for entry in entries:
        if module and (isinstance(entry, EntryTally) or not _same_module(module[0], entry)):
            yield module, 1
            module = []
        if isinstance(entry, EntryTally):
            yield [entry.entry._replace(size=entry.size)], entry.times
        else:
            module.append(entry)
    if module:
        yield module, 1


def _same_module(first: Entry, second: Entry) -> bool:
    """Return whether both entries are of one module."""
    if first.module is None or first.module != second.module:
        return False
    here, there = first.place, second.place
    return (here.path, here.member, here.section) == (there.path, there.member, there.section)


# What a driver loads from a module by itself. The rest waits for a linker, or holds no code.
LOADABLE = frozenset({Content.SASS, Content.PTX})


class Modules(NamedTuple):
    """*times* modules of one file or member that hold the same; *entries* are one's, each once.

    The kernels of an entry are those of all these modules.
    """

    path: str
    entries: tuple[Entry, ...]
    times: int

    @property
    def kernels(self) -> frozenset[str] | None:
        """The names of all kernels in them; None: not read, or some image cannot be read."""
        return self.kernels_in(self.entries)

    def kernels_in(self, entries: Iterable[Entry]) -> frozenset[str] | None:
        """Return the names of the kernels in some of its *entries*; None: not known.

        Compilers put into PTX what they put into the machine code beside it. Stubs and the like hold none.
        """
        images = [entry.kernels for entry in self.entries if entry.content is Content.SASS]
        if None in images:
            return None
        names: frozenset[str] = frozenset()
        for entry in entries:
            if entry.content not in LOADABLE:
                continue
            beside = entry.content is not Content.SASS and images
            for known in images if beside else [entry.kernels]:
                if known is None:
                    return None
                names |= known
        return names

    @property
    def toolkit(self) -> Version | None:
        """The toolkit that made them, as far as the PTX beside the machine code tells.

        An image that names its own toolkit knows better.
        """
        versions = [entry.ptx_version for entry in self.entries if entry.ptx_version]
        return cuda_for_ptx(max(versions)) if versions else None


class Holding(NamedTuple):
    """*times* entries that are the same to a driver, *entry* being one; *size* stored bytes."""

    entry: Entry
    times: int
    size: int


class Survey(NamedTuple):
    """The device code of a file: what a driver could load, and the entries of all the rest."""

    loadable: tuple[Modules, ...]
    inputs: Mapping[str, tuple[Modules, ...]]  # of device links, by file or member
    unloadable: Counter[Content]
    holdings: tuple[Holding, ...]  # everything, by kind and target


def survey(entries: Iterable[Entry | EntryTally]) -> Survey:
    """Return what *entries* hold; those of one module must follow each other, as readers do."""
    loadable, inputs = _Kinds(), _Kinds()
    unloadable: Counter[Content] = Counter()
    tally = _Tally()
    for alike in alike_modules(entries):
        distinct = dict(zip(alike.keys, alike.module, strict=True))
        tally.add(alike)
        if any(map(can_load, distinct.values())):
            loadable.add(alike, distinct)
            continue
        for entry in alike.module:
            unloadable[entry.content] += alike.count
        if is_input(alike.module[0]):
            inputs.add(alike, distinct)
    by_path: dict[str, tuple[Modules, ...]] = {}
    for modules in inputs.modules():
        by_path[modules.path] = (*by_path.get(modules.path, ()), modules)
    return Survey(
        loadable=loadable.modules(),
        inputs=by_path,
        unloadable=unloadable,
        holdings=tally.holdings(),
    )


class _Kinds:
    """Modules counted by what they hold, in whatever order."""

    def __init__(self) -> None:
        self._kinds: dict[object, tuple[str, tuple[Entry, ...]]] = {}
        self._counts: Counter[object] = Counter()
        self._kernels: dict[object, dict[Key, frozenset[str] | None]] = {}

    def add(self, alike: Alike, distinct: dict[Key, Entry]) -> None:
        kind = (alike.path, frozenset(distinct))
        self._kinds.setdefault(kind, (alike.path, tuple(distinct.values())))
        self._counts[kind] += alike.count
        names = self._kernels.setdefault(kind, {})
        for key, kernels in zip(alike.keys, alike.kernels, strict=True):
            names[key] = _joined(names.get(key, frozenset()), kernels)

    def modules(self) -> tuple[Modules, ...]:
        return tuple(
            Modules(
                path=path,
                entries=tuple(
                    entry._replace(kernels=self._kernels[kind][same_for_a_driver(entry)])
                    for entry in distinct
                ),
                times=self._counts[kind],
            )
            for kind, (path, distinct) in self._kinds.items()
        )


class _Tally:
    """Entries counted by what they are to a driver."""

    def __init__(self) -> None:
        self._first: dict[Key, Entry] = {}
        self._counts: Counter[Key] = Counter()
        self._sizes: Counter[Key] = Counter()

    def add(self, alike: Alike) -> None:
        for key, entry, size in zip(alike.keys, alike.module, alike.sizes, strict=True):
            self._first.setdefault(key, entry)
            self._counts[key] += alike.count
            self._sizes[key] += size

    def holdings(self) -> tuple[Holding, ...]:
        holdings = [
            Holding(entry=entry, times=self._counts[key], size=self._sizes[key])
            for key, entry in self._first.items()
        ]
        return tuple(sorted(holdings, key=_order))


def _order(holding: Holding) -> Key:
    entry = holding.entry
    kind = (entry.link_input, tuple(Content).index(entry.content))
    version = entry.ptx_version or entry.toolkit or (0, 0)
    return (*kind, entry.capability or Capability(0, 0), version)


def can_load(entry: Entry) -> bool:
    """Return whether some driver would load *entry* as it is."""
    return entry.content in LOADABLE and not is_input(entry)
