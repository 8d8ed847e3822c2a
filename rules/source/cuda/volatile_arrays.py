"""Arrays that a kernel takes as volatile though no thread waits for what another stores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.variance import Variance
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable

# What threads of one grid hand each other values by, or wait with.
_EXCHANGE = re.compile(
    rb"__threadfence|\batomic|\bgrid\w*\.sync|\bwhile\b|\bdo\b|__syncwarp|\basm\b|__nanosleep|_system\b|__syncthreads"
)
_ACTION = "Leave volatile out, and declare arrays that do not overlap __restrict__, those that are only read const ... *__restrict__."


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find parameters of a kernel that point to volatile elements, where nothing in it waits for other threads; one per kernel."""
    function = context.function
    if function.place is not ExecutionSpace.KERNEL or "volatile" not in function.header:
        return
    if function.matches(_EXCHANGE):
        return
    found = [
        p
        for p in function.parameters
        if p.type.endswith("*")
        and "volatile" in context.at(p.node).partition("*")[0]
        and _is_array(context, p)
    ]
    if not found:
        return
    names = and_list([parameter.name for parameter in found])
    yield context.diagnostic(
        "volatile-arrays", found[0].node,
        f"{names} {'is' if len(found) == 1 else 'are'} volatile: each access is made as it is written, one element at a time and in order, "
        "so that none is kept in a register, joined with its neighbours or loaded early. No thread here waits for what another stores.",
        _ACTION, parameters=names,
    )  # fmt: skip


def _is_array(context: RuleContext, parameter: Variable) -> bool:
    """Whether threads take elements of their own of *parameter*: one that all look at may be a flag."""
    return any(
        context.at(access.children[0]) == parameter.name
        and context.variances.of(access.children[1].children[0]) is not Variance.UNIFORM
        for access in context.function.nodes("subscript_expression")
        if len(access.children) == len(("array", "index")) and access.children[1].children
    )


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void push(volatile float *x, volatile const float *v, float step, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] + step * v[i];
}""",
        """\
__global__ void push(float *__restrict__ x, const float *__restrict__ v, float step, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] + step * v[i];
}""",
    ),
)
RULE = source_rule(
    id="volatile-arrays",
    title="Leave volatile out where no thread waits for another",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="The compiler may neither keep nor join nor reorder volatile accesses, and they pass L1 by.",
    when="A kernel takes arrays as volatile, and holds no barrier, fence, atomic or loop that waits.",
    citations=(programming_guide("volatile"),),
    seen="volatile float *x",
    action=_ACTION,
)
