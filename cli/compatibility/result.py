"""The fields of ``compat``: the contract that scripts rely on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.model import Content
from gpuadvise.advisor.compatibility.explain import headline
from gpuadvise.advisor.compatibility.fit import NEW_ABI_CUDA, Outcome, fit, made_by_newer
from gpuadvise.advisor.compatibility.gencode import fix_for
from gpuadvise.advisor.compatibility.needs import needed_cuda
from gpuadvise.advisor.compatibility.releases import branch_for_cuda, show
from gpuadvise.advisor.compatibility.targets import virtual
from gpuadvise.advisor.compatibility.verdict import judge

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.releases import Version
    from gpuadvise.advisor.compatibility.survey import Holding, Survey
    from gpuadvise.advisor.compatibility.verdict import Verdict


def result(verdict: Verdict, survey: Survey, what: str, gpu: str) -> dict[str, Any]:
    """Return what becomes of the code in *survey*, and what would mend it."""
    complete = is_complete(verdict)
    lacking = not is_complete(judge(survey, verdict.gpu))  # whatever the driver
    needed = needed_cuda(survey, verdict.gpu)
    return {
        "verdict": str(verdict.outcome),
        "complete": complete,
        "summary": headline(verdict, what, gpu, needed),
        "driver": driver_fields(verdict.driver),
        "needed_driver": needed_fields(needed),
        "modules": counted(verdict),
        "files": files(verdict),
        "entries": [entry_fields(h, verdict) for h in survey.holdings],
        "fix": fix_fields(verdict.gpu) if lacking else None,
    }


def is_complete(verdict: Verdict) -> bool:
    """Return whether every module has machine code for the GPU."""
    return 0 < verdict.total == verdict.count(Outcome.RUNS)


def driver_fields(driver: Driver | None) -> dict[str, Any] | None:
    """Return the driver that was judged; None: a recent one."""
    return {"cuda": show(driver.cuda), "version": driver.version} if driver else None


def needed_fields(cuda: Version | None) -> dict[str, Any] | None:
    """Return the oldest driver that will do, by CUDA version and first branch."""
    return cuda and {"cuda": show(cuda), "branch": branch_for_cuda(cuda)}


def counted(verdict: Verdict) -> dict[str, int]:
    """Return how many modules run, must be compiled, and fail."""
    return {
        "total": verdict.total,
        **{str(outcome): verdict.count(outcome) for outcome in Outcome},
        "not_loadable": verdict.unloadable.total(),
    }


def files(verdict: Verdict) -> list[dict[str, Any]]:
    """Return the same counts for each file, or each member of an archive or wheel."""
    counts: dict[str, Counter[Outcome]] = {}
    for judged in verdict.modules:
        outcome = Outcome.FAILS if verdict.blocked else judged.outcome
        counts.setdefault(judged.modules.path, Counter())[outcome] += judged.modules.times
    return [
        {
            "file": path,
            "verdict": str(next(outcome for outcome in Outcome if found[outcome])),
            **{str(outcome): found[outcome] for outcome in Outcome},
        }
        for path, found in sorted(counts.items())
    ]


def entry_fields(holding: Holding, verdict: Verdict) -> dict[str, Any]:
    """Return one kind of entry, and what the driver makes of it."""
    entry = holding.entry
    one = fit(entry, verdict.gpu, verdict.driver)
    return {
        "kind": str(entry.content),
        "target": _target(entry),
        "ptx_version": show(entry.ptx_version) if entry.ptx_version else None,
        "first_toolkit": show(NEW_ABI_CUDA) if made_by_newer(entry) else None,
        "count": holding.times,
        "bytes": holding.size,
        "link_input": entry.link_input,
        "verdict": str(Outcome.FAILS if verdict.blocked else one.outcome),
        "reason": verdict.blocked or one.reason,
    }


def _target(entry: Entry) -> str | None:
    if entry.capability is None:
        return None
    machine = entry.content in (Content.SASS, Content.STUB)
    return entry.capability.target if machine else virtual(entry.capability)


def fix_fields(gpu: Capability) -> dict[str, Any]:
    """Return the compiler options that would add the missing code."""
    fix = fix_for(gpu)
    return {
        "gencode": list(fix.gencode),
        "cmake": fix.cmake,
        "torch": fix.torch,
        "first_toolkit": show(fix.first_toolkit) if fix.first_toolkit else None,
        "last_toolkit": show(fix.last_toolkit) if fix.last_toolkit else None,
    }
