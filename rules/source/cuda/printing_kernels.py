"""Kernels that print from every thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.kernel_purpose import is_of_output
from gpuadvise.advisor.source.reaching_lanes import reached_by_few_lanes
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext

_ACTION = "Leave it out, or put it behind #ifdef DEBUG and let one thread print: if (blockIdx.x == 0 && threadIdx.x == 0)."


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find printf in kernels that compute something for the caller, where all threads come to it; one per kernel."""
    function = context.function
    if function.place is not ExecutionSpace.KERNEL or not function.says(b"printf"):
        return
    if not any("*" in parameter.type for parameter in function.parameters):
        return  # a demonstration that does nothing but print
    if not function.nodes("assignment_expression"):
        return
    for call in context.calls("printf"):
        guarded = any(g.start <= call.start < g.end for g in context.file.preprocessed.guarded)
        if guarded or reached_by_few_lanes(context, call):
            continue
        yield context.diagnostic(
            "printing-kernels", call,
            "Every thread prints: the formatted output of all of them goes through one buffer in memory that the host empties, and the "
            "call takes registers and stack of the kernel.",
            _ACTION, minor=is_of_output(function.name),
        )  # fmt: skip
        return


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void step(float *x, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= a;
    printf("%d %f\\\\n", i, x[i]);               // a line of each thread
}""",
        """\
__global__ void step(float *x, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= a;
    if (i == 0) printf("%f\\\\n", x[i]);         // of one
}""",
    ),
)
RULE = source_rule(
    id="printing-kernels",
    title="Let one thread print, and only while debugging",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.MEDIUM,
    why="Output of each thread takes far longer than what most kernels compute.",
    when="All threads of a kernel that stores results come to a printf that is compiled in any case.",
    citations=(programming_guide("Formatted Output"),),
    seen='printf("%d", i)',
    action=_ACTION,
)
