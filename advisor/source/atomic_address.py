"""Which elements the address of an atomic reaches: one for all threads of a block, one of few, or many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.tree import bare
from gpuadvise.advisor.source.variance import Variance

if TYPE_CHECKING:
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_DEEPEST = 4  # names and elements that lead to each other
_NUMBERS = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim"))
_BLOCKS = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
_MOST_NAMES = 30  # that an index is made of
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
    name = _chosen_name(context, _index(address))
    for value in _values(context, name) if name is not None else ():
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


def _chosen_name(context: RuleContext, index: Node | None) -> Node | None:
    """Return the only variable that *index* is made of, as in ``label * 2 + 1``."""
    if index is None:
        return None
    if index.kind == "identifier":
        return index
    names = [
        node
        for node in context.file.tree.below(index)
        if node.kind == "identifier" and not context.file.is_constant(node, context.function)
    ]
    return names[0] if len(names) == 1 else None


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


def follows_from_indices(context: RuleContext, address: Node) -> bool:
    """Whether *address* is made of the numbers of thread and block, counters and sizes, and of nothing that was loaded."""
    indices = _addends(context, address)
    if not indices:
        index = _index(address)
        indices = [] if index is None else [index]
    if all(context.variances.of(index) is Variance.UNIFORM for index in indices):
        return False
    known: set[str] = set()
    if not all(_is_made_of_indices(context, index, known) for index in indices):
        return False
    loop = context.loop_around(address)
    counters = set() if loop is None else context.assigned_below(loop)
    # Several threads have an element in common: blocks, steps of a loop, or what a division rounds down.
    return (
        not counters.isdisjoint(known)
        or not known.isdisjoint(("/", ">>", "%", "min", "max"))
        or any(context.function.says(b.encode()) and b not in known for b in _BLOCKS)
    )


def _addends(context: RuleContext, address: Node) -> list[Node]:
    """Return what is added to the array in an *address* such as ``a + row * n + column``."""
    addends: list[Node] = []
    while address.kind == "binary_expression" and context.file.operator(address) == "+":
        addends.append(address.children[1])
        address = bare(address.children[0])
    return addends


def _is_made_of_indices(context: RuleContext, node: Node, known: set[str]) -> bool:
    """Whether *node* is; what it is made of, names and operators, is added to *known*."""
    for part in (node, *context.file.tree.below(node)):
        if part.kind == "field_expression":
            known.add(context.at(part))
            if not _is_of_all(context, part):
                return False
        if part.kind in ("binary_expression", "call_expression"):
            known.add(context.file.operator(part) or context.file.callee(part))
        if part.kind in ("subscript_expression", "pointer_expression", "update_expression"):
            return False
        if part.kind == "call_expression" and context.file.callee(part) not in ("min", "max"):
            return False
        name = context.at(part)
        if part.kind != "identifier" or name in known or _is_of_field(part):
            continue
        known.add(name)
        variable = context.file.variable(name, part, context.function)
        if len(known) > _MOST_NAMES or name in context.handed_out:
            return False
        if variable is None or variable.parameter or (variable.constant and not variable.value):
            continue
        values = [] if variable.value is None else [variable.value]
        values += [c.children[1] for c in context.changes(variable) if len(c.children) == 2]
        if not all(_is_made_of_indices(context, value, known) for value in values):
            return False
    return True


def _is_of_all(context: RuleContext, field: Node) -> bool:
    """Whether *field* is of a number of the thread, a size of block or grid, or a parameter."""
    base = field.children[0]
    if context.at(base) in _NUMBERS:
        return True
    variable = context.file.variable(context.at(base), base, context.function)
    return variable is not None and variable.parameter and "*" not in variable.type


def _is_of_field(name: Node) -> bool:
    """Whether *name* is that of a field, or of what has fields, such as blockIdx."""
    return name.parent is not None and name.parent.kind == "field_expression"


def is_in_shared_memory(context: RuleContext, address: Node) -> bool:
    """Whether *address* is in shared memory, or of no array of the caller as far as the file says."""
    words = context.root_name(address).lstrip("&")
    variable = context.file.variable(words, address, context.function)
    for _ in range(_DEEPEST):
        if variable is None or variable.parameter or variable.shared or variable.value is None:
            break
        if "*" not in variable.type or context.changes(variable):
            break
        words = context.root_name(bare(variable.value)).lstrip("&")
        variable = context.file.variable(words, variable.value, context.function)
    return variable is None or variable.shared or not variable.parameter
