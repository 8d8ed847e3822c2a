"""Whether another build of some code would help a GPU, and the oldest driver for what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.catalogue import entries
from gpuadvise.advisor.compatibility.explain import alternatives_of
from gpuadvise.advisor.compatibility.fit import Outcome
from gpuadvise.advisor.compatibility.verdict import judge, needed_cuda

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.explain import Alternative
    from gpuadvise.advisor.compatibility.releases import Version
    from gpuadvise.advisor.compatibility.survey import Survey
    from gpuadvise.advisor.compatibility.verdict import Verdict


def is_worth_building(survey: Survey, verdict: Verdict) -> bool:
    """Return whether another build can help.

    Not where every module has code for this GPU that leaves kernels out, nor where every GPU lacks
    kernels that others have.
    """
    if 0 < verdict.total == verdict.count(Outcome.RUNS):
        return False
    compiled = verdict.kernels.jit if verdict.kernels else verdict.count(Outcome.JIT)
    return (
        bool(compiled) or verdict.outcome is not Outcome.RUNS or better_elsewhere(survey, verdict)
    )


def better_elsewhere(survey: Survey, verdict: Verdict) -> bool:
    """Return whether some GPU of the catalogue finds machine code where this one does not."""
    gpus = {entry.device.capability for entry in entries()} - {verdict.gpu}
    others = (judge(survey, gpu) for gpu in gpus)
    if verdict.outcome is Outcome.RUNS:
        return any(map(has_all, others))
    return any(other.outcome is Outcome.RUNS for other in others)


def needed_by_all(
    survey: Survey, gpu: Capability, alternatives: Sequence[Alternative]
) -> Version | None:
    """Return the oldest driver for all that *gpu* can use; of *alternatives* one is enough."""
    parts = [
        survey._replace(
            loadable=tuple(
                loadable for loadable in survey.loadable if loadable.path in alternative.paths
            )
        )
        for alternative in alternatives
    ] or [survey]
    known = [needs for part in parts if (needs := needed_cuda(part, gpu)) is not None]
    return min(known, default=None)


def has_all(verdict: Verdict) -> bool:
    """Return whether nothing is to be built: one of several alternatives is enough."""
    alternatives = alternatives_of(verdict)
    return verdict.complete or any(
        alternative.outcome is Outcome.RUNS for alternative in alternatives
    )
