"""The kernels of one build, as far as the question is about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.compatibility.targets import number
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.cli.damage import unreadable
from gpuadvise.cli.kernels.gather import Gatherer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.binaries.model import Damage, Kernel
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.cli.kernels.request import KernelsRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildKernels:
    """One build's kernels, and what of it could not be read."""

    kernels: tuple[Kernel, ...]
    damage: tuple[Damage, ...]
    read: int = 0  # kernels before any filter

    @property
    def targets(self) -> set[str]:
        """The targets it has code for."""
        return {kernel.capability.target for kernel in self.kernels if kernel.capability}


def gathered(request: KernelsRequest, gpu: Capability | None) -> BuildKernels:
    """Return the kernels of the one file in *request*; raises BadInput when it holds none at all."""
    gatherer = Gatherer(request, gpu)
    kernels = list(gatherer.kernels())
    if not gatherer.gathered.kernels and not gatherer.gathered.entries:
        name = quoted_path(request.files[0])
        if gatherer.gathered.damage:
            raise unreadable(name, gatherer.gathered.damage)
        raise BadInput(f"There are no kernels in {name}.")
    chosen = kernels if gpu is None else _nearest(kernels)
    return BuildKernels(
        kernels=tuple(chosen),
        damage=tuple(gatherer.gathered.damage),
        read=gatherer.gathered.kernels,
    )


def _nearest(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Return, of logs and listings that name several fitting targets, only the nearest."""
    kernels = list(kernels)
    best: dict[str, tuple[int, int]] = {}
    for kernel in kernels:
        best[kernel.name] = max(best.get(kernel.name, (0, 0)), _target(kernel))
    return [kernel for kernel in kernels if _target(kernel) == best[kernel.name]]


def _target(kernel: Kernel) -> tuple[int, int]:
    return number(kernel.capability) if kernel.capability else (0, 0)
