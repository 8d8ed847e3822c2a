"""What a source file says kernel by kernel: faults, launches, arrays that live in a thread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.cuda_file import read_cuda
from gpuadvise.advisor.source.launches import Launches, block_sides
from gpuadvise.advisor.source.lint import CUDA_RULES, lint_cuda
from gpuadvise.advisor.source.observations import observation_of
from gpuadvise.advisor.source.scopes import ExecutionSpace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.advisor.source.cuda_file import CudaFile
    from gpuadvise.advisor.source.scopes import SourceFunction
    from gpuadvise.advisor.source.text import SourceText


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEvidence:
    """One kernel of a file; *block* is what every launch of the file says, None where they differ."""

    name: str
    observations: tuple[Observation, ...]
    local_arrays: tuple[str, ...]
    block: tuple[int, int, int] | None = None


def evidence_in(text: SourceText) -> tuple[list[KernelEvidence], list[Observation]]:
    """Return the kernels of *text*, and the faults that belong to none of them.

    Loops without a pragma are among the faults: compiled code proves or clears them.
    """
    rules = {i for rule in CUDA_RULES for i in rule.rules}
    seen = [
        replace(observation_of(d), detail={**d.detail, "offset": str(d.where.start)})
        if d.rule == "rolled-loops"
        else observation_of(d)
        for d in lint_cuda(text.content, text.file, select=rules).diagnostics
    ]
    file = read_cuda(text)
    functions = [f for f in file.functions if f.place is ExecutionSpace.KERNEL]
    blocks = _blocks(file)
    kernels = [
        KernelEvidence(
            name=f.name,
            observations=tuple(o for o in seen if o.kernel == f.name),
            local_arrays=tuple(_local_arrays(file, f)),
            block=blocks.get(f.name),
        )
        for f in functions
    ]
    file.tree.release()
    names = {f.name for f in functions}
    return kernels, [o for o in seen if o.kernel not in names]


def _blocks(file: CudaFile) -> dict[str, tuple[int, int, int] | None]:
    """Return the block of each kernel's launches; None where they differ, or one is not known."""
    launches = Launches(file)
    blocks: dict[str, tuple[int, int, int] | None] = {}
    for function in file.functions:
        for launch in launches.of(function):
            sides = block_sides(file, function, launch.block)
            block = None if sides is None else _three(sides)
            known = blocks.setdefault(launch.kernel, block)
            blocks[launch.kernel] = block if known == block else None
    return blocks


def _three(sides: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z, *_ = (*sides, 1, 1)
    return x, y, z


def _local_arrays(file: CudaFile, function: SourceFunction) -> Iterator[str]:
    """Yield the arrays that each thread of *function* has, as they are declared, with their line."""
    for variables in function.variables.values():
        for variable in variables:
            if variable.dimensions and not variable.shared and not variable.parameter:
                sizes = "".join(f"[{file.at(node)}]" for node in variable.dimensions)
                line = file.text.line(variable.node.start)
                yield f"{variable.name}{sizes} (line {line})"
