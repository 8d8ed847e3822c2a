"""Reductions in shared memory whose last steps, of one warp, still stop the whole block."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.source.reduction_trees import halved_in, is_tree, tree_of_caller
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_FEWEST_STEPS = number(
    3, "written steps of less than a warp with a barrier each, at least", "", "our judgement"
)
_BARRIER_WORDS = frozenset((b"__syncthreads", b"sync"))
_BARRIER = re.compile(rb"\b__syncthreads\s*\(|\bsync\s*\(")
_ACTION = (
    "Let the tree end at 32 values, and the first warp add those up by __shfl_down_sync() or __reduce_add_sync(), without "
    "barriers; or call cub::BlockReduce."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find trees over shared memory that halve the threads at work down to one, with a barrier for each step; one per loop."""
    function = context.function
    if not function.on_device or not function.has_word(_BARRIER_WORDS):
        return
    if not function.matches(_BARRIER):
        return
    if function.place is ExecutionSpace.KERNEL:
        yield from _in_global_memory(context)
    for loop in function.nodes(*LOOPS):
        if not _BARRIER.search(context.file.text.content, loop.start, loop.end):
            continue
        halved = halved_in(context, loop)
        if any(_ends_in_a_warp(context, loop, n) and is_tree(context, loop, n) for n in halved):
            body = loop.part("body")
            yield context.diagnostic(
                "barriers-in-reductions", loop,
                "The last five steps of this tree keep one warp at work, and stop the whole block at a barrier each time.",
                _ACTION, end=loop.end if body is None else body.start,
            )  # fmt: skip
    yield from _written_out(context)


def _ends_in_a_warp(context: RuleContext, loop: Node, counter: str) -> bool:
    """Whether *loop* goes on until *counter* is one or zero."""
    condition = loop.part("condition")
    if condition is None:
        return False
    condition = bare(condition)
    while condition.kind == "condition_clause" and condition.children:
        condition = bare(condition.children[-1])
    if condition.kind == "identifier":
        return context.at(condition) == counter
    if condition.kind != "binary_expression" or len(condition.children) != 2:
        return False
    if context.file.operator(condition) not in (">", ">=", "!="):
        return False
    side, bound = condition.children
    last = context.constant(bound)
    return context.at(side) == counter and last is not None and last <= 1


def _in_global_memory(context: RuleContext) -> Iterator[Diagnostic]:
    """Find the first tree with barriers over an array of the caller's."""
    for loop in context.function.nodes(*LOOPS):
        if not _BARRIER.search(context.file.text.content, loop.start, loop.end):
            continue
        array = tree_of_caller(context, loop)
        if array is not None:
            body = loop.part("body")
            yield context.diagnostic(
                    "barriers-in-reductions", loop,
                    f"This tree runs over {array.name} in global memory, and a barrier orders the threads of one block alone: each step loads "
                    "and stores there, and blocks that work on the same elements disturb each other.",
                    "Let each block add up its part in registers and shared memory, write one sum, and add these up by a second launch or an "
                    "atomic; or call cub::DeviceReduce.",
                    end=loop.end if body is None else body.start,
                )  # fmt: skip
            return


def _written_out(context: RuleContext) -> Iterator[Diagnostic]:
    """Find steps of less than a warp that are written one after the other, each with a barrier of the block behind it."""
    steps = []
    for branch in context.function.nodes("if_statement"):
        threads = _elected(context, branch)
        block, behind = branch.parent, None
        if threads is None or block is None or block.kind != "compound_statement":
            continue
        behind = next((n for n in block.children if n.start >= branch.end), None)
        if behind is not None and _BARRIER.match(context.file.text.content, behind.start):
            steps.append((threads, branch))
    chosen = {threads for threads, _ in steps}
    if len(chosen) >= _FEWEST_STEPS and all(n * 2 in chosen or n == max(chosen) for n in chosen):
        first = min((branch for _, branch in steps), key=lambda node: node.start)
        yield context.diagnostic(
            "barriers-in-reductions", first,
            f"{len(chosen)} steps of this tree keep at most one warp at work, and stop the whole block at a barrier each time.",
            _ACTION, end=first.children[0].end,
        )  # fmt: skip


def _elected(context: RuleContext, branch: Node) -> int | None:
    """Return how many threads take *branch*, less than a warp, where that is written as ``tid < 8``."""
    condition = branch.part("condition")
    if condition is None or not condition.children:
        return None
    condition = bare(condition.children[-1])
    if condition.kind != "binary_expression" or len(condition.children) != 2:
        return None
    if context.file.operator(condition) == "&&":  # with what the compiler knows of the block
        known, condition = map(bare, condition.children)
        if "threadIdx" in context.at(known) or condition.kind != "binary_expression":
            return None
    if context.file.operator(condition) != "<":
        return None
    side, bound = condition.children
    threads = context.constant(bound)
    own = "".join(context.at(context.settled(side)).split())
    if threads is None or not 0 < threads < WARP_SIZE or own != "threadIdx.x":
        return None
    return threads


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void sum(float *out, const float *x) {
    __shared__ float part[256];
    part[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {           // eight barriers
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}""",
        """\
__global__ void sum(float *out, const float *x) {
    __shared__ float part[8];                             // one per warp
    float own = x[blockIdx.x * 256 + threadIdx.x];
    for (int step = 16; step > 0; step /= 2) own += __shfl_down_sync(0xffffffff, own, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    own = threadIdx.x < 8 ? part[threadIdx.x] : 0;
    for (int step = 4; step > 0; step /= 2) own += __shfl_down_sync(0xffffffff, own, step);
    if (threadIdx.x == 0) out[blockIdx.x] = own;
}""",
    ),
)


RULE = source_rule(
    id="barriers-in-reductions",
    title="Finish reductions within a warp",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="The threads of a warp exchange values by shuffles without shared memory and without waiting for the block.",
    when="A tree over shared memory halves the threads at work down to one, with a barrier of the block in each step.",
    citations=(programming_guide("__shfl_sync"),),
    seen="for (int step = blockDim.x / 2; step > 0; step /= 2)",
    action=_ACTION,
)
