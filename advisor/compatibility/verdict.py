"""A whole file against one GPU and driver, module by module.

A driver picks one image per module (one fatbin region), so a library whose modules were built
for different GPUs has an answer for each, and its own answer is the best of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Content
from gpuadvise.advisor.compatibility.drivers import why_unsupported
from gpuadvise.advisor.compatibility.fit import Fit, Outcome, fit
from gpuadvise.advisor.compatibility.targets import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.drivers import Driver

# What a driver loads from a module by itself. The rest waits for a linker, or holds no code.
LOADABLE = frozenset({Content.SASS, Content.PTX})
_BETTER = (Outcome.RUNS, Outcome.JIT, Outcome.FAILS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """The entries of one region, what the driver makes of each, and the best of it."""

    fits: tuple[Fit, ...]
    outcome: Outcome

    @property
    def path(self) -> str:
        """Where the module is: the file, or the file's member."""
        place = self.fits[0].entry.place
        return place.member or place.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of a file's device code.

    *modules* are those that a driver could load; *blocked* says why it would load none of
    them, whatever they hold; *unloadable* counts the entries of all other modules.
    """

    gpu: Capability
    driver: Driver | None
    outcome: Outcome
    modules: tuple[Module, ...]
    unloadable: Counter[Content]
    blocked: str | None = None

    def count(self, outcome: Outcome) -> int:
        """Return how many modules have *outcome*."""
        return sum(module.outcome is outcome for module in self.modules)


def judge(entries: Iterable[Entry], gpu: Capability, driver: Driver | None = None) -> Verdict:
    """Return what becomes of *entries* on *gpu*; without *driver*, on a recent one."""
    blocked = why_unsupported(gpu, driver) if driver else None
    modules: list[Module] = []
    unloadable: Counter[Content] = Counter()
    for group in by_module(entries):
        if any(can_load(entry) for entry in group):
            modules.append(_module(group, gpu, driver))
        else:
            unloadable.update(entry.content for entry in group)
    found = {module.outcome for module in modules} if not blocked else set()
    return Verdict(
        gpu=gpu,
        driver=driver,
        outcome=next((outcome for outcome in _BETTER if outcome in found), Outcome.FAILS),
        modules=tuple(modules),
        unloadable=unloadable,
        blocked=blocked,
    )


def can_load(entry: Entry) -> bool:
    """Return whether some driver would load *entry* as it is."""
    return entry.content in LOADABLE and not entry.link_input


def by_module(entries: Iterable[Entry]) -> list[tuple[Entry, ...]]:
    """Return *entries* by the module they are in; one without a module stands alone."""
    groups: dict[object, list[Entry]] = {}
    for index, entry in enumerate(entries):
        place = entry.place
        alone = index if entry.module is None else None
        key = (place.path, place.member, place.section, entry.module, alone)
        groups.setdefault(key, []).append(entry)
    return [tuple(group) for group in groups.values()]


def _module(group: Sequence[Entry], gpu: Capability, driver: Driver | None) -> Module:
    fits = tuple(fit(entry, gpu, driver) for entry in group)
    found = {one.outcome for one in fits}
    return Module(fits=fits, outcome=next(outcome for outcome in _BETTER if outcome in found))


def loaded(entries: Sequence[Entry], gpu: Capability) -> tuple[Entry, ...]:
    """Return those of one module's *entries* that a driver would use on *gpu*, best only.

    Machine code goes before PTX and the nearest target before older ones; a module may hold
    several images for one target, and all of them are used.
    """
    usable = [one for one in (fit(entry, gpu) for entry in entries) if one.outcome != "fails"]
    if not usable:
        return ()
    best = min(_rank(one) for one in usable)
    return tuple(one.entry for one in usable if _rank(one) == best)


def _rank(one: Fit) -> tuple[int, int, int, int]:
    target = one.entry.capability
    if target is None:  # never usable; for the type only
        return (2, 0, 0, 0)
    major, minor = number(target)
    return (_BETTER.index(one.outcome), -major, -minor, ("a", "f", "").index(target.variant))
