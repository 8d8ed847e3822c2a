"""Atomics of all threads on one address, or on few."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.lane_stride import is_kernel_with_lanes
from gpuadvise.advisor.source.reaching_lanes import reached_by_few_lanes
from gpuadvise.advisor.source.tree import bare
from gpuadvise.advisor.source.variance import Variance
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_ATOMICS = (
    "atomicAdd",
    "atomicSub",
    "atomicMax",
    "atomicMin",
    "atomicOr",
    "atomicAnd",
    "atomicXor",
)
_WORDS = re.compile(rb"\batomic[A-Z]")
_BYTES = frozenset(("char", "uchar"))


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find atomics in global memory whose threads all have one address, or one for each value of a byte."""
    if not is_kernel_with_lanes(context) or not context.function.matches(_WORDS):
        return
    reported: set[str] = set()
    for call in context.calls(*_ATOMICS):
        arguments = context.file.arguments(call)
        # A value that comes back tells the threads apart, and constants the compiler adds up by itself.
        if len(arguments) < 2 or call.parent is None or call.parent.kind != "expression_statement":
            continue
        address = bare(arguments[0])
        if _is_shared(context, address) or reached_by_few_lanes(context, call):
            continue
        name = context.root_name(address).lstrip("&")
        if name in reported:
            continue
        if _is_one_address(context, address) and bare(arguments[1]).kind != "number_literal":
            reported.add(name)
            yield context.diagnostic(
                "atomic-contention", call,
                f"All threads of a block update one element of {name}, one after the other.",
                "Add up in each warp by __shfl_down_sync() or __reduce_add_sync(), in the block through shared memory, and let one "
                "thread of the block do the atomic.",
            )  # fmt: skip
        elif _is_indexed_by_byte(context, address):
            reported.add(name)
            yield context.diagnostic(
                "atomic-contention", call,
                f"All threads of the grid count in the few elements of {name} that a byte can choose.",
                "Count in shared memory, one histogram for each block or warp, and add it to the one in global memory once.",
            )  # fmt: skip


def _index(address: Node) -> Node | None:
    """Return the index of ``&a[index]``."""
    if address.kind != "pointer_expression" or not address.children:
        return None
    element = bare(address.children[0])
    if element.kind != "subscript_expression" or len(element.children[1].children) != 1:
        return None
    return element.children[1].children[0]


def _is_one_address(context: RuleContext, address: Node) -> bool:
    """Whether all threads of a block have the same *address*."""
    if address.kind == "identifier":
        variable = context.file.variable(context.at(address), address, context.function)
        return variable is not None and variable.parameter and not context.changes(variable)
    index = _index(address)
    if index is not None:
        element = bare(address.children[0])
        if bare(element.children[0]).kind != "identifier":
            return False
        variable = context.file.variable(context.at(element.children[0]), element, context.function)
        if variable is None or not variable.parameter or context.changes(variable):
            return False
        loop = context.loop_around(address)
        moves = loop is not None and any(
            node.kind == "identifier" and context.at(node) in context.assigned_below(loop)
            for node in context.file.tree.below(index)
        )
        return not moves and context.variances.of(index) is Variance.UNIFORM
    return False


def _is_indexed_by_byte(context: RuleContext, address: Node) -> bool:
    index = _index(address)
    return index is not None and context.type_of(context.settled(index)) in _BYTES


def _is_shared(context: RuleContext, address: Node) -> bool:
    words = context.root_name(address).lstrip("&")
    variable = context.file.variable(words, address, context.function)
    return variable is None or variable.shared or not variable.parameter


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void sum(float *total, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, x[i]);                    // every thread waits in one line
}""",
        """\
__global__ void sum(float *total, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float part = i < n ? x[i] : 0;
    for (int step = 16; step; step /= 2) part += __shfl_down_sync(0xffffffff, part, step);
    if (threadIdx.x % 32 == 0) atomicAdd(total, part);    // one per warp
}""",
    ),
)
