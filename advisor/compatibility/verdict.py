"""A whole file against one GPU and driver, module by module.

A driver picks one image per module (one fatbin region), so a library whose modules were built
for different GPUs has an answer for each, and its own answer is the best of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.compatibility.drivers import why_unsupported
from gpuadvise.advisor.compatibility.fit import Outcome, fit, why_toolkit_is_too_new
from gpuadvise.advisor.compatibility.loaded import loaded
from gpuadvise.advisor.compatibility.relink import made_from, relinks

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable

    from gpuadvise.advisor.binaries.model import Content
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.survey import Modules, Survey

_BETTER = (Outcome.RUNS, Outcome.JIT, Outcome.FAILS)


class Judged(NamedTuple):
    """Modules that hold the same, and what the driver makes of them.

    *reason* says why they run; when they fail, why this driver is too old for what would fit
    the GPU, or None when nothing would.
    """

    modules: Modules
    outcome: Outcome
    reason: str | None


class Verdict(NamedTuple):
    """What becomes of a file's device code.

    *modules* are those that a driver could load; *blocked* says why it would load none of
    them, whatever they hold; *unloadable* counts the entries of all other modules.
    """

    gpu: Capability
    driver: Driver | None
    outcome: Outcome
    modules: tuple[Judged, ...]
    unloadable: Counter[Content]
    blocked: str | None = None

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
    return Verdict(
        gpu=gpu,
        driver=driver,
        outcome=Outcome.FAILS if blocked else best(one.outcome for one in judged),
        modules=judged,
        unloadable=survey.unloadable,
        blocked=blocked,
    )


def best(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the best of *outcomes*; nothing at all fails."""
    return min(outcomes, key=_BETTER.index, default=Outcome.FAILS)


def _judged(
    modules: Modules, inputs: tuple[Modules, ...], gpu: Capability, driver: Driver | None
) -> Judged:
    # The driver chooses by target alone: it does not fall back to what it could read.
    chosen = [fit(entry, gpu, driver) for entry in loaded(modules.entries, gpu)]
    outcome = best(one.outcome for one in chosen)
    reason = next((one.reason for one in chosen if one.outcome is outcome), None)
    if outcome is Outcome.RUNS and modules.toolkit:
        too_new = why_toolkit_is_too_new(modules.toolkit, driver)
        outcome, reason = (Outcome.FAILS, too_new) if too_new else (outcome, reason)
    if not chosen and made_from(modules, inputs) and relinks(inputs, gpu, driver):
        outcome, reason = Outcome.JIT, f"the driver links its parts again for {gpu}"
    return Judged(modules=modules, outcome=outcome, reason=reason)
