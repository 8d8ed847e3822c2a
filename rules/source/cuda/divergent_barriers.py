"""Barriers that not all threads of a block come to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.divergence import (
    depends_on_thread,
    first_uneven_return,
    is_uneven_loop,
)
from gpuadvise.advisor.source.lane_stride import ends_where_it_began
from gpuadvise.advisor.source.reaching_lanes import shared_stores_of_all_lanes
from gpuadvise.advisor.source.tree import LOOPS
from gpuadvise.advisor.source.variance import is_block_group
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide, old_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_BARRIERS = frozenset(
    ("__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or")
)


_WORDS = (b"sync", b"BlockReduce", b"BlockScan")
_BARRIER_CALL = re.compile(rb"\b__syncthreads\w*\s*\(")
_COLLECTIVE = re.compile(
    r"(?:\w+::)*(?:Block|block_?)(?:Reduce|Scan|reduce|scan|RadixSort|Exchange|Load|Store)\w*\s*[({]"
)

_ACTION = (
    "Move the barrier out of the condition: let all threads run the loop, guard only "
    "the work by if (i < n), and put the barrier after that."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Barriers of a block under a condition, or in a loop, that depends on the thread."""
    if not context.function.on_device or not any(map(context.file.says, _WORDS)):
        return
    yield from _behind_returns(context)
    barriers: dict[int, list[Node]] = {}
    causes: dict[int, Node] = {}
    for call in context.function.nodes("call_expression"):
        waits = _is_barrier(context, call) or _calls_barrier(context, call)
        cause = _divergent_cause(context, call) if waits else None
        if cause is not None:
            causes[cause.index] = cause
            barriers.setdefault(cause.index, []).append(call)
    for index, calls in barriers.items():
        where = "a loop whose count" if causes[index].kind in LOOPS else "a condition that"
        what = "A barrier" if len(calls) == 1 else f"This barrier and {len(calls) - 1} more stand"
        line = context.file.text.line(causes[index].start)
        yield context.diagnostic(
            "divergent-barriers",
            calls[0],
            f"{what} in {where} depends on the thread (line {line}).",
            _ACTION,
            minor=context.launches.is_sized_by_data(context.function.name),
        )


def _behind_returns(context: RuleContext) -> Iterator[Diagnostic]:
    """Find the first barrier that some threads of a block have left before, by a return under a condition."""
    first = first_uneven_return(context) if context.function.says(b"__shared__") else None
    if first is None:
        return
    line = context.file.text.line(first.start)
    for call in context.function.nodes("call_expression"):
        collective = _is_collective(context, call)
        if call.start < first.end or not (collective or _is_barrier(context, call)):
            continue
        if collective or shared_stores_of_all_lanes(context, first, call):
            yield context.diagnostic(
                "divergent-barriers",
                call,
                f"The threads that return in line {line} never come to this {'collective' if collective else 'barrier'}; "
                + (
                    "it uses values of all threads."
                    if collective
                    else "what they were to store before it is missing after it."
                ),
                "Let all threads of the block stay: guard the loads and stores by if (i < n), and give threads past the end a "
                "neutral value.",
                minor=not collective,
            )
            return


def _is_collective(context: RuleContext, call: Node) -> bool:
    """Whether *call* is a collective of a block in CUB, such as ``BlockReduce(storage).Sum(x)``."""
    called = call.children[0] if call.children else call
    return called.kind == "field_expression" and _COLLECTIVE.match(context.at(called)) is not None


def _calls_barrier(context: RuleContext, call: Node) -> bool:
    """Whether *call* is of a function of this file that holds a barrier."""
    if call.children[0].kind != "identifier":
        return False
    return any(
        f.on_device and f.node is not context.function.node and f.matches(_BARRIER_CALL)
        for f in context.file.called(context.file.callee(call))
    )


def _is_barrier(context: RuleContext, call: Node) -> bool:
    name = context.file.callee(call)
    if name in _BARRIERS:
        return True
    first = call.children[0] if call.children else call
    if name == "sync" and first.kind == "field_expression" and not context.file.arguments(call):
        return is_block_group(context.file, context.function, first.children[0])
    if name == "sync" and len(context.file.arguments(call)) == 1:
        return is_block_group(context.file, context.function, context.file.arguments(call)[0])
    return False


def _divergent_cause(context: RuleContext, barrier: Node) -> Node | None:
    """Return the innermost condition or loop around *barrier* that depends on the thread."""
    inner = barrier
    for above in barrier.ancestors():
        if above is context.function.body or above.kind == "lambda_expression":
            return None
        if _diverges(context, above, inner):
            return above
        inner = above
    return None


def _diverges(context: RuleContext, above: Node, inner: Node) -> bool:
    if above.kind == "if_statement" and inner.kind != "condition_clause":
        condition = above.part("condition")
        return condition is not None and depends_on_thread(context, condition)
    if above.kind in ("while_statement", "do_statement"):
        condition = above.part("condition")
        return (
            condition is not None
            and depends_on_thread(context, condition)
            and not ends_where_it_began(context, condition)
        )
    if above.kind == "for_statement" and inner.field == "body":
        condition = above.part("condition")
        return condition is not None and is_uneven_loop(context, condition)
    if above.kind == "switch_statement" and above.children:
        return depends_on_thread(context, above.children[0])
    return False


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void step(float *x, int n) {
    __shared__ float tile[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        tile[threadIdx.x] = x[i];
        __syncthreads();                                  // not all threads come here
        x[i] = tile[255 - threadIdx.x];
    }
}""",
        """\
__global__ void step(float *x, int n) {
    __shared__ float tile[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) tile[threadIdx.x] = x[i];
    __syncthreads();
    if (i < n) x[i] = tile[255 - threadIdx.x];
}""",
    ),
)


RULE = source_rule(
    id="divergent-barriers",
    title="Keep barriers out of divergent code",
    topic=Topic.CONTROL_FLOW,
    priority=Priority.HIGH,
    broken=True,
    recommendation=True,
    why="A barrier waits for every thread of the block; if some never come, the kernel hangs or computes nonsense.",
    when="A __syncthreads() stands under a condition, or in a loop, that depends on the thread.",
    citations=(old_guide("12.4"), *guide("13.1")),
    seen="__syncthreads()",
    action=_ACTION,
)
