"""Launches of one thread, or of one block, over data that a loop walks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.launches import block_sides
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.launches import SourceLaunch
    from gpuadvise.advisor.source.rule_context import RuleContext


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find launches of one block whose kernel loops up to a number that it is given."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    for launch in context.launches.of(context.function):
        grid = block_sides(context.file, context.function, launch.grid)
        if grid is None or set(grid) != {1} or not _loops_over_data(context, launch):
            continue
        alone = launch.threads == 1
        if not alone and len(context.launches.of(context.function)) > 1:
            continue  # the last step of several
        yield context.diagnostic(
            "underfilled-device", launch.node,
            "One thread of the GPU walks the data: every other lane and SM is idle."
            if alone else
            "One block of threads walks the data: every SM but one is idle.",
            f"Launch enough blocks to cover the data, such as {launch.kernel}<<<(n + 255) / 256, 256>>>, and let each "
            "thread take the elements of its own number.",
            minor=not alone,
        )  # fmt: skip


def _loops_over_data(context: RuleContext, launch: SourceLaunch) -> bool:
    """Whether the kernel has a loop that a parameter bounds."""
    for kernel in context.file.called(launch.kernel):
        if kernel.place is not ExecutionSpace.KERNEL:
            continue
        names = {parameter.name for parameter in kernel.parameters if "*" not in parameter.type}
        for loop in kernel.nodes(*LOOPS):
            condition = loop.part("condition")
            if condition is not None and any(
                node.kind == "identifier" and context.file.at(node) in names
                for node in context.file.tree.below(condition)
            ):
                return True
    return False


CHECK = CudaCheck(
    faults=faults,
    on_device=False,
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
