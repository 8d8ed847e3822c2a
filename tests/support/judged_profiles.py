"""What the rules say of one kernel of a profile, for tests of their edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.profiles.launch_facts import profiled_facts
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.rules.report import Finding


def findings(profile: KernelProfile, gpu: str = "h100-sxm") -> dict[str, Finding]:
    """Return the findings of all rules on a kernel measured on *gpu*, by rule."""
    return findings_on(profiled_facts(profile, device=find(gpu)))


def findings_on(facts: Facts) -> dict[str, Finding]:
    """Return the findings of all rules on *facts*, by rule."""
    return {finding.rule.id: finding for finding in run(RULES, facts).findings}


def priority(profile: KernelProfile, rule: str, gpu: str = "h100-sxm") -> str | None:
    """Return how urgent *rule* is for a kernel measured on *gpu*; None where it says nothing."""
    finding = findings(profile, gpu).get(rule)
    return None if finding is None else str(finding.priority)
