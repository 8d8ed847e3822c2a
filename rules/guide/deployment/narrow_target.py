"""A program that runs on exactly the architecture it was built for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.code import entries_of
from gpuadvise.advisor.prose import and_list
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide, programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.compatibility.survey import Survey


def check(code: Survey) -> Verdict:
    """Advise when every image is for an architecture-specific or family-specific target."""
    entries = entries_of(code)
    targets = sorted({entry.capability for entry in entries if entry.capability})
    if not targets or any(not target.variant for target in targets):
        return PASSED
    listed = and_list([target.target for target in targets])
    only = "that one capability" if targets[0].variant == "a" else "that family"
    first = targets[0]
    number = f"{first.major}{first.minor}"
    return Advice(
        message=f"Every image ({len(entries)} in all) is for {listed}, which runs on {only} only.",
        action=(
            f"Add a portable target beside it: -gencode arch=compute_{number},code=sm_{number} "
            f"-gencode arch=compute_{number},code=compute_{number}, and guard the special "
            "instructions with the architecture's feature macro."
        ),
        evidence=(given("targets", listed),),
    )


RULE = Rule(
    id="narrow-target",
    title="Add a portable target",
    topic=Topic.DEPLOYMENT,
    priority=Priority.MEDIUM,
    kinds=(Kind.BINARY,),
    why="Targets such as sm_90a give up compatibility with every later GPU.",
    when="The program holds only images for targets that end in a or f.",
    citations=(programming_guide("Feature Set Compiler Targets"), *guide("15")),
    folds_into="missing-device-code",
    check=check,
    examples=Examples(
        fires={"code": ["sm_90a"]}, quiet={"code": ["sm_90a", "sm_90", "compute_90"]}
    ),
)
