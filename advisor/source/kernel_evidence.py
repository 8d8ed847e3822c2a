"""What a source file says kernel by kernel: faults, launches, arrays that live in a thread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from gpuadvise.advisor.source.cuda_file import read_cuda
from gpuadvise.advisor.source.launches import Launches, block_sides
from gpuadvise.advisor.source.observations import observation_of
from gpuadvise.advisor.source.scopes import ExecutionSpace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.advisor.source.cuda_file import CudaFile
    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.linted_file import LintedFile
    from gpuadvise.advisor.source.scopes import SourceFunction
    from gpuadvise.advisor.source.text import SourceText


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEvidence:
    """One kernel of a file; *block* and *grid* are what every launch of the file says.

    None where they differ, or where one is not known. *parameters* are types in the words of
    `scopes`, None for a template of any number of them.
    """

    name: str
    observations: tuple[Observation, ...]
    local_arrays: tuple[str, ...]
    parameters: tuple[str, ...] | None = None
    block: tuple[int, int, int] | None = None
    grid: tuple[int, int, int] | None = None


def evidence_in(
    text: SourceText, faults: Iterable[Diagnostic]
) -> tuple[list[KernelEvidence], list[Observation]]:
    """Return the kernels of *text* with those of its *faults*, and the faults that belong to none."""
    seen = [
        replace(observation_of(d), detail={**d.detail, "offset": str(d.where.start)})
        if d.rule == "rolled-loops"
        else observation_of(d)
        for d in faults
    ]
    file = read_cuda(text)
    functions = [f for f in file.functions if f.place is ExecutionSpace.KERNEL]
    sizes = _launched_sizes(file)
    kernels = []
    for f in functions:
        first, last = file.text.line(f.node.start), file.text.line(f.node.end)
        block, grid = sizes.get(f.name, (None, None))
        kernels.append(
            KernelEvidence(
                name=f.name,
                observations=tuple(
                    o for o in seen if o.kernel == f.name and first <= o.line <= last
                ),
                local_arrays=tuple(_local_arrays(file, f)),
                parameters=_parameter_types(f),
                block=block,
                grid=grid,
            )
        )
    file.tree.release()
    names = {f.name for f in functions}
    return kernels, [o for o in seen if o.kernel not in names]


def why_unjudged(linted: LintedFile) -> str | None:
    """Return why a file that shows nothing was not judged; None where nothing is wrong with it."""
    if linted.hip:
        return "It is HIP, and CUDA alone is judged."
    if linted.not_understood:
        return "Its kernels stand in syntax that the parser does not know."
    return None


_Sizes: TypeAlias = "tuple[tuple[int, int, int] | None, tuple[int, int, int] | None]"


def _launched_sizes(file: CudaFile) -> dict[str, _Sizes]:
    """Return block and grid of each kernel's launches; None where they differ, or one is not known."""
    launches = Launches(file)
    sizes: dict[str, _Sizes] = {}
    for function in file.functions:
        for launch in launches.of(function):
            block, grid = (
                None if sides is None else _three(sides)
                for sides in (
                    block_sides(file, function, node) for node in (launch.block, launch.grid)
                )
            )
            known = sizes.setdefault(launch.kernel, (block, grid))
            sizes[launch.kernel] = (
                block if known[0] == block else None,
                grid if known[1] == grid else None,
            )
    return sizes


def _parameter_types(function: SourceFunction) -> tuple[str, ...] | None:
    """Return the types of *function*'s parameters; None where some have no name, or are many in one."""
    declared = function.declarator.child("parameter_list")
    if declared is None or any(
        child.kind not in ("parameter_declaration", "optional_parameter_declaration")
        for child in declared.children
    ):
        return None
    types = tuple(parameter.type for parameter in function.parameters)
    return types if len(types) == len(declared.children) else None


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
