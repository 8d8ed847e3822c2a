"""Conditions that send neighbouring lanes down different paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.source.tree import LOOPS
from gpuadvise.advisor.source.variance import Variance
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
from gpuadvise.advisor.source.tree import Node

# Statements that a compiler may put under a predicate instead of a branch (guide, 13.2: up to
# seven instructions); a statement takes two or more.
_MOST_PREDICATED = number(
    3,
    "statements that predicates carry, at most",
    "statements",
    "guide 13.2: up to seven instructions, two or more of which are a statement",
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Conditions that send neighbouring lanes of a warp down different paths."""
    function = context.function
    if not function.on_device or not (function.says(b"%") or function.says(b"&")):
        return
    if not (function.says(b"threadIdx") or function.says(b"thread_rank")):
        return
    for node in context.function.nodes("if_statement"):
        condition = node.part("condition")
        alternating = _alternating(context, condition) if condition is not None else None
        if condition is not None and alternating is not None and _worth(context, node):
            yield context.diagnostic(
                "divergent-branches",
                node,
                f"Lanes of one warp take different paths: {context.at(alternating)} alternates from lane to lane.",
                "Let whole warps take one path: number the work so that the condition changes only between "
                "warps (threadIdx.x / warpSize), or give the first lanes the work and leave the last idle.",
                end=condition.end,
                minor=_stands_beside_work(context, node),
            )


def _stands_beside_work(context: RuleContext, node: Node) -> bool:
    """Whether the function has loops besides the ones around *node*: a tree at the end of them is soon done."""
    loops = context.function.nodes(*LOOPS)
    around = [loop for loop in loops if loop.holds(node)]
    return bool(around) and any(
        not loop.holds(node) and not any(outer.holds(loop) for outer in around) for loop in loops
    )


def _alternating(context: RuleContext, condition: Node) -> Node | None:
    """Return the remainder of the thread's number that *condition* compares with something."""
    stack = [condition]
    while stack:
        node = stack.pop()
        if node.kind in ("condition_clause", "parenthesized_expression", "unary_expression"):
            stack.extend(node.children)
        elif node.kind == "binary_expression" and len(node.children) == 2:
            operator = context.file.operator(node)
            if operator in ("%", "&"):
                if _splits_warp(context, node, operator):
                    return node
            elif operator in ("==", "!=", "<", "<=", ">", ">=", "&&", "||"):
                stack.extend(node.children)
    return None


def _splits_warp(context: RuleContext, node: Node, operator: str) -> bool:
    left, right = node.children
    if context.variances.of(left) is not Variance.LANE:
        return False
    if context.variances.of(right) is not Variance.UNIFORM:
        return False
    value = context.constant(right)
    if value is None:
        # The remainder by a step that a loop doubles is the reduction that the guide warns of.
        return (
            operator == "%" and "*" in context.at(right) and context.loop_around(node) is not None
        )
    return 1 < value < WARP_SIZE if operator == "%" else 0 < value < WARP_SIZE - 1


def _worth(context: RuleContext, node: Node) -> bool:
    """Whether the paths are longer than what predicates carry, whatever the compiler does.

    A reduction whose loop doubles the step is the guide's own example, however short its body.
    """
    body, condition = node.part("consequence"), node.part("condition")
    if body is None or condition is None:
        return False
    alternating = _alternating(context, condition)
    step = alternating.children[1] if alternating is not None else None
    if step is not None and context.constant(step) is None:
        return True
    alternative = node.part("alternative")
    if alternative is None:
        # Nothing runs one after the other; lanes that wait through a loop could do its work.
        return _loops(context, body)
    return all(_is_long(context, path) or _calls(context, path) for path in (body, alternative))


def _calls(context: RuleContext, path: Node) -> bool:
    """Whether *path* calls a function other than an intrinsic, which may be an instruction."""
    calls = (n for n in context.file.tree.below(path) if n.kind == "call_expression")
    return any(not context.file.callee(call).startswith("__") for call in calls)


def _is_long(context: RuleContext, path: Node) -> bool:
    return _size(path) > _MOST_PREDICATED or _loops(context, path)


def _loops(context: RuleContext, path: Node) -> bool:
    return any(n.kind in LOOPS for n in context.file.tree.below(path))


def _size(body: Node) -> int:
    return len(body.children) if body.kind == "compound_statement" else 1


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void work(float *x) {
    if (threadIdx.x % 2) x[threadIdx.x] = sqrtf(x[threadIdx.x]);     // both halves, in turn
    else x[threadIdx.x] = logf(x[threadIdx.x]);
}""",
        """\
__global__ void work(float *x) {                                     // data sorted by kind
    if (threadIdx.x / 32 % 2) x[threadIdx.x] = sqrtf(x[threadIdx.x]);
    else x[threadIdx.x] = logf(x[threadIdx.x]);
}""",
    ),
)
