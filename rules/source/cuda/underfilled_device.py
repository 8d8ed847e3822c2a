"""Launches of one thread, of one block, or of a block for each item of a batch, over data that loops walk."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.data_loops import (
    loops_over_data,
    names_one_of,
    strides_by_grid,
    strides_by_items,
    walks_elements,
)
from gpuadvise.advisor.source.launches import block_sides
from gpuadvise.advisor.source.reaching_lanes import is_of_one_thread
from gpuadvise.advisor.source.rule_context import RuleContext
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.launches import SourceLaunch
    from gpuadvise.advisor.source.scopes import SourceFunction
    from gpuadvise.advisor.source.tree import Node

SMS = number(108, "SMs that a grid of fixed size should fill, at least", "", "the SMs of an A100")
_ELECTION = re.compile(rb"(?:==|!=|>|<)\s*[01]\b|\bif\s*\(\s*!?\s*\w+\s*\)")
_BATCH = re.compile(r"(?:b|B|bs|(?:num_|n_?)?batch(?:_?size|es)?|batchSize|batch_num)$")
_SEVERAL_PER_ITEM = re.compile(
    rb"blockIdx\.[xyz]\s*\*\s*blockDim|blockDim\.[xyz]\s*\*\s*blockIdx|blockIdx\.[yz]"
)

_WAY_OF_SUMS = (
    "Where there are more elements than some thousands, let each of many blocks add up a part, and join the parts by an atomic or "
    "by a second launch; CUB's DeviceReduce does both."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find launches of few blocks whose kernel loops up to a number that it is given, and kernels that leave that to one thread."""
    if context.function.place is ExecutionSpace.KERNEL:
        yield from _of_one_thread(context)
    if context.function.place is not ExecutionSpace.HOST:
        return
    reported: set[str] = set()
    fixed: list[tuple[SourceLaunch, int]] = []
    for launch in context.launches.of(context.function):
        grid = block_sides(context.file, context.function, launch.grid)
        if not loops_over_data(context, launch):
            continue
        few = grid is not None and 1 < prod(grid) < SMS and strides_by_grid(context, launch)
        if few and not strides_by_items(context, launch, _BATCH):
            fixed.append((launch, prod(grid or ())))
        if grid is None and launch.kernel not in reported:
            reported.add(launch.kernel)
            yield from _of_batches(context, launch)
        if grid is None or set(grid) != {1}:
            continue
        alone = launch.threads == 1
        others = [other for other in context.launches.of(context.function) if other is not launch]
        last = any(other.kernel == launch.kernel for other in others) or not walks_elements(
            context, launch
        )
        if not alone and others and last:
            continue  # the last step of several
        yield context.diagnostic(
            "underfilled-device", launch.node,
            "One thread of the GPU walks the data: every other lane and SM is idle."
            if alone else
            "One block of threads walks the data: every SM but one is idle.",
            _WAY_OF_SUMS
            if not alone and _joins_in_block(context, launch)
            else f"Launch enough blocks to cover the data, such as {launch.kernel}<<<(n + 255) / 256, 256>>>, and let each "
            "thread take the elements of its own number.",
            minor=not alone,
        )  # fmt: skip
    yield from _of_fixed_grids(context, fixed)


def _of_one_thread(context: RuleContext) -> Iterator[Diagnostic]:
    """Find a loop over data that a kernel of many threads leaves to one of its grid."""
    function = context.function
    if not function.matches(_ELECTION) or context.launches.is_of_one_thread(function.name):
        return
    given = {parameter.name for parameter in function.parameters}
    for loop in function.nodes(*LOOPS):
        condition = loop.part("condition")
        if condition is None or context.loop_around(loop) is not None:
            continue
        if is_of_one_thread(context, loop) and names_one_of(context, condition, given):
            yield context.diagnostic(
                "underfilled-device", loop,
                "One thread of the grid walks the data, and all others have nothing to do.",
                "Let each thread take the elements of its own number, and join what they find by a reduction in the block and an "
                "atomic, or by CUB.",
                end=loop.start + 1, minor=True,
            )  # fmt: skip
            return


