"""Which lanes of a warp reach a place in a kernel: all but those past the end of the data, or few."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.divergence import conditions_of, is_shared_by_warp
from gpuadvise.advisor.source.lane_stride import lane_stride
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.source.variance import Variance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_WARP = 32
# Our judgement: a block divided by so much leaves few lanes of a warp.
_FEW_OF_A_BLOCK = 8
_MOST_PARTS = 12  # of a number that is taken apart
_BOUNDS = frozenset(("<", "<=", ">", ">="))
_JUMPS = frozenset(("continue_statement", "break_statement", "goto_statement"))
# Jumps that end inside of the nearest of these.
_ENDS = {"continue_statement": LOOPS, "break_statement": (*LOOPS, "switch_statement")}


def reached_by_few_lanes(context: RuleContext, node: Node) -> bool:
    """Whether only some lanes of a warp may reach *node*: all that is known are checks of bounds."""
    conditions = [*conditions_of(context, node)]
    for exit_ in _exits_before(context, node):
        conditions += conditions_of(context, exit_, node)
    return not all(_is_bounds_check(context, condition) for condition in conditions)


def reached_by_elected_lanes(context: RuleContext, node: Node) -> bool:
    """Whether the numbers of the lanes choose those that reach *node*, and not what they compute."""
    conditions = [*conditions_of(context, node)]
    for exit_ in _exits_before(context, node):
        conditions += conditions_of(context, exit_, node)
    return any(
        context.variances.of(condition) in (Variance.LANE, Variance.WARP)
        and not _is_bounds_check(context, condition)
        for condition in conditions
    )


def is_of_one_thread(context: RuleContext, node: Node) -> bool:
    """Whether one thread of the whole grid reaches *node*, by the conditions around it or by exits of the others before it."""
    words = {
        w for condition in conditions_of(context, node) for w in _terms(context, condition, "&&")
    }
    if _elects(words, "=="):
        return True
    return any(
        _elects(set(_terms(context, condition, "||")), "!=")
        for exit_ in context.function.nodes("return_statement")
        if exit_.start < node.start and _passes(exit_, node)
        for condition in conditions_of(context, exit_, node)
    )


def _elects(words: set[str], operator: str) -> bool:
    """Whether *words* hold a comparison of the grid's numbering of threads with zero, in one piece or for block and thread."""
    whole = "".join(sorted(words))
    if any("blockIdx.x" in w and "threadIdx.x" in w and _is_of_zero(w, operator) for w in words):
        return True
    parts = [w for w in words if _is_of_zero(w, operator)]
    return "blockIdx.x" in whole and all(
        any(w.startswith((part, f"!{part}", f"0{operator}{part}")) for w in parts)
        for part in ("blockIdx.x", "threadIdx.x")
    )


def _is_of_zero(words: str, operator: str) -> bool:
    """Whether *words* compare something with zero: ``i == 0``, ``!i``, or ``i != 0``, ``i > 0``, ``i``."""
    if "&&" in words or "||" in words:
        return False
    if operator == "==":
        return words.endswith(("==0", "<1")) or words.startswith(("!", "0=="))
    return words.endswith(("!=0", ">0", ">=1")) or not any(sign in words for sign in "=<>!")


def _terms(context: RuleContext, condition: Node, joint: str) -> Iterator[str]:
    """Yield the comparisons that *condition* joins by *joint*, without spaces and with what the names in them stand for."""
    condition = bare(condition)
    if condition.kind == "condition_clause" and condition.children:
        yield from _terms(context, condition.children[-1], joint)
    elif condition.kind == "binary_expression" and context.file.operator(condition) == joint:
        for part in condition.children:
            yield from _terms(context, part, joint)
    elif condition.kind == "binary_expression" and len(condition.children) == 2:
        sides = ("".join(context.at(context.settled(s)).split()) for s in condition.children)
        yield context.file.operator(condition).join(sides)
    elif condition.kind == "unary_expression" and condition.children:
        yield "!" + "".join(context.at(context.settled(condition.children[0])).split())
    else:
        yield "".join(context.at(context.settled(condition)).split())


def _exits_before(context: RuleContext, node: Node) -> Iterator[Node]:
    """Yield the statements before *node* with which a lane goes past it."""
    exits = [*context.function.nodes("return_statement"), *_jumps(context)]
    for exit_ in exits:
        if exit_.start < node.start and _passes(exit_, node):
            yield exit_


def _jumps(context: RuleContext) -> Iterator[Node]:
    """Yield the other jumps under a condition of their own."""
    for branch in context.function.nodes("if_statement"):
        for way in (branch.part("consequence"), branch.part("alternative")):
            if way is None:
                continue
            body = way.children[-1] if way.kind == "else_clause" and way.children else way
            yield from (part for part in (body, *body.children) if part.kind in _JUMPS)


def _passes(exit_: Node, node: Node) -> bool:
    """Whether *exit_* leads past *node*, and not only out of a loop or a lambda before it."""
    for above in exit_.ancestors():
        if above.holds(node):
            return True
        if above.kind in ("lambda_expression", *_ENDS.get(exit_.kind, ())):
            return False
    return True


