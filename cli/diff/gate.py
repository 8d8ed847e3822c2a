"""The gates of ``diff``: what makes the exit code say no, and what they refuse to judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.names import stable_name
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.resource_diff.change import KernelChange, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.cli.diff.gather import BuildKernels


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What makes the exit code say no."""

    tier: bool  # any kernel in a worse tier
    spills: bool  # any kernel that spills more or needs more stack

    def failures(self, changes: Sequence[KernelChange]) -> list[str]:
        """Return why the exit code is 1, in sentences; none: the gate passes."""
        worse = sum(change.status is Status.WORSE for change in changes) if self.tier else 0
        spilling = sum(change.spills_more for change in changes) if self.spills else 0
        sentences = []
        if worse:
            sentences.append(f"{plural(worse, 'kernel')} lost occupancy (--fail-on-regression).")
        if spilling:
            sentences.append(
                f"{plural(spilling, 'kernel')} spilled more or took more stack (--fail-on-spills)."
            )
        return sentences

    def refuse_nothing(
        self, changes: Sequence[KernelChange], builds: tuple[BuildKernels, BuildKernels], where: str
    ) -> None:
        """Raise BadInput where the gate would pass because nothing was compared."""
        reasons = []
        if self.tier and not any(change.tiers_known for change in changes):
            reasons.append(("--fail-on-regression", "an occupancy"))
        if self.spills and not any(change.spills_known for change in changes):
            reasons.append(("--fail-on-spills", "spills or stack"))
        if reasons:
            option, what = reasons[0]
            raise BadInput(
                f"{option} has nothing to compare: {why_nothing(builds, where, what)}",
                hint="Without it, diff says what each build holds.",
            )
        lost = builds[0].targets - builds[1].targets
        if (self.tier or self.spills) and where == EACH_TARGET and lost:
            raise BadInput(
                f"The new build has no kernel for {and_list(sorted(lost))}, which the old one has.",
                hint="If that is meant, --arch names the targets to compare.",
            )


EACH_TARGET = "on the targets they were built for"


def why_nothing(builds: tuple[BuildKernels, BuildKernels], where: str, what: str) -> str:
    """Return why no kernel of both builds tells *what*, as a sentence."""
    for build, which in zip(builds, ("old", "new"), strict=True):
        if not build.kernels:
            some = f" (of {plural(build.read, 'kernel')} in it)" if build.read else ""
            return f"no kernel of the {which} build is left {where}{some}."
    old, new = builds
    if not {stable_name(k.name) for k in old.kernels} & {stable_name(k.name) for k in new.kernels}:
        return "the builds have no kernel of the same name."
    if old.targets and new.targets and not old.targets & new.targets and where == EACH_TARGET:
        return (
            f"the builds have no target in common ({and_list(sorted(old.targets))}; "
            f"{and_list(sorted(new.targets))})."
        )
    return f"no kernel of both builds tells {what}, as PTX never does."
