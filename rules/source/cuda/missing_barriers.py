"""Shared memory that threads load before others have stored it, or store to while others still load."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.source.reaching_lanes import reached_by_elected_lanes, reached_by_few_lanes
from gpuadvise.advisor.source.reduction_trees import halved_in, tree_of_caller
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.shared_exchange import (
    common_loop,
    is_behind,
    is_of_one_element,
    may_wait,
    shared_accesses,
    takes_of_another,
)
from gpuadvise.advisor.source.tree import LOOPS
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.shared_exchange import SharedAccess

_BARRIER = re.compile(rb"\b__syncthreads\s*\(|\bsync\s*\(")
_ACTION = "Put __syncthreads() between the store and the loads of other threads, and between these and the next store."


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find exchanges through shared memory without a barrier between; one per array. Trees over memory of the caller too."""
    function = context.function
    if function.place is not ExecutionSpace.KERNEL or function.says(b"_pipeline"):
        return
    if function.matches(_BARRIER):
        yield from _of_trees(context)
    if not function.says(b"__shared__") or _is_of_one_warp(context):
        return
    reported: set[str] = set()
    accesses = shared_accesses(context)
    for store in accesses:
        if not store.is_store or store.array.name in reported:
            continue
        for load in accesses:
            same_array = load.array is store.array and not load.is_store
            if not same_array or not _is_of_others(context, load, store, accesses):
                continue
            message = _fault(context, load, store)
            if message is not None:
                reported.add(store.array.name)
                yield context.diagnostic("missing-barriers", load.node, message, _ACTION)
                break


def _is_of_others(
    context: RuleContext, load: SharedAccess, store: SharedAccess, accesses: list[SharedAccess]
) -> bool:
    """Whether *load* takes what other threads store by *store*, and none of its own."""
    if any(
        other.is_store and other.array is load.array and other.words == load.words
        for other in accesses
    ):
        return False
    if is_of_one_element(context, load) and reached_by_few_lanes(context, load.node):
        return False  # the one that owns it, perhaps
    return takes_of_another(context, load, store) and not reached_by_elected_lanes(
        context, store.node
    )


def _fault(context: RuleContext, load: SharedAccess, store: SharedAccess) -> str | None:
    """Return what is wrong between *store* and *load*, None where a barrier may part them."""
    array, line = store.array.name, context.file.text.line
    if is_behind(load.node, store.node) and not may_wait(context, store.node.end, load.node.start):
        return (
            f"Threads load elements of {array} that others store in line {line(store.node.start)}, and no barrier makes them wait "
            "for these."
        )
    if is_behind(store.node, load.node) and is_of_one_element(context, load):
        if not may_wait(context, load.node.end, store.node.start):
            return (
                f"All threads load {context.at(load.node)}, and line {line(store.node.start)} stores to {array} again: no barrier makes "
                "that wait for threads that have not loaded it yet."
            )
        return None
    loop = common_loop(context, store.node, load.node)
    body = loop.part("body") if loop is not None else None
    if loop is None or body is None or not may_wait(context, body.start, body.end):
        return None
    changed = context.assigned_below(loop)
    if any(context.at(n) in changed for i in store.indices for n in context.file.tree.below(i)):
        return None  # another part of the array each time
    first, last = sorted((load.node, store.node), key=lambda node: node.start)
    if may_wait(context, last.end, body.end) or may_wait(context, body.start, first.start):
        return None
    if last is load.node:
        return (
            f"The next iteration stores to {array} (line {line(store.node.start)}) while other threads may still load from it: no "
            "barrier stands between the loads and the end of the loop."
        )
    return None


def _of_trees(context: RuleContext) -> Iterator[Diagnostic]:
    """Find trees whose steps end with a store that no barrier follows before the next step loads."""
    for loop in context.function.nodes(*LOOPS):
        body = loop.part("body")
        if (
            body is None
            or not halved_in(context, loop)
            or not _BARRIER.search(context.file.code, body.start, body.end)
        ):
            continue
        if tree_of_caller(context, loop) is None:
            continue
        stores = [
            change
            for change in context.file.tree.inside(loop, "assignment_expression")
            if change.children[0].kind == "subscript_expression"
        ]
        last = max(stores, key=lambda change: change.start, default=None)
        elements = context.file.tree.inside(loop, "subscript_expression")
        first = min(elements, key=lambda element: element.start, default=None)
        if last is None or first is None or may_wait(context, last.end, body.end):
            continue
        if not may_wait(context, body.start, first.start):
            yield context.diagnostic(
                "missing-barriers", last,
                "The next step of the tree loads what other threads store here, and no barrier stands between the store and the end of "
                "the loop.",
                _ACTION,
            )  # fmt: skip
            return


def _is_of_one_warp(context: RuleContext) -> bool:
    """Whether all launches in the file, or the bounds of the kernel, say that a block is one warp at most."""
    bound = context.file.launch_bounds.get(context.function.name)
    sizes = [
        launch.threads
        for function in context.file.functions
        for launch in context.launches.of(function)
        if launch.kernel == context.function.name
    ]
    known = [size for size in (bound, *sizes) if size is not None]
    return bool(known) and max(known) <= WARP_SIZE


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void sums(float *out, const float *x, int n) {
    __shared__ float tile[256];
    float sum = 0;
    for (int first = 0; first < n; first += 256) {
        tile[threadIdx.x] = x[first + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 256; ++k) sum += tile[k];     // others may be at the next tile already
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}""",
        """\
__global__ void sums(float *out, const float *x, int n) {
    __shared__ float tile[256];
    float sum = 0;
    for (int first = 0; first < n; first += 256) {
        tile[threadIdx.x] = x[first + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 256; ++k) sum += tile[k];
        __syncthreads();                                  // before the tile is stored to again
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}""",
    ),
)
RULE = source_rule(
    id="missing-barriers",
    title="Wait between the stores and the loads of other threads",
    topic=Topic.EXECUTION,
    priority=Priority.HIGH,
    why="Warps of a block run at their own pace: without a barrier what one thread loads may be old, or of the next tile.",
    when="Elements of shared memory that threads store by their own number are loaded by others, and no barrier stands between.",
    citations=(programming_guide("__syncthreads()"),),
    seen="tile[threadIdx.x] = x[i]; sum += tile[k];",
    action=_ACTION,
    correctness=True,
)