def _of_fixed_grids(
    context: RuleContext, fixed: list[tuple[SourceLaunch, int]]
) -> Iterator[Diagnostic]:
    """Say of grids with fewer blocks than large GPUs have SMs, for kernels that take any number of them; once for a function."""
    if not fixed:
        return
    launch, blocks = fixed[0]
    more = f" (and {len(fixed) - 1} more here)" if len(fixed) > 1 else ""
    yield context.diagnostic(
        "underfilled-device", launch.node,
        f"The grid has {blocks} blocks however much data there is{more}: GPUs with {SMS} SMs and more leave some without one.",
        f"Take the blocks from the data, up to some for each SM: {launch.kernel} goes on by gridDim and takes any number, if arrays with "
        "a part for each block grow with it (cudaOccupancyMaxActiveBlocksPerMultiprocessor times multiProcessorCount fills the GPU once).",
        minor=True,
    )  # fmt: skip


def _of_batches(context: RuleContext, launch: SourceLaunch) -> Iterator[Diagnostic]:
    """Find a grid with one block for each item of a batch, each of which walks the whole item."""
    count = _count_of_blocks(context, launch.grid)
    if count is None or not _BATCH.match(context.at(count)):
        return
    for kernel in context.file.called(launch.kernel):
        if kernel.place is not ExecutionSpace.KERNEL or _goes_in_step(context, kernel):
            continue
        if not kernel.matches(_SEVERAL_PER_ITEM):
            yield context.diagnostic(
                "underfilled-device", launch.node,
                f"The grid has a block for each of {context.at(count)} items, whatever their size: with fewer items than the GPU has "
                "SMs, the others are idle.",
                "Let several blocks share an item, such as grid((n + 255) / 256, batch) with blockIdx.y for the item, unless "
                "batches are always large.",
                minor=True,
            )  # fmt: skip
            return


def _joins_in_block(context: RuleContext, launch: SourceLaunch) -> bool:
    """Whether the kernel knows no other block than its own, and joins what the threads of that find."""
    return any(
        not kernel.says(b"blockIdx")
        and (kernel.says(b"__syncthreads") or kernel.says(b"BlockReduce"))
        for kernel in context.file.called(launch.kernel)
        if kernel.place is ExecutionSpace.KERNEL
    )


def _goes_in_step(context: RuleContext, kernel: SourceFunction) -> bool:
    """Whether a loop around another holds barriers: each step needs what the whole block found in the last one."""
    inside = RuleContext(context.file, kernel, context.launches)
    steps = [loop for b in inside.calls("__syncthreads") if (loop := inside.loop_around(b))]
    return any(
        inside.loops_around(loop) > 0
        or any(step is not loop for kind in LOOPS for step in context.file.tree.inside(loop, kind))
        for loop in steps
    )


def _count_of_blocks(context: RuleContext, grid: Node) -> Node | None:
    """Return the only side of *grid* where it has one, as it is written."""
    node = bare(grid)
    if node.kind == "identifier":
        variable = context.file.variable(context.at(node), node, context.function)
        if variable is not None and variable.type == "dim3":
            if variable.value is None or context.changes(variable):
                return None
            node = variable.value
    if node.kind == "call_expression" and context.file.callee(node) == "dim3":
        node = node.children[-1]
    if node.kind in ("argument_list", "initializer_list", "parameter_list"):
        if len(node.children) != 1:
            return None
        node = node.children[0]
        node = node.children[0] if node.kind == "parameter_declaration" else node
    return node


CHECK = CudaCheck(
    faults=faults,
    code=BeforeAfter(
        "host",
        """\
__global__ void add(float *x, int n) {
    for (int i = 0; i < n; ++i) x[i] += 1;
}
void launch(int n) { add<<<1, 1>>>(data, n); }           // one lane of one SM""",
        """\
__global__ void add(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}
void launch(int n) { add<<<(n + 255) / 256, 256>>>(data, n); }""",
    ),
)
