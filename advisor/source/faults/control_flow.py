"""Barriers, branches and loops of device code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.source.variance import Variance, is_block_group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_BARRIERS = frozenset(
    ("__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or")
)
_WARP = 32
_UNSIGNED = frozenset(("uint",))
_UNSIGNED_WORDS = re.compile(rb"uint|unsigned")
# Counts that a compiler unrolls in full without being asked, and gains from.
_FEWEST_TRIPS, _MOST_TRIPS = 2, 16
# Statements that a compiler may put under a predicate instead of a branch (guide, 13.2: up to
# seven instructions); a statement takes two or more.
_MOST_PREDICATED = 3
# A bound that was rounded to whole blocks gives every thread the same number of iterations.
_ROUNDED = re.compile(r"[/~&]|ROUND|round|ceil|CEIL|pad|PAD|align|ALIGN|DIV|div")


def divergent_barriers(context: RuleContext) -> Iterator[Diagnostic]:
    """Barriers of a block under a condition, or in a loop, that depends on the thread."""
    if not context.function.on_device or not context.function.says(b"sync"):
        return
    barriers: dict[int, list[Node]] = {}
    causes: dict[int, Node] = {}
    for call in context.function.nodes("call_expression"):
        cause = _divergent_cause(context, call) if _is_barrier(context, call) else None
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
            "Move the barrier out of the condition: let all threads run the loop, guard only "
            "the work by if (i < n), and put the barrier after that.",
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
        return condition is not None and _depends_on_thread(context, condition)
    if above.kind in ("while_statement", "do_statement"):
        condition = above.part("condition")
        return condition is not None and _depends_on_thread(context, condition)
    if above.kind == "for_statement" and inner.field == "body":
        condition = above.part("condition")
        return condition is not None and _uneven_loop(context, condition)
    if above.kind == "switch_statement" and above.children:
        return _depends_on_thread(context, above.children[0])
    return False


def _depends_on_thread(context: RuleContext, condition: Node) -> bool:
    """Whether threads of one block surely disagree about *condition*."""
    condition = bare(condition.children[0] if condition.kind == "condition_clause" else condition)
    if condition.kind == "binary_expression" and context.file.operator(condition) == "&&":
        return any(_depends_on_thread(context, part) for part in condition.children)
    if condition.kind == "binary_expression" and context.file.operator(condition) == "||":
        return all(_depends_on_thread(context, part) for part in condition.children)
    if context.variances.of(condition) not in (Variance.LANE, Variance.WARP):
        return False
    return not _may_hold_for_all(context, condition)


def _may_hold_for_all(context: RuleContext, condition: Node) -> bool:
    """Whether a comparison with a constant may be true for every thread that there is."""
    if condition.kind != "binary_expression" or context.file.operator(condition) not in (
        "<",
        "<=",
        ">",
        ">=",
    ):
        return condition.kind == "call_expression"
    for side in condition.children:
        if context.file.is_constant(side, context.function) or _is_block_size(context, side):
            value = context.constant(side)
            return value is None or value > _WARP
    return False


def _is_block_size(context: RuleContext, node: Node) -> bool:
    return "blockDim" in context.at(node)


def _uneven_loop(context: RuleContext, condition: Node) -> bool:
    """Whether threads surely leave a loop after different numbers of iterations."""
    condition = bare(condition)
    if condition.kind != "binary_expression":
        return False
    if context.file.operator(condition) == "&&":
        return any(_uneven_loop(context, part) for part in condition.children)
    if context.file.operator(condition) not in ("<", "<=", ">", ">="):
        return False
    left, right = condition.children
    if context.variances.of(left) is Variance.UNIFORM:
        left, right = right, left
    if context.variances.of(left) not in (Variance.LANE, Variance.WARP):
        return False
    if context.variances.of(right) is not Variance.UNIFORM:
        return False
    return not (context.file.is_constant(right, context.function) or _rounded(context, right))


def _rounded(context: RuleContext, bound: Node) -> bool:
    """Whether *bound* may be a multiple of the block by how it was computed."""
    if _ROUNDED.search(context.at(bound)):
        return True
    for name in context.file.tree.below(bound):
        if name.kind != "identifier":
            continue
        variable = context.file.variable(context.at(name), name, context.function)
        if variable is None or not variable.parameter:
            return True
        if _ROUNDED.search(variable.name):
            return True
    return bound.kind not in ("identifier", "parenthesized_expression")


def divergent_branches(context: RuleContext) -> Iterator[Diagnostic]:
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
    return 1 < value < _WARP if operator == "%" else 0 < value < _WARP - 1


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


def rolled_loops(context: RuleContext) -> Iterator[Diagnostic]:
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
            "Write #pragma unroll before it, and look at the registers afterwards: -Xptxas -v.",
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


def unsigned_loop_counters(context: RuleContext) -> Iterator[Diagnostic]:
    """Unsigned 32-bit counters that are scaled or shifted in an index."""
    if not context.function.on_device or not context.function.says(b"for"):
        return
    if not context.names_type(_UNSIGNED, _UNSIGNED_WORDS):
        return
    for loop in context.function.nodes("for_statement"):
        start, condition = loop.part("initializer"), loop.part("condition")
        if start is None or condition is None or start.kind != "declaration":
            continue
        declarator = start.child("init_declarator")
        if declarator is None or condition.kind != "binary_expression":
            continue
        name = context.at(declarator.children[0])
        variable = context.file.variable(name, condition, context.function)
        if variable is None or variable.type != "uint" or variable.node is not declarator:
            continue
        if context.file.is_constant(condition.children[1], context.function) or not _counts(
            context, loop
        ):
            continue
        if sum(len(context.file.tree.inside(loop, kind)) for kind in LOOPS) > 1:
            # Beside an inner loop one index is nothing.
            continue
        index = _index_with(context, loop, name)
        if index is not None:
            unsigned = _unsigned_beside(context, index, name)
            also = (
                f", and make {and_list(unsigned)} int as well: one unsigned value makes the index unsigned"
                if unsigned
                else ""
            )
            yield context.diagnostic(
                "unsigned-loop-counters", loop,
                f'The counter "{name}" is unsigned and part of the index {context.at(index)}.',
                f"Declare the counter int (or long long for more than 2^31 iterations){also}.",
                end=condition.end, counter=name,
            )  # fmt: skip


def _unsigned_beside(context: RuleContext, index: Node, counter: str) -> list[str]:
    """Return the other unsigned values of *index*, as they are written, each once."""
    operands = dict.fromkeys(
        context.at(node)
        for node in context.file.tree.below(index)
        if node.kind in ("identifier", "field_expression") and context.type_of(node) == "uint"
    )
    return [words for words in operands if words != counter]


def _counts(context: RuleContext, loop: Node) -> bool:
    """Whether the loop adds a step to its counter, which strength reduction could follow."""
    update = loop.part("update")
    if update is None:
        return False
    return update.kind == "update_expression" or (
        update.kind == "assignment_expression" and context.file.operator(update) in ("+=", "-=")
    )


def _index_with(context: RuleContext, loop: Node, name: str) -> Node | None:
    """Return an index expression that computes with *name* in 32 bits."""
    for node in context.file.tree.inside(loop, "subscript_argument_list"):
        if not node.children:
            continue
        index = bare(node.children[0])
        if index.kind != "binary_expression" or context.type_of(index) not in ("uint", "int"):
            continue
        if any(
            n.kind == "identifier" and context.at(n) == name for n in context.file.tree.below(index)
        ):
            return index
    return None
