"""A program that only present GPUs can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.code import entries_of
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import derived
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.compatibility.survey import Survey
    from gpuadvise.advisor.device import Device


def check(code: Survey, device: Device | None = None) -> Verdict:
    """Advise when the newest target comes without PTX."""
    from gpuadvise.advisor.binaries.model import Content
    from gpuadvise.advisor.compatibility.targets import number

    entries = entries_of(code)
    sass = [e.capability for e in entries if e.content is Content.SASS and e.capability]
    ptx = [e.capability for e in entries if e.content is Content.PTX and e.capability]
    plain = [target for target in ptx if not target.variant]
    if not sass or (plain and max(map(number, plain)) >= max(map(number, sass))):
        return PASSED
    newest = max(sass)
    digits = f"{newest.major}{newest.minor}"
    known = f"the newest PTX is {max(plain).target}" if plain else "there is no portable PTX"
    return Advice(
        message=f"The newest machine code is for {newest.target}, but {known.replace('sm_', 'compute_')}.",
        action=f"Add -gencode arch=compute_{digits},code=compute_{digits} to the build.",
        evidence=(
            derived("newest machine code", newest.target),
            derived("newest portable PTX", max(plain).target if plain else "(none)"),
        ),
        priority=Priority.LOW if device and _runs_as_it_is(code, device) else None,
    )


def _runs_as_it_is(code: Survey, device: Device) -> bool:
    """Return whether the program has machine code for *device*, so that only later GPUs need PTX."""
    from gpuadvise.advisor.compatibility.fit import Outcome
    from gpuadvise.advisor.compatibility.verdict import judge

    return judge(code, device.capability).outcome is Outcome.RUNS


RULE = Rule(
    id="missing-ptx",
    title="Ship PTX for future GPUs",
    topic=Topic.DEPLOYMENT,
    priority=Priority.MEDIUM,
    kinds=(Kind.BINARY,),
    why="A driver compiles PTX for GPUs that did not exist when the program was built.",
    when="The newest target of the program comes as machine code only; low where that has code for the GPU at hand.",
    citations=guide("17.3", "15.3"),
    folds_into="narrow-target",
    check=check,
    examples=Examples(
        fires={"code": ["sm_80", "sm_90"]}, quiet={"code": ["sm_80", "sm_90", "compute_90"]}
    ),
)
