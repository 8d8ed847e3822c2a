"""The verdict in words: first whether it runs, then the reason that a person can act on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Content
from gpuadvise.advisor.compatibility.fit import Outcome, why_ptx_is_too_new
from gpuadvise.advisor.compatibility.targets import ptx_fits
from gpuadvise.advisor.compatibility.verdict import can_load
from gpuadvise.advisor.prose import and_list, plural

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.verdict import Verdict

# A list of targets longer than this is shortened to its ends.
_LISTED = 8


def headline(verdict: Verdict, what: str, gpu: str) -> str:
    """Return one sentence: whether the code of *what* runs on *gpu*, and why or why not."""
    total = len(verdict.modules)
    runs, jit = verdict.count(Outcome.RUNS), verdict.count(Outcome.JIT)
    match verdict.outcome:
        case Outcome.FAILS:
            return f"{what} does not run on {gpu}: {reason(verdict)}."
        case Outcome.JIT if jit == total:
            return f"{what} runs on {gpu} only after the driver has compiled its PTX: {_best(verdict)}."
        case Outcome.RUNS if runs == total:
            return f"{what} runs on {gpu}: {_best(verdict)}."
        case _:
            return f"{what} runs on {gpu} in part: {_parts(verdict)}."


def _best(verdict: Verdict) -> str:
    reasons = Counter(
        one.reason
        for module in verdict.modules
        for one in module.fits
        if one.outcome is verdict.outcome
    )
    return reasons.most_common(1)[0][0]


def _parts(verdict: Verdict) -> str:
    runs, jit = verdict.count(Outcome.RUNS), verdict.count(Outcome.JIT)
    total = len(verdict.modules)
    parts = [f"{runs:,} of {plural(total, 'code module')} have machine code for it"] if runs else []
    if jit:
        first = f"{jit:,} more" if runs else f"{jit:,} of {plural(total, 'code module')}"
        parts.append(f"{first} must be compiled by the driver")
    failing = total - runs - jit
    if failing:
        verb = "holds" if failing == 1 else "hold"
        parts.append(f"{failing:,} {verb} only {carried(_failing(verdict))}")
    return and_list(parts)


def _failing(verdict: Verdict) -> list[Entry]:
    failing = (module for module in verdict.modules if module.outcome is Outcome.FAILS)
    return [one.entry for module in failing for one in module.fits]


def reason(verdict: Verdict) -> str:
    """Return why nothing of the file can be used."""
    if verdict.blocked:
        return verdict.blocked
    entries = [one.entry for module in verdict.modules for one in module.fits]
    if not entries:
        return _nothing_loadable(verdict.unloadable)
    held = carried(entry for entry in entries if can_load(entry))
    return f"it holds {held}, {_about_ptx(entries, verdict)}"


def _about_ptx(entries: list[Entry], verdict: Verdict) -> str:
    programs = [entry for entry in entries if entry.content is Content.PTX and can_load(entry)]
    if not programs:
        return "and no PTX that a driver could compile"
    for entry in programs:
        if entry.capability is None or not ptx_fits(entry.capability, verdict.gpu):
            continue
        too_new = why_ptx_is_too_new(entry, verdict.driver)
        if too_new:
            return f"and {too_new}"
    return f"and none of it fits {verdict.gpu}"


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
