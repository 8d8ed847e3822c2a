"""The verdict in words: first whether it runs, then the reason that a person can act on."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.model import Content
from gpuadvise.advisor.compatibility.fit import Outcome
from gpuadvise.advisor.compatibility.releases import FIRST_CUDA, show, show_driver
from gpuadvise.advisor.compatibility.survey import can_load
from gpuadvise.advisor.compatibility.targets import EMBEDDED, number, why_sass_fails
from gpuadvise.advisor.prose import and_list, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.releases import Version
    from gpuadvise.advisor.compatibility.verdict import OutcomeCounts, Verdict

# A list of targets longer than this is shortened to its ends.
_LISTED = 8


def headline(verdict: Verdict, what: str, gpu: str, needed: Version | None = None) -> str:
    """Return one sentence: whether the code of *what* runs on *gpu*, and why or why not.

    A second one names the CUDA version *needed* by the code when the GPU alone needs an older one.
    """
    if alternatives := alternatives_of(verdict):
        return f"{what} {_of_alternatives(alternatives, verdict, gpu)}."
    count = _counts(verdict, verdict.by_name)
    total = sum(count.values())
    match verdict.outcome:
        case Outcome.FAILS:
            return f"{what} does not run on {gpu}: {reason(verdict)}.{_also(verdict, needed)}"
        case Outcome.JIT if count[Outcome.JIT] == total:
            return f"{what} runs on {gpu} only after the driver has compiled its PTX: {_best(verdict)}."
        case Outcome.RUNS if count[Outcome.RUNS] == total:
            return f"{what} runs on {gpu}: {_best(verdict)}."
        case _:
            share = " in part" if count[Outcome.FAILS] else ""
            return f"{what} runs on {gpu}{share}: {_parts(verdict, count)}."


def _counts(verdict: Verdict, kernels: OutcomeCounts | None) -> dict[Outcome, int]:
    """Return how many kernels, or modules where no names are known, have each outcome."""
    if kernels is None:
        return {outcome: verdict.count(outcome) for outcome in Outcome}
    return {outcome: len(kernels.of(outcome)) for outcome in Outcome}


class Alternative(NamedTuple):
    """The libraries of one package that were built for CUDA *version*, of which a program takes one."""

    version: Version
    paths: tuple[str, ...]
    outcome: Outcome

    def __str__(self) -> str:
        """Return the version as people write it."""
        return show(self.version)


# libbitsandbytes_cuda126.so, lib/cu118/libfoo.so: a number for each toolkit.
_FOR_CUDA = r"(?<![a-z])cu(?:da)?[-_]?(1[0-9])[._]?(\d)(?!\d)"


def alternatives_of(verdict: Verdict) -> tuple[Alternative, ...]:
    """Return the same library for several versions of CUDA, oldest first; none: they are not that."""
    outcomes: dict[Version, dict[str, Outcome]] = {}
    stems: dict[Version, set[str]] = {}
    for judged in verdict.modules:
        path = judged.modules.path
        match = re.search(_FOR_CUDA, path, flags=re.IGNORECASE)
        if match is None:
            return ()
        version = (int(match[1]), int(match[2]))
        stems.setdefault(version, set()).add(path[: match.start()] + path[match.end() :])
        outcome = Outcome.FAILS if verdict.blocked else judged.outcome
        by_path = outcomes.setdefault(version, {})
        by_path[path] = min(by_path.get(path, outcome), outcome, key=tuple(Outcome).index)
    shared = set.intersection(*stems.values()) if stems else set()
    if len(outcomes) < 2 or not shared:
        return ()
    return tuple(
        Alternative(version, tuple(sorted(paths)), max(paths.values(), key=tuple(Outcome).index))
        for version, paths in sorted(outcomes.items())
    )


def _of_alternatives(alternatives: Sequence[Alternative], verdict: Verdict, gpu: str) -> str:
    """Return on what a package of several builds runs: ``with its libraries for CUDA 12.8 and 13.0``."""
    by = {kind: [a for a in alternatives if a.outcome is kind] for kind in Outcome}
    runs, jit, fails = by[Outcome.RUNS], by[Outcome.JIT], by[Outcome.FAILS]
    if not runs and not jit:
        return f"does not run on {gpu}: {reason(verdict)}"
    parts = []
    if runs:
        parts.append(f"runs on {gpu} with its libraries for CUDA {_versions(runs, alternatives)}")
    if jit:
        start = "with those for" if runs else f"runs on {gpu} with its libraries for CUDA"
        after = "only after the driver has compiled their PTX"
        parts.append(f"{start} {_versions(jit, alternatives)} {after}")
    if fails:
        parts.append(f"not with those for {_versions(fails, alternatives)}")
    return "; ".join(parts)


def _versions(some: Sequence[Alternative], every: Sequence[Alternative]) -> str:
    """Return the versions of *some*; neighbours in a row of *every* by their ends."""
    first = list(every).index(some[0])
    if len(some) > 2 and list(every[first : first + len(some)]) == list(some):
        return f"{some[0]} to {some[-1]}"
    return and_list([str(alternative) for alternative in some])


def _also(verdict: Verdict, needed: Version | None) -> str:
    """Return what a driver that is just new enough for the GPU would lack."""
    first = FIRST_CUDA.get(number(verdict.gpu))
    if not (first and needed and verdict.driver and verdict.driver.cuda < first < needed):
        return ""
    return f" Its code needs {show_driver(needed)}."


def _best(verdict: Verdict) -> str:
    reasons: Counter[str] = Counter()
    for judged in verdict.modules:
        if judged.outcome is verdict.outcome and judged.reason:
            reasons[judged.reason] += judged.modules.times
    return reasons.most_common(1)[0][0]


def _parts(verdict: Verdict, count: Mapping[Outcome, int]) -> str:
    runs, jit, failing = (count[outcome] for outcome in Outcome)
    of = f"of {plural(runs + jit + failing, 'kernel' if verdict.by_name else 'code module')}"
    parts = []
    if runs:
        parts.append(f"{runs:,} {of} {'has' if runs == 1 else 'have'} machine code for it")
    if jit:
        parts.append(f"{jit:,} {'more' if runs else of} must be compiled by the driver")
    if failing:
        parts.append(f"{failing:,} {_why_not(verdict, failing)}")
    return and_list(parts)


def _why_not(verdict: Verdict, failing: int) -> str:
    too_new = _too_new(verdict)
    if too_new:
        return f"cannot be used ({too_new})"
    # Libraries carry whole families of kernels for one generation of GPUs alone: no fault.
    return f"{'is' if failing == 1 else 'are'} for other GPUs only ({carried(_failing(verdict))})"


def _failing(verdict: Verdict) -> list[Entry]:
    kernels = verdict.by_name
    if kernels and kernels.fails:
        return [
            entry
            for judged in verdict.modules
            for entry in judged.modules.entries
            if not kernels.fails.isdisjoint(judged.modules.kernels_in((entry,)) or ())
        ]
    failing = (judged for judged in verdict.modules if judged.outcome is Outcome.FAILS)
    return [entry for judged in failing for entry in judged.modules.entries]


def reason(verdict: Verdict) -> str:
    """Return why nothing of the file can be used."""
    if verdict.blocked:
        return verdict.blocked
    entries = [entry for judged in verdict.modules for entry in judged.modules.entries]
    if not entries:
        return _nothing_loadable(verdict.unloadable)
    held = carried(entry for entry in entries if can_load(entry))
    too_new = _too_new(verdict)
    tail = f"and {too_new}" if too_new else _about_ptx(entries, verdict.gpu)
    return f"it holds {held}, {tail}{'' if too_new else _about_tegra(entries, verdict.gpu)}"


def _about_tegra(entries: list[Entry], gpu: Capability) -> str:
    """Return why machine code that looks near enough does not fit: one of the two is a Tegra part."""
    for entry in entries:
        target = entry.capability
        if entry.content is not Content.SASS or target is None or target.variant:
            continue
        near = target.major == gpu.major and number(target) <= number(gpu)
        if near and (number(target) in EMBEDDED) != (number(gpu) in EMBEDDED):
            return f" ({why_sass_fails(target, gpu)})"
    return ""


def _too_new(verdict: Verdict) -> str | None:
    """Return what a newer driver would mend, if anything."""
    failing = (judged for judged in verdict.modules if judged.outcome is Outcome.FAILS)
    return next((judged.reason for judged in failing if judged.reason), None)


def _about_ptx(entries: list[Entry], gpu: Capability) -> str:
    if any(entry.content is Content.PTX and can_load(entry) for entry in entries):
        return f"and none of it fits {gpu}"
    return "and no PTX that a driver could compile"


def _nothing_loadable(unloadable: Counter[Content]) -> str:
    if unloadable[Content.LTO]:
        return "it holds only LTO-IR, which the program itself must link at run time"
    if unloadable[Content.SASS] or unloadable[Content.PTX]:
        return "its device code has not been linked yet (built with -rdc or -dc)"
    if unloadable[Content.STUB]:
        return "it holds only empty images, left over from device linking"
    return "it holds no code that a driver loads"


def carried(entries: Iterable[Entry]) -> str:
    """Return the targets of *entries*: ``machine code for sm_80 and sm_90, PTX for compute_90``."""
    targets: dict[Content, set[Capability]] = {Content.SASS: set(), Content.PTX: set()}
    for entry in entries:
        if entry.content in targets and entry.capability is not None:
            targets[entry.content].add(entry.capability)
    words = []
    if targets[Content.SASS]:
        words.append(f"machine code for {_listed(targets[Content.SASS])}")
    if targets[Content.PTX]:
        words.append(f"PTX for {_listed(targets[Content.PTX]).replace('sm_', 'compute_')}")
    return and_list(words) or "code without a recorded target"


def _listed(targets: set[Capability]) -> str:
    names = [target.target for target in sorted(targets)]
    if len(names) > _LISTED:
        names = [*names[: _LISTED - 2], "…", names[-1]]
        return ", ".join(names)
    return and_list(names)
