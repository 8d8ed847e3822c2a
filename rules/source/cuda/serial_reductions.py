"""Partial results of a block that one thread adds up, and kernels in which one thread works."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.divergence import conditions_of
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_FEWEST = number(
    16, "partial results that are worth a tree", "", "our judgement: four steps instead of 16"
)
_WORDS = re.compile(rb"==\s*0|!\s*\(?(?:threadIdx|tid\b)|!=\s*0")
_SHUFFLE = (
    "Let each warp add up its own by __shfl_down_sync(), and the first warp what the warps leave; or halve the "
    "number of adding threads in each step."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find loops over shared memory that one thread of a block walks; one per loop."""
    function = context.function
    if function.place is not ExecutionSpace.KERNEL or not function.says(b"__shared__"):
        return
    if not function.matches(_WORDS):
        return
    for loop in function.nodes("for_statement"):
        trips = _bound(context, loop)
        if trips is None or not any(
            _is_first_thread(context, condition) for condition in conditions_of(context, loop)
        ):
            continue
        tile = _tile_walked(context, loop)
        if tile is None:
            continue
        stored = _stored_each_time(context, loop)
        further = f", and loads and stores {stored} in global memory for each" if stored else ""
        yield context.diagnostic(
            "serial-reductions", loop,
            f"One thread takes the {trips} elements of {tile} one after the other{further}, while all others wait.",
            _SHUFFLE, end=_head_end(loop), tile=tile,
        )  # fmt: skip


def _head_end(loop: Node) -> int:
    body = loop.part("body")
    return loop.end if body is None else body.start


def _is_first_thread(context: RuleContext, condition: Node) -> bool:
    """Whether *condition* holds for one thread of the block: ``threadIdx.x == 0``, ``!threadIdx.x``."""
    condition = bare(condition)
    if condition.kind == "condition_clause" and condition.children:
        return _is_first_thread(context, condition.children[-1])
    if condition.kind == "unary_expression" and context.file.operator(condition) == "!":
        return _is_thread(context, condition.children[0])
    if condition.kind != "binary_expression" or len(condition.children) != 2:
        return False
    operator = context.file.operator(condition)
    if operator == "&&":
        return any(_is_first_thread(context, part) for part in condition.children)
    left, right = condition.children
    return operator == "==" and context.constant(right) == 0 and _is_thread(context, left)


def _is_thread(context: RuleContext, node: Node) -> bool:
    words = "".join(context.at(context.settled(node)).split())
    return words.strip("()") == "threadIdx.x"


def _bound(context: RuleContext, loop: Node) -> str | None:
    """Return how many iterations *loop* has, where it may be many: a block's size or a large constant."""
    condition = loop.part("condition")
    if condition is None or condition.kind != "binary_expression" or len(condition.children) != 2:
        return None
    if context.file.operator(condition) not in ("<", "<="):
        return None
    bound = condition.children[1]
    value = context.constant(context.settled(bound))
    if value is not None:
        return str(value) if value >= _FEWEST else None
    words = context.at(context.settled(bound))
    if words in ("blockDim.x", "blockDim.x - 1") or context.file.is_constant(
        context.settled(bound), context.function
    ):
        return words
    return None


def _tile_walked(context: RuleContext, loop: Node) -> str | None:
    """Return the shared array whose element of its own each iteration of *loop* adds to something."""
    if any(inner is not loop for kind in LOOPS for inner in context.file.tree.inside(loop, kind)):
        return None
    counters = context.assigned_below(loop)
    for change in context.file.tree.inside(loop, "assignment_expression"):
        if len(change.children) != 2:
            continue
        target, value = change.children
        if context.file.operator(change) not in ("+=", "=") or _names(context, target, counters):
            continue
        if context.file.operator(change) == "=" and context.at(target) not in context.at(value):
            continue
        for element in context.file.tree.below(value):
            if element.kind != "subscript_expression" or len(element.children) != 2:
                continue
            base = element.children[0]
            tile = context.file.variable(context.at(base), base, context.function)
            if tile is not None and tile.shared and _names(context, element.children[1], counters):
                return tile.name
    return None


def _names(context: RuleContext, node: Node, counters: set[str]) -> bool:
    """Whether an index in *node* names one of *counters*; the variable that is added to counts for itself."""
    if node.kind == "identifier":
        return False
    return any(
        part.kind == "identifier" and context.at(part) in counters
        for part in context.file.tree.below(node.children[-1] if node.children else node)
    )


def _stored_each_time(context: RuleContext, loop: Node) -> str | None:
    """Return the element of an array of the caller that each iteration of *loop* updates."""
    parameters = {p.name for p in context.function.parameters}
    for change in context.file.tree.inside(loop, "assignment_expression"):
        target = change.children[0]
        if target.kind == "subscript_expression" and context.root_name(target) in parameters:
            return context.at(target)
    return None


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void sums(float *out, const float *x) {
    __shared__ float part[256];
    part[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 0; i < 256; ++i) out[blockIdx.x] += part[i];     // 255 threads wait
}""",
        """\
__global__ void sums(float *out, const float *x) {
    __shared__ float part[8];
    float sum = x[blockIdx.x * 256 + threadIdx.x];
    for (int step = 16; step; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 0; i < 8; ++i) out[blockIdx.x] += part[i];       // one from each warp
}""",
    ),
)
RULE = source_rule(
    id="serial-reductions",
    title="Let all threads add up",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    why="While one thread adds up a block's partial results, every other lane and warp of the block waits.",
    when="A loop of 16 iterations or more, or of one for each thread, adds up shared memory under threadIdx.x == 0.",
    citations=guide("5.1", "4.1"),
    seen="for (i = 0; i < BLOCK; ++i)",
    action=_SHUFFLE,
)
