"""What source files show of their kernels, for joining with other evidence about them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

from gpuadvise.advisor.description.reader import Described
from gpuadvise.advisor.evidence.kernel_name import KernelName
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.source.kernel_evidence import KernelEvidence, evidence_in, why_unjudged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.binaries.model import Kernel
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.advisor.source.linted_file import LintedFile
    from gpuadvise.advisor.source.text import SourceText

ROLLED = "rolled-loops"
# What the launch of a compiled kernel is judged by anyway, with its registers.
_OF_THE_BLOCK = frozenset(("partial-warp", "impossible-launch", "tiny-blocks"))
# What host code shows of the kernel that it launches.
_OF_THE_GRID = "underfilled-device"


@dataclass(slots=True)
class SourceEvidence:
    """The kernels of source files, overloads apart, and what belongs to no kernel."""

    kernels: list[KernelEvidence] = field(default_factory=list)
    rest: list[Observation] = field(default_factory=list)
    _joined: set[KernelName] = field(default_factory=set)
    _launched: set[str] = field(default_factory=set)
    _placed: list[Observation] = field(default_factory=list)

    def add(self, text: SourceText, linted: LintedFile) -> str | None:
        """Take in what *text* shows and what was *linted* in it; of a kernel in several files, the first counts.

        Returns why the text was not judged, None where it was.
        """
        kernels, rest = evidence_in(text, linted.diagnostics)
        known = set(map(_name_of, self.kernels))
        self.kernels += [kernel for kernel in kernels if _name_of(kernel) not in known]
        self.rest += rest
        return None if kernels or rest else why_unjudged(linted)

    def of(self, name: KernelName) -> KernelEvidence | None:
        """Return what is known of the kernel *name*; None where no source defines it."""
        return next((each for each in self.kernels if _name_of(each).may_be(name)), None)

    def launched(self, kernel: Kernel, name: KernelName) -> Kernel:
        """Return *kernel* with the block that the source launches it with, where it says that."""
        known = self.of(name)
        if known is None or known.block is None or kernel.launched_block is not None:
            return kernel
        self._launched.add(name.base)
        return kernel._replace(launched_block=known.block)

    def joined(self, facts: Facts, name: KernelName) -> Facts:
        """Return *facts* of the kernel *name* with what its source shows of it."""
        known = self.of(name)
        if known is None:
            return facts
        self._joined.add(_name_of(known))
        launches = [
            o for o in self.rest if o.fault == _OF_THE_GRID and _launched_by(o) == known.name
        ]
        self._placed += launches
        return replace(
            _in_grid(facts, known),
            observations=(*(facts.observations or ()), *known.observations, *launches),
            local_arrays=known.local_arrays or None,
        )

    def launches_left(self, device: Device) -> Iterator[Described]:
        """Yield what the launches of kernels say that nothing was joined to: their block and grid."""
        for known in self.kernels:
            name = _name_of(known)
            if name in self._joined or known.block is None:
                continue
            self._joined.add(name)
            self._launched.add(known.name)
            launch = Launch(threads=prod(known.block), block_dim=known.block, grid_dim=known.grid)
            facts = Facts(
                kernel=known.name,
                device=device,
                launch=launch,
                observations=known.observations or None,
                local_arrays=known.local_arrays or None,
            )
            yield Described(facts=completed(facts))

    def drop_unproved(self) -> None:
        """Take out what only a compilation of the source could prove: that a loop stays rolled."""
        for at, known in enumerate(self.kernels):
            kept = tuple(o for o in known.observations if o.fault != ROLLED)
            self.kernels[at] = replace(known, observations=kept)

    def apart(self) -> list[KernelEvidence]:
        """Return the kernels that nothing was joined to."""
        return [kernel for kernel in self.kernels if _name_of(kernel) not in self._joined]

    def left(self) -> tuple[Observation, ...]:
        """Return what was not joined to any kernel; rolled loops need compiled code."""
        seen = [o for kernel in self.apart() for o in kernel.observations]
        rest = [o for o in self.rest if o not in self._placed]
        return tuple(o for o in (*rest, *seen) if o.fault != ROLLED and not self._is_judged(o))

    def _is_judged(self, seen: Observation) -> bool:
        """Return whether *seen* is of a launch whose block is among the facts of its kernel."""
        return seen.fault in _OF_THE_BLOCK and _launched_by(seen) in self._launched


def _launched_by(seen: Observation) -> str:
    """Return the name of the kernel that is launched at the place of *seen*."""
    return seen.seen.partition("<<<")[0].partition("<")[0].rpartition("::")[2].strip()


def _in_grid(facts: Facts, known: KernelEvidence) -> Facts:
    """Return *facts* in the grid that the source launches them with, where the block is the source's too."""
    launch = facts.launch
    if launch is None or launch.grid_dim or facts.profile or known.grid is None:
        return facts
    if known.block is None or launch.threads != prod(known.block):
        return facts
    wider = replace(launch, block_dim=known.block, grid_dim=known.grid)
    return completed(replace(facts, launch=wider, occupancy=None, limiter=None))


def _name_of(kernel: KernelEvidence) -> KernelName:
    return KernelName(kernel.name, kernel.parameters)
