"""What host code does with arrays that it copied from the device: joins their elements, or hands them back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
        name = root(context, arguments[0])
        if name.isidentifier():
            yield CopiedArray(name=name, source=root(context, arguments[1]), copy=copy)


def root(context: RuleContext, pointer: Node) -> str:
    """Return the name that a pointer like ``(void *)&p[0]`` or ``v.data()`` begins with."""
    pointer = bare(pointer)
    while pointer.children and (
        pointer.kind in _LEADING or pointer.kind in ("call_expression", "field_expression")
    ):
        first = pointer.kind in ("call_expression", "field_expression")
        pointer = pointer.children[0 if first else -1]
    return context.root_name(pointer)


def aliases(context: RuleContext, name: str) -> frozenset[str]:
    """Return *name* and the pointers that the function starts with an address in it."""
    others = [
        variable.name
        for variables in context.function.variables.values()
        for variable in variables
        if variable.value is not None
        and "*" in variable.type
        and context.root_name(_address(variable.value)) == name
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
    if not elements or {context.root_name(e) for e in elements} - names:
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
        if root(context, context.file.arguments(copy)[1]) == array.name:
            return copy
    return None


def is_touched(context: RuleContext, array: CopiedArray, until: Node) -> bool:
    """Whether the host names *array* between its copy and *until*."""
    return any(
        array.copy.end <= node.start < until.start and context.at(node) == array.name
        for node in context.function.nodes("identifier")
    )


def changes_between(context: RuleContext, array: CopiedArray, until: Node) -> bool:
    """Whether a loop of the host stores elements of *array* between its copy and *until*."""
    return any(
        array.copy.end <= change.start < until.start
        and context.loop_around(change) is not None
        and change.children[0].kind == "subscript_expression"
        and context.root_name(change.children[0]) == array.name
        for change in context.function.nodes("assignment_expression", "update_expression")
        if change.children
    )


def loop_around_both(first: Node, second: Node) -> bool:
    """Whether the innermost loop around *first* holds *second* too, or none stands around either."""
    loops = [
        next((a for a in node.ancestors() if a.kind in LOOPS), None) for node in (first, second)
    ]
    return loops[0] is loops[1]
