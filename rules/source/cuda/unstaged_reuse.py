"""Elements of global memory that many threads of a block read: the same for all, or windows that overlap."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.array_access import array_access, is_step_of_block
from gpuadvise.advisor.source.lane_stride import (
    lanes_along_x,
)
from gpuadvise.advisor.source.reaching_lanes import reached_by_elected_lanes
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import bare
from gpuadvise.advisor.source.variance import Variance
from gpuadvise.advisor.source.windows import counters_of, is_beside, is_narrow
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

# How many items a batch has is called so: a few, perhaps.
_BATCH = re.compile(
    r"(?:n|num|n_|num_)?(?:[bB]atch|batches|BATCH)(?:_?[sS]ize|_?[cC]ount|_?[nN]um|_cnt)?|B"
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find loops that read what other threads of the block read as well, without shared memory; one of a kind per kernel."""
    function = context.function
    of_a_kernel = function.place is ExecutionSpace.KERNEL and not function.says(b"__shared__")
    if not of_a_kernel or lanes_along_x(context) == 1:
        return
    for loop in function.nodes("for_statement"):
        streamed = _streamed(context, loop)
        if streamed:
            names = and_list([*dict.fromkeys(context.root_name(access) for access in streamed)])
            yield context.diagnostic(
                "unstaged-reuse", streamed[0],
                f"In each iteration all threads read the same elements of {names}, each thread from global memory.",
                "Let the block load a tile of as many elements as it has threads into shared memory, and loop over that. It pays where "
                "the loop is long.",
                minor=True,
            )  # fmt: skip
            break
    for window in islice(_windows(context), 1):
        yield context.diagnostic(
            "unstaged-reuse", window,
            f"Neighbouring threads read windows of {context.root_name(window)} that overlap: each element comes from global memory "
            "once for each thread that needs it.",
            "Load the block's part of the array with its border into shared memory once; or split the window into a pass along rows "
            "and one along columns, or carry sums from one element to the next. It pays where windows are large.",
            minor=True,
        )  # fmt: skip


def _streamed(context: RuleContext, loop: Node) -> list[Node]:
    """Return the reads of *loop*, where all are of elements that its counter chooses for the whole block."""
    condition = loop.part("condition")
    if condition is None or _is_known(context, condition):
        return []
    counters, reads = context.assigned_below(loop), []
    for access in context.file.tree.inside(loop, "subscript_expression"):
        if not _is_read_of_caller(context, access):
            continue
        if context.loop_around(access) is not loop:
            return []  # the inner loop is looked at by itself
        if not any(
            context.at(name) in counters for name in context.file.tree.below(access.children[1])
        ):
            continue  # what stays is read once
        if not _is_of_block(context, access) or reached_by_elected_lanes(context, access):
            return []
        reads.append(access)
    return reads if _meets_own_data(context, loop) else []


def _is_of_block(context: RuleContext, access: Node) -> bool:
    """Whether *access* is the same element for all threads of the block."""
    reached, index = array_access(context, access), access.children[1].children[0]
    if reached is None or not reached.stride.is_zero:
        return False
    return context.variances.of(index) is Variance.UNIFORM


def _is_known(context: RuleContext, condition: Node) -> bool:
    """Whether the compiler knows the bound in *condition*, or it counts the items of a batch: such loops are short."""
    return any(
        context.file.is_constant(context.settled(side), context.function)
        or _BATCH.fullmatch(context.at(side))
        for side in bare(condition).children
    )


def _is_read_of_caller(context: RuleContext, access: Node) -> bool:
    """Whether *access* reads an element of an array that the kernel is given."""
    if len(access.children) != 2:
        return False
    base = bare(access.children[0])
    array = context.file.variable(context.at(base), base, context.function)
    if array is None or not array.parameter or array.type.count("*") != 1:
        return False
    if not all(is_step_of_block(context, change) for change in context.changes(array)):
        return False  # as by p += threadIdx.x * n: a row of the thread's own
    above: Node | None = access.parent
    while above is not None and above.kind in ("field_expression", "parenthesized_expression"):
        access = above
        above = access.parent
    if above is None or above.kind == "pointer_expression":
        return False
    return not (above.kind == "assignment_expression" and above.children[0] is access)


def _meets_own_data(context: RuleContext, loop: Node) -> bool:
    """Whether *loop* computes with something that differs from lane to lane."""
    return any(
        name.kind == "identifier"
        and context.variances.of(name) in (Variance.LANE, Variance.UNKNOWN)
        for node in context.file.tree.inside(loop, "binary_expression")
        for name in context.file.tree.below(node)
    )


def _windows(context: RuleContext) -> Iterator[Node]:
    """Yield the reads in loops of elements ``x + k`` beside the thread's own, k counted by the loop."""
    for access in context.function.nodes("subscript_expression"):
        loop = context.loop_around(access)
        if loop is None or loop.kind != "for_statement" or not _is_read_of_caller(context, access):
            continue
        if is_narrow(context, loop):
            continue
        around = context.loop_around(loop)
        counters = counters_of(context, loop) | (counters_of(context, around) if around else set())
        if counters and is_beside(context, access.children[1], counters, 0):
            yield access


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void pull(float *force, const float *x, int n) {
    float own = x[threadIdx.x], sum = 0;
    for (int j = 0; j < n; ++j) sum += x[j] - own;                // each thread reads all of x
    force[threadIdx.x] = sum;
}""",
        """\
__global__ void pull(float *force, const float *x, int n) {
    __shared__ float tile[256];
    float own = x[threadIdx.x], sum = 0;
    for (int first = 0; first < n; first += 256) {                // each block reads it once
        if (first + threadIdx.x < n) tile[threadIdx.x] = x[first + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < min(256, n - first); ++j) sum += tile[j] - own;
        __syncthreads();
    }
    force[threadIdx.x] = sum;
}""",
    ),
)
