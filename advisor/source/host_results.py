"""What host code does with arrays that it copied from the device: joins their elements, or hands them back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.buffer_uses import buffer_name
from gpuadvise.advisor.source.host_work import COPIES, copied_bytes, copies_one_value, direction
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.thresholds import number
from gpuadvise.advisor.transfers.copies import Direction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

FEWEST = number(
    64, "elements that are worth a kernel", "", "our judgement: two warps, less than one launch"
)
_LEADING = ("cast_expression", "pointer_expression", "parenthesized_expression")
# What compares results with those of the host counts faults.
_COMPARES = re.compile(
    r"err|diff|mismatch|check|correct|wrong|valid|fail|ok\b|match|rms|resid|dev", re.IGNORECASE
)
_DATA = re.compile(r"(.+?)\.data\(\)$")
_JOINS = frozenset(("+=", "|=", "&=", "^=", "*="))
_EXTREMES = re.compile(r"(?:std::)?f?(?:max|min)f?\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedArray:
    """An array of the host's that *copy* fills from the device pointer *source*, both by name."""

    name: str
    source: str
    copy: Node


def copied_arrays(context: RuleContext) -> Iterator[CopiedArray]:
    """Yield the arrays that the function copies from the device, in the order of the text."""
    copies = sorted(context.calls(*COPIES), key=lambda call: call.start)
    for copy in copies:
        arguments = context.file.arguments(copy)
        if direction(context, copy) is not Direction.D2H or copies_one_value(context, copy):
            continue
        if copied_bytes(context, copy).kind == "sizeof_expression":
            continue
        name, source = (host_name(context, argument) for argument in arguments[:2])
        if name and source:
            yield CopiedArray(name=name, source=source, copy=copy)


def host_name(context: RuleContext, pointer: Node) -> str:
    """Return the array that a pointer like ``(void *)&p[0]``, ``p + n`` or ``v.data()`` leads into, empty for other values."""
    words = context.at(pointer)
    if pointer.kind == "call_expression" and (owner := _DATA.match("".join(words.split()))):
        return owner[1]
    return buffer_name(context, pointer)


def element_of(context: RuleContext, element: Node) -> str:
    """Return the array that the element ``a[i][j]`` or ``s.a[i]`` is of, as it is written."""
    while element.kind in ("subscript_expression", "parenthesized_expression") and element.children:
        element = element.children[0]
    return "".join(context.at(element).split())


def aliases(context: RuleContext, name: str) -> frozenset[str]:
    """Return *name* and the pointers that the function starts with an address in it."""
    others = [
        variable.name
        for variables in context.function.variables.values()
        for variable in variables
        if variable.value is not None
        and "*" in variable.type
        and element_of(context, _address(variable.value)) == name
    ]
    return frozenset((name, *others))


def _address(value: Node) -> Node:
    """Return where an address like ``&a[0] + i * n`` begins."""
    while value.children and value.kind in (*_LEADING, "binary_expression"):
        value = value.children[0 if value.kind == "binary_expression" else -1]
    return value


def join_of(context: RuleContext, array: CopiedArray) -> Node | None:
    """Return the loop behind the copy that joins the elements of *array* into fewer values, None without one."""
    names = aliases(context, array.name)
    for change in context.function.nodes("assignment_expression"):
        if change.start < array.copy.end or len(change.children) != 2:
            continue
        loop = context.loop_around(change)
        if loop is None or loop.holds(array.copy) or _is_short(context, loop):
            continue
        if _joins(context, change, names, loop):
            return loop
    return None


def _joins(context: RuleContext, change: Node, names: frozenset[str], loop: Node) -> bool:
    target, value = change.children
    elements = context.file.tree.inside(value, "subscript_expression")
    if not elements or {element_of(context, e) for e in _outermost(elements)} - names:
        return False
    # A loop over blocks of elements reads each of them by a number that it counts.
    counted = context.assigned_below(loop)
    indices = [n for e in elements for n in context.file.tree.below(e.children[-1])]
    if not any(n.kind == "identifier" and context.at(n) in counted for n in indices):
        return False
    root_of = context.root_name(target)
    if _COMPARES.search(root_of) or root_of in names:
        return False
    if context.file.operator(change) in _JOINS:
        return True
    # best = max(best, a[i]);
    words = context.at(value)
    return (
        context.file.operator(change) == "="
        and target.kind == "identifier"
        and _EXTREMES.match(words) is not None
        and re.search(rf"\b{re.escape(root_of)}\b", words) is not None
    )


def _outermost(elements: list[Node]) -> list[Node]:
    """Return those of *elements* that stand in no other one: indices may be loaded."""
    return [e for e in elements if not any(o is not e and o.holds(e) for o in elements)]


def _is_short(context: RuleContext, loop: Node) -> bool:
    """Whether *loop* is known to take few elements."""
    condition = loop.part("condition")
    condition = bare(condition) if condition is not None else None
    if condition is None or condition.kind != "binary_expression":
        return False
    bound = context.constant(condition.children[-1])
    return bound is not None and bound < FEWEST


def upload_of(context: RuleContext, array: CopiedArray) -> Node | None:
    """Return the copy that hands *array* back to the device behind the one that fetched it, None without one."""
    for copy in context.calls(*COPIES):
        if copy.start < array.copy.end or direction(context, copy) is not Direction.H2D:
            continue
        if host_name(context, context.file.arguments(copy)[1]) == array.name:
            return copy
    return None


def is_touched(context: RuleContext, array: CopiedArray, until: Node) -> bool:
    """Whether the host names *array* between its copy and *until*."""
    start = re.match(r"\w+", array.name)
    name = start[0] if start is not None else array.name
    return any(
        array.copy.end <= node.start < until.start and context.at(node) == name
        for node in context.function.nodes("identifier")
    )


def changes_between(context: RuleContext, array: CopiedArray, until: Node) -> bool:
    """Whether a loop of the host makes new elements of *array* from what was copied, between its copy and *until*."""
    for change in context.function.nodes("assignment_expression", "update_expression"):
        loop = context.loop_around(change)
        if loop is None or not array.copy.end <= change.start < until.start or not change.children:
            continue
        target = change.children[0]
        if target.kind != "subscript_expression" or element_of(context, target) != array.name:
            continue
        elements = context.file.tree.inside(loop, "subscript_expression")
        reads = [e for e in elements if e is not target and element_of(context, e) == array.name]
        if reads or len(change.children) == 1 or context.file.operator(change) != "=":
            return True
    return False


def loop_around_both(first: Node, second: Node) -> bool:
    """Whether the innermost loop around *first* holds *second* too, or none stands around either."""
    loops = [
        next((a for a in node.ancestors() if a.kind in LOOPS), None) for node in (first, second)
    ]
    return loops[0] is loops[1]
