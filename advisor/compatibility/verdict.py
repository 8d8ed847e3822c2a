"""A whole file against one GPU and driver, module by module.

A driver picks one image per module (one fatbin region), so a library whose modules were built
for different GPUs has an answer for each, and its own answer is the best of them. What is missing
then is told by names: a module for another GPU is no hole where its kernels are in one for this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, assert_never

from gpuadvise.advisor.binaries.model import Content
from gpuadvise.advisor.compatibility.drivers import why_unsupported
from gpuadvise.advisor.compatibility.fit import (
    NEW_ABI_CUDA,
    Fit,
    Outcome,
    first_driver,
    fit,
    made_by_newer,
    why_toolkit_is_too_new,
)
from gpuadvise.advisor.compatibility.releases import AFTER_NEWEST, FIRST_CUDA, cuda_for_ptx
from gpuadvise.advisor.compatibility.targets import number

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Sequence

    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.releases import Version
    from gpuadvise.advisor.compatibility.survey import Modules, Survey


def made_from(module: Modules, inputs: tuple[Modules, ...]) -> bool:
    """Return whether *module* is what a device link made of *inputs*, as far as headers tell.

    Such a module has machine code only, for targets that its inputs have too.
    """
    if any(entry.content is Content.PTX for entry in module.entries):
        return False
    return bool(inputs) and _targets((module,)) <= _targets(inputs)


def _targets(modules: tuple[Modules, ...]) -> set[Capability | None]:
    images = (Content.SASS, Content.STUB)
    return {e.capability for module in modules for e in module.entries if e.content in images}


def relinks(inputs: tuple[Modules, ...], gpu: Capability, driver: Driver | None) -> bool:
    """Return whether the driver can link *inputs* again for *gpu*."""
    return all(usable(module, gpu, driver) for module in inputs)


def usable(module: Modules, gpu: Capability, driver: Driver | None) -> list[Entry]:
    """Return the entries of one input that the driver could link for *gpu*."""
    fits = (fit(entry, gpu, driver, linking=True) for entry in module.entries)
    return [entry_fit.entry for entry_fit in fits if entry_fit.outcome is not Outcome.FAILS]


def loaded(entries: Sequence[Entry], gpu: Capability) -> tuple[Entry, ...]:
    """Return those of one module's *entries* that a driver would use on *gpu*, best only.

    Machine code goes before PTX, the nearest target before older ones and a specific target
    before the plain one, whether or not the driver can read it (seen on a live GPU, driver
    580). A module may hold several images for one target: all of them are used.
    """
    fits = (fit(entry, gpu) for entry in entries)
    usable = [entry_fit for entry_fit in fits if entry_fit.outcome is not Outcome.FAILS]
    best = min(map(_rank, usable), default=None)
    return tuple(entry_fit.entry for entry_fit in usable if _rank(entry_fit) == best)


def _rank(fit: Fit) -> tuple[bool, int, int, int]:
    target = fit.entry.capability
    assert target is not None  # what names no target fits nothing
    major, minor = number(target)
    return (fit.outcome is Outcome.JIT, -major, -minor, ("a", "f", "").index(target.variant))


_BETTER = (Outcome.RUNS, Outcome.JIT, Outcome.FAILS)


class Judged(NamedTuple):
    """Modules that hold the same, and what the driver makes of them.

    *reason* says why they run; when they fail, why this driver is too old for what would fit
    the GPU, or None when nothing would.
    """

    modules: Modules
    outcome: Outcome
    reason: str | None
    used: tuple[Entry, ...] = ()  # what of one such module the driver takes


class OutcomeCounts(NamedTuple):
    """The names of a file's kernels: with machine code for the GPU, only with PTX, with neither."""

    runs: frozenset[str]
    jit: frozenset[str]
    fails: frozenset[str]

    def of(self, outcome: Outcome) -> frozenset[str]:
        """Return the names with *outcome*."""
        match outcome:
            case Outcome.RUNS:
                return self.runs
            case Outcome.JIT:
                return self.jit
            case Outcome.FAILS:
                return self.fails
            case other:
                assert_never(other)

    @property
    def total(self) -> int:
        """How many names there are."""
        return len(self.runs) + len(self.jit) + len(self.fails)


class Verdict(NamedTuple):
    """What becomes of a file's device code.

    *modules* are those that a driver could load; *blocked* says why it would load none of
    them, whatever they hold; *unloadable* counts the entries of all other modules. *kernels*
    is None where the names of some were not read.
    """

    gpu: Capability
    driver: Driver | None
    outcome: Outcome
    modules: tuple[Judged, ...]
    unloadable: Counter[Content]
    blocked: str | None = None
    kernels: OutcomeCounts | None = None

    @property
    def complete(self) -> bool:
        """Whether every kernel has machine code for the GPU; every module, where no names are known."""
        if self.kernels is not None and self.kernels.total and not self.blocked:
            return len(self.kernels.runs) == self.kernels.total
        return 0 < self.total == self.count(Outcome.RUNS)

    @property
    def mixed(self) -> bool:
        """Whether modules fare differently, so that only names tell whether a kernel is missing."""
        return not self.blocked and len({judged.outcome for judged in self.modules}) > 1

    @property
    def by_name(self) -> OutcomeCounts | None:
        """The kernels, where modules or images differ in them; None: counting modules says it all."""
        kernels = self.kernels
        if kernels is None or not kernels.total or self.blocked:
            return None
        uneven = any(len(kernels.of(outcome)) not in (0, kernels.total) for outcome in Outcome)
        return kernels if uneven or self.mixed else None

    @property
    def total(self) -> int:
        """How many modules a driver could load."""
        return sum(judged.modules.times for judged in self.modules)

    def count(self, outcome: Outcome) -> int:
        """Return how many modules have *outcome*."""
        if self.blocked:
            return self.total if outcome is Outcome.FAILS else 0
        return sum(judged.modules.times for judged in self.modules if judged.outcome is outcome)


