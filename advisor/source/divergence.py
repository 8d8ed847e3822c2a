"""Under which conditions a lane reaches a place, and whether the lanes of a warp share a value there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.tree import LOOPS
from gpuadvise.advisor.source.variance import Variance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

# Names in conditions lead to further conditions.
_DEEPEST = 3


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
    if words in context.handed_out:
        return True
    changes = context.changes(variable)
    if variable.value is None and not changes:
        return True  # what fills it takes it by reference
    return any(
        not is_shared_by_warp(context, condition, depth)
        for change in changes
        for condition in conditions_of(context, change, name)
    )
