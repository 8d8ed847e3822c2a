"""Which elements the address of an atomic reaches: one for all threads of a block, one of few, or many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.tree import bare
from gpuadvise.advisor.source.variance import Variance

if TYPE_CHECKING:
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_DEEPEST = 4  # names and elements that lead to each other
_BYTES = frozenset(("char", "uchar"))


def _index(address: Node) -> Node | None:
    """Return the index of ``&a[index]``."""
    if address.kind != "pointer_expression" or not address.children:
        return None
    element = _element(address)
    if element is None or len(element.children[1].children) != 1:
        return None
    return element.children[1].children[0]


def _element(address: Node) -> Node | None:
    """Return the element of ``&a[index]`` or ``&a[index].x``."""
    element = bare(address.children[0])
    while element.kind == "field_expression" and element.children:
        element = bare(element.children[0])
    return element if element.kind == "subscript_expression" else None


def is_one_address(context: RuleContext, address: Node) -> bool:
    """Whether all threads of a block have the same *address*."""
    if address.kind == "identifier":
        variable = context.file.variable(context.at(address), address, context.function)
        return variable is not None and variable.parameter and not context.changes(variable)
    index = _index(address)
    if index is not None:
        element = _element(address)
        if element is None or bare(element.children[0]).kind != "identifier":
            return False
        variable = context.file.variable(context.at(element.children[0]), element, context.function)
        if variable is None or not variable.parameter or context.changes(variable):
            return False
        return _is_shared_by_block(context, index, 0)
    return False


def _is_shared_by_block(context: RuleContext, node: Node, depth: int) -> bool:
    """Whether all threads of a block have the same *node*: by itself, or out of one element of shared memory."""
    node = context.settled(node)
    if context.variances.of(node) is Variance.UNIFORM:
        return True
    if depth > _DEEPEST:
        return False
    if node.kind == "subscript_expression" and len(node.children) == 2:
        base = node.children[0]
        tile = context.file.variable(context.at(base), base, context.function)
        inner = node.children[1].children
        return (
            tile is not None
            and tile.shared
            and len(inner) == 1
            and _is_shared_by_block(context, inner[0], depth + 1)
        )
    return node.kind == "binary_expression" and all(
        _is_shared_by_block(context, part, depth + 1) for part in node.children
    )


def _values(context: RuleContext, index: Node) -> list[Node]:
    """Return all that the variable *index* is set to; *index* itself where it is none."""
    variable = context.file.variable(context.at(index), index, context.function)
    if index.kind != "identifier" or variable is None or variable.parameter:
        return [index]
    if variable.name in context.handed_out:
        return []
    values = [] if variable.value is None else [variable.value]
    for change in context.changes(variable):
        if len(change.children) != 2 or context.file.operator(change) != "=":
            return []
        values.append(change.children[1])
    return values


def best_of_a_loop(context: RuleContext, address: Node) -> str | None:
    """Return the bound of the loop whose counter the index was set to under a condition, as that of a nearest one."""
    index = _index(address)
    for value in (
        _values(context, index) if index is not None and index.kind == "identifier" else ()
    ):
        loop = context.loop_around(value)
        condition = loop.part("condition") if loop is not None else None
        if (
            loop is not None
            and condition is not None
            and value.kind == "identifier"
            and any(
                above.kind == "if_statement" and loop.holds(above) for above in value.ancestors()
            )
            and context.at(value) in context.assigned_below(loop)
            and context.variances.of(value) is Variance.UNIFORM
        ):
            return context.at(condition.children[-1])
    return None


def is_indexed_by_byte(context: RuleContext, address: Node) -> bool:
    """Whether the index is a byte, or made of bytes and of what all threads share."""
    index = _index(address)
    values = [] if index is None else _values(context, index)
    if not values:
        return False
    bytes_ = 0
    for value in values:
        settled = context.settled(value)
        if context.type_of(settled) in _BYTES:
            bytes_ += 1
            continue
        names = [n for n in context.file.tree.below(settled) if n.kind == "identifier"]
        if any(
            n.kind in ("subscript_expression", "call_expression")
            for n in context.file.tree.below(settled)
        ):
            return False
        for name in names:
            if context.type_of(name) in _BYTES:
                bytes_ += 1
            elif context.variances.of(name) is not Variance.UNIFORM:
                return False
    return bytes_ > 0


def is_in_shared_memory(context: RuleContext, address: Node) -> bool:
    """Whether *address* is in shared memory, or of no array of the caller as far as the file says."""
    words = context.root_name(address).lstrip("&")
    variable = context.file.variable(words, address, context.function)
    return variable is None or variable.shared or not variable.parameter
