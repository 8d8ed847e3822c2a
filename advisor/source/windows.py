"""Windows of elements beside a thread's own that a loop takes, and that overlap with those of its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.lane_stride import is_made_of_thread, lane_stride, terms_of_sum
from gpuadvise.advisor.source.tree import bare
from gpuadvise.advisor.source.variance import Variance
from gpuadvise.advisor.thresholds import number

if TYPE_CHECKING:
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_NARROW = number(3, "elements of a window that L1 serves, at most", "", "our judgement")
_DEEPEST = 3  # names that lead to each other


def is_narrow(context: RuleContext, loop: Node) -> bool:
    """Whether *loop* takes three elements or fewer: L1 keeps them for the neighbours."""
    condition, start = loop.part("condition"), loop.part("initializer")
    value = start.child("init_declarator") if start is not None else None
    if condition is None or value is None or len(bare(condition).children) != 2:
        return False
    first = context.constant(context.settled(value.children[-1]))
    last = context.constant(context.settled(bare(condition).children[1]))
    if first is None or last is None:
        return False
    return last - first + ("=" in context.file.operator(bare(condition))) <= _NARROW


def counters_of(context: RuleContext, loop: Node) -> set[str]:
    """Return what *loop* counts by one for all threads alike."""
    update = loop.part("update")
    counter = update.children[0] if update and update.kind == "update_expression" else None
    alike = counter is not None and context.variances.of(counter) is Variance.UNIFORM
    return {context.at(counter)} if counter is not None and alike else set()


def is_beside(context: RuleContext, node: Node, counters: set[str], depth: int) -> bool:
    """Whether *node* holds the sum of a thread's own number and a counter, neither multiplied."""
    for part in context.file.tree.below(node):
        if part.kind == "binary_expression" and context.file.operator(part) in ("+", "-"):
            terms = terms_of_sum(context, part)
            counted = any(context.at(term) in counters for term in terms)
            if counted and any(
                context.at(term) not in counters and _is_own(context, term) for term in terms
            ):
                return True
        if part.kind == "identifier" and depth < _DEEPEST:
            variable = context.file.variable(context.at(part), part, context.function)
            value = None if variable is None or variable.parameter else variable.value
            if value is None or value.holds(part) or context.at(part) in counters:
                continue
            if is_beside(context, value, counters, depth + 1):
                return True
    return False


def _is_own(context: RuleContext, term: Node) -> bool:
    """Whether *term* is the number of the thread, or its row or column; not the beginning of a row of its own."""
    if term.kind != "identifier" or not is_made_of_thread(context, term):
        return False
    stride = lane_stride(context, term)
    return stride is not None and not stride.factors and abs(stride.number) <= 1