def _is_bounds_check(context: RuleContext, condition: Node) -> bool:
    """Whether *condition* is the same for a warp, or only stops lanes at the end of the data."""
    condition = bare(condition)
    if condition.kind == "condition_clause" and condition.children:
        return _is_bounds_check(context, condition.children[-1])
    if is_shared_by_warp(context, condition):
        return True
    if condition.kind != "binary_expression" or len(condition.children) != 2:
        return False
    operator = context.file.operator(condition)
    if operator in ("&&", "||"):
        return all(_is_bounds_check(context, part) for part in condition.children)
    if operator not in _BOUNDS:
        return False
    side, bound = condition.children
    if _are_alike_apart(context, side, bound):
        return True
    upper = operator in ("<", "<=")
    if context.variances.of(side) is Variance.UNIFORM:
        side, bound, upper = bound, side, not upper
    if context.variances.of(bound) is not Variance.UNIFORM:
        return False
    if not _numbers_lanes(context, side):
        # What the compiler knows may be few.
        known = context.file.is_constant(context.settled(bound), context.function)
        return not known and _is_taken_apart(context, side)
    bound = context.settled(bound)
    value = context.constant(bound)
    if not upper and value is not None and value < ("=" in operator):
        return True  # what is never negative
    return not _is_few(context, side, bound)


def _are_alike_apart(context: RuleContext, side: Node, bound: Node) -> bool:
    """Whether both are as far apart from lane to lane, as in ``for (j = i * n; j < (i + 1) * n; j++)``: the lanes agree."""
    first, second = lane_stride(context, side), lane_stride(context, bound)
    if first is None or second is None or first.is_zero:
        return False
    return (first.number, first.factors) == (second.number, second.factors)


def _is_taken_apart(context: RuleContext, side: Node, depth: int = 0) -> bool:
    """Whether *side* is a part of the number of a thread, by quotients and remainders: a row, a column, a layer."""
    side = context.settled(side)
    if depth > _MOST_PARTS:
        return False
    if side.kind == "binary_expression" and len(side.children) == 2:
        left, right = (_is_taken_apart(context, part, depth + 1) for part in side.children)
        uniform = [context.variances.of(part) is Variance.UNIFORM for part in side.children]
        if context.file.operator(side) in ("/", "%"):
            return uniform[1] and (left or _numbers_lanes(context, side.children[0]))
        sums = context.file.operator(side) in ("+", "-", "*")
        known = [
            part or alike or _numbers_lanes(context, child)
            for part, alike, child in zip((left, right), uniform, side.children, strict=True)
        ]
        return sums and all(known) and (left or right)
    return False


def _numbers_lanes(context: RuleContext, side: Node) -> bool:
    """Whether *side* differs from lane to lane, by what it is here where it is a number that is taken apart later."""
    if context.variances.of(side) is Variance.LANE:
        return True
    stride = lane_stride(context, side)
    return stride is not None and not stride.is_zero


def _is_few(context: RuleContext, side: Node, bound: Node) -> bool:
    """Whether *bound* may part the lanes of a warp that *side* numbers, be the data large or not."""
    value = context.constant(bound)
    if value is not None:
        stride = lane_stride(context, side)
        return stride is None or bool(stride.factors) or value < (_WARP - 1) * abs(stride.number)
    if context.file.is_constant(bound, context.function):
        # A constant of a header; the number of a thread in the grid is compared with how many there are.
        return "blockIdx." not in context.at(context.settled(side))
    if bound.kind == "call_expression" and context.file.callee(bound) == "min":
        return any(_is_few(context, side, part) for part in context.file.arguments(bound))
    return _is_part_of_block(context, bound)


def _is_part_of_block(context: RuleContext, bound: Node) -> bool:
    """Whether *bound* is a block divided by much, such as the number of its warps."""
    operator = context.file.operator(bound)
    if operator not in ("/", ">>") or "blockDim." not in context.at(bound):
        return False
    divisor = context.constant(bound.children[1])
    if divisor is not None and operator == ">>":
        divisor = 1 << min(max(divisor, 0), _WARP)
    return divisor is None or divisor >= _FEW_OF_A_BLOCK


def shared_stores_of_all_lanes(context: RuleContext, start: Node, end: Node) -> bool:
    """Whether each thread stores something for others in shared memory between *start* and *end*."""
    for change in context.function.nodes("assignment_expression"):
        if (
            not start.end < change.start < end.start
            or change.children[0].kind != "subscript_expression"
        ):
            continue
        name = context.root_name(change.children[0])
        array = context.file.variable(name, change, context.function)
        if array is None or not array.shared:
            continue
        if _is_shared_out(context, change) or not reached_by_elected_lanes(context, change):
            return True
    return False


def _is_shared_out(context: RuleContext, change: Node) -> bool:
    """Whether a loop in steps of the block shares *change* out among its threads: each does a part."""
    loop = context.loop_around(change)
    update = loop.part("update") if loop is not None else None
    return update is not None and "blockDim." in context.at(update)