def judge(survey: Survey, gpu: Capability, driver: Driver | None = None) -> Verdict:
    """Return what becomes of the code in *survey* on *gpu*; without *driver*, on a recent one."""
    blocked = why_unsupported(gpu, driver) if driver else None
    judged = tuple(
        _judged(modules, survey.inputs.get(modules.path, ()), gpu, driver)
        for modules in survey.loadable
    )
    kernels = _kernels(judged)
    outcomes = (module.outcome for module in judged)
    if kernels and kernels.total:  # a module without any makes nothing run
        outcomes = (outcome for outcome in Outcome if kernels.of(outcome))
    return Verdict(
        gpu=gpu,
        driver=driver,
        outcome=Outcome.FAILS if blocked else best(outcomes),
        modules=judged,
        unloadable=survey.unloadable,
        blocked=blocked,
        kernels=kernels,
    )


def _kernels(modules: Sequence[Judged]) -> OutcomeCounts | None:
    """Return the kernels by the best that becomes of any module with their name."""
    names: dict[Outcome, frozenset[str]] = dict.fromkeys(Outcome, frozenset())
    for judged in modules:
        every = judged.modules.kernels
        if every is None:
            return None
        used = judged.modules.kernels_in(judged.used) if judged.used else every
        assert used is not None  # a part of what is known
        names[judged.outcome] |= used
        names[Outcome.FAILS] |= every - used  # an image may lack what its neighbours have
    runs, jit, fails = (names[outcome] for outcome in _BETTER)
    return OutcomeCounts(runs, jit - runs, fails - jit - runs)


def best(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the best of *outcomes*; nothing at all fails."""
    return min(outcomes, key=_BETTER.index, default=Outcome.FAILS)


def _judged(
    modules: Modules, inputs: tuple[Modules, ...], gpu: Capability, driver: Driver | None
) -> Judged:
    # The driver chooses by target alone: it does not fall back to what it could read.
    chosen = [fit(entry, gpu, driver) for entry in loaded(modules.entries, gpu)]
    outcome = best(entry_fit.outcome for entry_fit in chosen)
    reason = next((f.reason for f in chosen if f.outcome is outcome), None)
    if outcome is Outcome.RUNS and modules.toolkit and not _tell_toolkit(chosen):
        too_new = why_toolkit_is_too_new(modules.toolkit, driver)
        outcome, reason = (Outcome.FAILS, too_new) if too_new else (outcome, reason)
    if not chosen and made_from(modules, inputs) and relinks(inputs, gpu, driver):
        outcome, reason = Outcome.JIT, f"the driver links its parts again for {gpu}"
    return Judged(modules, outcome, reason, tuple(entry_fit.entry for entry_fit in chosen))


def _tell_toolkit(fits: Sequence[Fit]) -> bool:
    """Return whether every image among *fits* names the toolkit that made it."""
    return all(f.entry.toolkit for f in fits if f.entry.content is Content.SASS)


_UNKNOWN = (0, 0)


def is_lower_bound(survey: Survey, gpu: Capability) -> bool:
    """Return whether some image that *gpu* would load leaves open which toolkit made it."""
    return any(
        entry.content is Content.SASS and not (entry.toolkit or modules.toolkit)
        for modules in survey.loadable
        for entry in loaded(modules.entries, gpu)
    )


def needed_cuda(survey: Survey, gpu: Capability) -> Version | None:
    """Return the CUDA version a driver must support for all that *gpu* can use of *survey*.

    None when it can use nothing, or when the capability is too old or new to be in the tables.
    """
    needs = (
        _needed(modules, survey.inputs.get(modules.path, ()), gpu) or _UNKNOWN
        for modules in survey.loadable
    )
    most = max(needs, default=_UNKNOWN)
    return None if most == _UNKNOWN else most


def _needed(modules: Modules, inputs: tuple[Modules, ...], gpu: Capability) -> Version | None:
    chosen = loaded(modules.entries, gpu)
    if chosen or not (made_from(modules, inputs) and relinks(inputs, gpu, None)):
        return max(
            (_with(modules.toolkit, _of(entry, gpu), entry) for entry in chosen), default=None
        )
    return max(min(_of(e, gpu) for e in usable(part, gpu, None)) for part in inputs)


def _with(toolkit: Version | None, need: Version, entry: Entry) -> Version:
    if toolkit is None or entry.ptx_version is not None or entry.toolkit:
        return need
    return max(need, first_driver(toolkit))


def _of(entry: Entry, gpu: Capability) -> Version:
    first = FIRST_CUDA.get(number(gpu), _UNKNOWN)
    if entry.ptx_version is not None:
        return max(first, cuda_for_ptx(entry.ptx_version) or AFTER_NEWEST)
    if entry.toolkit:
        return max(first, first_driver(entry.toolkit))
    return max(first, NEW_ABI_CUDA) if made_by_newer(entry) else first
