"""Matrix products that read both operands from global memory for each multiply-add."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.array_access import array_access
from gpuadvise.advisor.source.lane_stride import is_kernel_with_lanes
from gpuadvise.advisor.source.tree import bare
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find sums of products of which one operand runs along rows and the other along columns; one per kernel."""
    if not is_kernel_with_lanes(context) or not context.function.says(b"*"):
        return
    for product in context.function.nodes("binary_expression"):
        if len(product.children) != 2 or context.file.operator(product) != "*":
            continue
        operands = [bare(child) for child in product.children]
        loop = context.loop_around(product)
        if loop is None or any(operand.kind != "subscript_expression" for operand in operands):
            continue
        arrays = [array_access(context, operand) for operand in operands]
        names = [array.parameter.name for array in arrays if array is not None]
        if (
            len(set(names)) == 2
            and _is_added_up(context, product)
            and _walks_both_ways(context, loop, operands)
        ):
            yield context.diagnostic(
                "untiled-product", product,
                f"A matrix product without tiles: each multiply-add loads an element of {names[0]} and one of {names[1]} from "
                "global memory.",
                "Call cuBLAS (cublasSgemm, cublasGemmEx). Or load tiles of both into shared memory, and let each thread compute "
                "several results in registers, such as 8 x 8.",
            )  # fmt: skip
            return


def _is_added_up(context: RuleContext, product: Node) -> bool:
    """Whether *product* is what an iteration adds to a sum."""
    above = product.parent
    while above is not None and above.kind in ("parenthesized_expression", "binary_expression"):
        above = above.parent
    return (
        above is not None
        and above.kind == "assignment_expression"
        and context.file.operator(above) in ("+=", "=")
        and (context.file.operator(above) == "+=" or _names_again(context, above))
    )


def _names_again(context: RuleContext, assignment: Node) -> bool:
    if len(assignment.children) != 2:  # what the parser could not follow
        return False
    target, value = assignment.children
    words = context.at(target)
    return any(
        node.kind == target.kind and context.at(node) == words
        for node in context.file.tree.below(value)
    )


def _walks_both_ways(context: RuleContext, loop: Node, operands: list[Node]) -> bool:
    """Whether the counter of *loop* is scaled in one index and added in the other, beside the place of the result."""
    counters = context.assigned_below(loop)
    found = []
    for operand in operands:
        index = bare(operand.children[1].children[0])
        if index.kind != "binary_expression" or context.file.operator(index) != "+":
            return False
        if any(node.kind == "subscript_expression" for node in context.file.tree.below(index)):
            return False
        terms = list(_terms(context, index))
        walking = [term for term in terms if _names_any(context, term, counters)]
        if len(walking) != 1 or len(terms) < 2:
            return False
        found.append(walking[0].kind == "identifier")
    return sorted(found) == [False, True]


def _terms(context: RuleContext, index: Node) -> Iterator[Node]:
    stack = [index]
    while stack:
        node = bare(stack.pop())
        if node.kind == "binary_expression" and context.file.operator(node) == "+":
            stack.extend(node.children)
        else:
            yield node


def _names_any(context: RuleContext, term: Node, names: set[str]) -> bool:
    return any(
        node.kind == "identifier" and context.at(node) in names
        for node in context.file.tree.below(term)
    )


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void product(const float *a, const float *b, float *c) {  // of 16 x 16 matrices
    int x = threadIdx.x, y = threadIdx.y;
    float sum = 0;
    for (int k = 0; k < 16; k++) sum += a[y * 16 + k] * b[k * 16 + x];
    c[y * 16 + x] = sum;
}""",
        """\
__global__ void product(const float *a, const float *b, float *c) {  // 2 x 2 results per thread of 8 x 8
    __shared__ float at[16][16], bt[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    for (int i = y * 8 + x; i < 256; i += 64) at[i / 16][i % 16] = a[i], bt[i / 16][i % 16] = b[i];
    __syncthreads();
    float sum[2][2] = {};
    for (int k = 0; k < 16; k++)
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) sum[i][j] += at[y + 8 * i][k] * bt[k][x + 8 * j];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) c[(y + 8 * i) * 16 + x + 8 * j] = sum[i][j];
}""",
    ),
)
