"""The share of a recorded run that a kernel takes, by its name, for what other files say of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import without_parameters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpuadvise.advisor.description.reader import Described
    from gpuadvise.advisor.timelines.timeline import Timeline


def shares_of_run(lines: Iterable[Timeline]) -> dict[str, float]:
    """Return the share of the span that the kernels of each name take, the largest of several *lines*."""
    shares: dict[str, float] = {}
    for line in lines:
        of_line: dict[str, float] = {}
        for kernel in line.kernels:
            name = without_parameters(kernel.shape.name)
            share = kernel.total_ns / line.span_ns if line.span_ns else 0.0
            of_line[name] = min(1.0, of_line.get(name, 0.0) + share)
        for name, share in of_line.items():
            shares[name] = max(share, shares.get(name, 0.0))
    return shares


def with_run_share(kernel: Described, shares: Mapping[str, float]) -> Described:
    """Return *kernel* with its share of the recorded run, where a timeline has it too."""
    facts = kernel.facts
    if facts.run_share is not None or facts.kernel is None or not shares:
        return kernel
    share = shares.get(without_parameters(facts.kernel))
    return replace(kernel, facts=replace(facts, run_share=share)) if share else kernel
