"""Under which conditions a lane reaches a place, and whether lanes or threads of a block disagree there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.source.variance import Variance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

# Names in conditions lead to further conditions.
_DEEPEST = 3
_MOST_QUESTIONS = 60  # about other names, for one: each may lead to all others
_RETURN = re.compile(rb"\breturn\s*;")
# A bound that was rounded to whole blocks gives every thread the same number of iterations.
_ROUNDED = re.compile(r"[/~&]|ROUND|round|ceil|CEIL|pad|PAD|align|ALIGN|DIV|div")


def conditions_of(context: RuleContext, node: Node, beside: Node | None = None) -> Iterator[Node]:
    """Yield the conditions under which *node* is reached, without those around *beside* as well.

    A lambda counts as a condition of its own: who calls it is not known.
    """
    inner = node
    for above in node.ancestors():
        if above is context.function.body or (beside is not None and above.holds(beside)):
            return
        condition = _condition(context, above)
        if condition is not None and condition is not inner:
            yield condition
        inner = above


def _condition(context: RuleContext, node: Node) -> Node | None:
    """Return the condition of a branch, a loop or an operator that may leave its second side out."""
    if node.kind == "lambda_expression":
        return node
    if node.kind in ("if_statement", *LOOPS):
        return node.part("condition")
    if node.kind in ("conditional_expression", "switch_statement") or (
        node.kind == "binary_expression" and context.file.operator(node) in ("&&", "||")
    ):
        return node.children[0]
    return None


def is_shared_by_warp(context: RuleContext, value: Node, depth: int = 0) -> bool:
    """Whether *value* is surely the same for all lanes of a warp that come to it together."""
    if depth > _DEEPEST or context.variances.of(value) > Variance.WARP:
        return False
    names = (n for n in context.file.tree.below(value) if n.kind == "identifier")
    return not any(differs_between_lanes(context, name, depth + 1) for name in names)


def differs_between_lanes(context: RuleContext, name: Node, depth: int = 0) -> bool:
    """Whether only some lanes may have changed the variable *name* before it is used here.

    What stands around both the change and the use does not count: lanes in there are together.
    """
    words = context.at(name)
    variable = context.file.variable(words, name, context.function)
    if variable is None or variable.parameter or variable.constant or variable.dimensions:
        return False
    if variable.numbers_threads:
        return False
    if words in context.handed_out:
        return True
    changes = context.changes(variable)
    if variable.value is None and not changes:
        return True  # what fills it takes it by reference
    key = words, variable.start
    if key in context.asked_about:
        return False  # a counter that its own loop compares: whatever else parts the lanes is found
    if name.index in context.differing:
        return context.differing[name.index]
    context.questions = context.questions + 1 if context.asked_about else 0
    if context.questions > _MOST_QUESTIONS:
        return True
    context.asked_about.add(key)
    differs = any(
        not is_shared_by_warp(context, condition, depth)
        for change in changes
        for condition in conditions_of(context, change, name)
    )
    context.asked_about.discard(key)
    if differs or not context.asked_about:  # else it may rest on what is still asked about
        context.differing[name.index] = differs
    return differs


def depends_on_thread(context: RuleContext, condition: Node) -> bool:
    """Whether threads of one block surely disagree about *condition*."""
    condition = bare(condition.children[0] if condition.kind == "condition_clause" else condition)
    if condition.kind == "binary_expression" and context.file.operator(condition) == "&&":
        return any(depends_on_thread(context, part) for part in condition.children)
    if condition.kind == "binary_expression" and context.file.operator(condition) == "||":
        return all(depends_on_thread(context, part) for part in condition.children)
    if context.variances.of(condition) not in (Variance.LANE, Variance.WARP):
        return False
    return not _may_hold_for_all(context, condition)


def first_uneven_return(context: RuleContext) -> Node | None:
    """Return the first statement at the top of the function with which only some threads of a block end."""
    if not context.function.matches(_RETURN):
        return None
    body = context.function.body
    for exit_ in context.function.nodes("return_statement"):
        above = exit_.parent
        if above is not None and above.kind == "compound_statement" and above is not body:
            above = above.parent
        if above is None or above.kind != "if_statement" or above.parent is not body:
            continue
        condition = above.part("condition")
        if condition is not None and depends_on_thread(context, condition):
            return exit_
    return None


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
            return value is None or value > WARP_SIZE
    return False


def _is_block_size(context: RuleContext, node: Node) -> bool:
    return "blockDim" in context.at(node)


def is_uneven_loop(context: RuleContext, condition: Node) -> bool:
    """Whether threads surely leave a loop after different numbers of iterations."""
    condition = bare(condition)
    if condition.kind != "binary_expression":
        return False
    if context.file.operator(condition) == "&&":
        return any(is_uneven_loop(context, part) for part in condition.children)
    if context.file.operator(condition) not in ("<", "<=", ">", ">="):
        return False
    left, right = condition.children
    if context.variances.of(left) is Variance.UNIFORM:
        left, right = right, left
    if context.variances.of(left) not in (Variance.LANE, Variance.WARP):
        return False
    if context.variances.of(right) is not Variance.UNIFORM:
        return False
    return not (
        context.file.is_constant(right, context.function) or _may_be_whole_blocks(context, right)
    )


def _may_be_whole_blocks(context: RuleContext, bound: Node) -> bool:
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
