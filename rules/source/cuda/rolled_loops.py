"""A short loop that is not unrolled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS
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

# Counts that a compiler unrolls in full without being asked, and gains from.
_FEWEST_TRIPS = number(2, "iterations of a short loop, at least", "iterations", "our judgement")
_MOST_TRIPS = number(16, "iterations of a short loop, at most", "iterations", "our judgement")
# Counts that a compiler unrolls in full without being asked, and gains from.
_FEWEST_TRIPS = number(2, "iterations of a short loop, at least", "iterations", "our judgement")
_MOST_TRIPS = number(16, "iterations of a short loop, at most", "iterations", "our judgement")


_ACTION = "Write #pragma unroll before it, and look at the registers afterwards: -Xptxas -v."


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Short loops of a known count that are kept rolled, or are not marked for unrolling."""
    if context.function.place is not ExecutionSpace.KERNEL or not context.function.says(b"for"):
        return
    for node in context.function.nodes("for_statement"):
        trips = _trips(context, node)
        if trips is None or not _FEWEST_TRIPS <= trips <= _MOST_TRIPS or _has_pragma(context, node):
            continue
        if any(n.kind in LOOPS and n is not node for n in context.file.tree.below(node)):
            continue
        yield context.diagnostic(
            "rolled-loops", node, f"A loop of {trips} iterations without #pragma unroll.",
            _ACTION,
            end=_head_end(node), trips=str(trips),
        )  # fmt: skip


def _head_end(loop: Node) -> int:
    body = loop.part("body")
    return body.start if body is not None else loop.end


def _trips(context: RuleContext, loop: Node) -> int | None:
    """Return how often a loop ``for (int i = a; i < b; i += c)`` runs."""
    start, condition, update = (loop.part(p) for p in ("initializer", "condition", "update"))
    if (
        start is None
        or condition is None
        or update is None
        or condition.kind != "binary_expression"
    ):
        return None
    first = start.child("init_declarator")
    if first is None or len(first.children) != 2:
        return None
    begin = context.constant(first.children[1])
    bound = context.constant(condition.children[1])
    step = 1 if update.kind == "update_expression" else None
    if update.kind == "assignment_expression" and context.file.operator(update) == "+=":
        step = context.constant(update.children[1])
    operator = context.file.operator(condition)
    if begin is None or bound is None or not step or step < 0 or operator not in ("<", "<="):
        return None
    return max(0, -(-(bound + (operator == "<=") - begin) // step))


def _has_pragma(context: RuleContext, loop: Node) -> bool:
    line = context.file.text.line(loop.start)
    return any(
        b"unroll" in context.file.text.line_text(at) or b"UNROLL" in context.file.text.line_text(at)
        for at in range(max(1, line - 2), line + 1)
    )


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void dot(float *out, const float *a, const float *b) {
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += a[k] * b[k];
    out[threadIdx.x] = sum;
}""",
        """\
__global__ void dot(float *out, const float *a, const float *b) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += a[k] * b[k];
    out[threadIdx.x] = sum;
}""",
    ),
)


RULE = source_rule(
    id="rolled-loops",
    title="Unroll short loops",
    topic=Topic.CONTROL_FLOW,
    priority=Priority.LOW,
    recommendation=True,
    why="An unrolled body needs no branch and no counter, and its short conditions become predicates.",
    when="A loop with a small constant number of iterations has no #pragma unroll; where the source was "
    "compiled, only if the pragma changes the code.",
    citations=guide("13.2", "12.2"),
    seen="for (int k = 0; k < 4; ++k)",
    detail={"trips": "4"},
    action=_ACTION,
)
