"""Loop counters of type char or short."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.scopes import INTEGERS, NARROW
from gpuadvise.advisor.source.tree import bare
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_LOOP = frozenset((b"for", b"while", b"do"))
_NARROW_WORDS = re.compile(rb"char|short|int8|int16")


_ACTION = "Declare it int."


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Loop counters of type char or short, where the compiler has to keep them narrow.

    It widens sums by itself, and counters with a constant bound or those that are signed and
    counted by one: for these the machine code is that of an int.
    """
    function = context.function
    if not function.on_device or not function.has_word(_LOOP):
        return
    if not context.names_type(NARROW, _NARROW_WORDS):
        return
    for loop in context.function.nodes("for_statement", "while_statement", "do_statement"):
        condition = loop.part("condition")
        if condition is None:
            continue
        for node in _updates(context, loop):
            target = node.children[0]
            variable = context.file.variable(context.at(target), target, context.function)
            if variable is None or variable.type not in NARROW or "&" in context.at(variable.node):
                continue
            if not _stays_narrow(context, node, variable.type) or not _bounds(
                context, condition, variable.name
            ):
                continue
            yield context.diagnostic(
                "narrow-integer-arithmetic",
                node,
                f'"{variable.name}" is narrower than 32 bits and counts a loop: each step cuts it '
                "to its width again.",
                _ACTION,
            )
            break


def _updates(context: RuleContext, loop: Node) -> list[Node]:
    """Return what changes a name by a step in the head of *loop*, or right in its body."""
    kinds = ("assignment_expression", "update_expression")
    nodes = [node for kind in kinds for node in context.file.tree.inside(loop, kind)]
    return [
        node
        for node in nodes
        if node.children
        and node.children[0].kind == "identifier"
        and context.loop_around(node) is loop
        and (node.kind == "update_expression" or context.file.operator(node) in ("+=", "-=", "*="))
    ]


def _stays_narrow(context: RuleContext, update: Node, kind: str) -> bool:
    """Whether *update* may leave the range of *kind*, so that every step has to cut it off."""
    return kind in ("uchar", "ushort") or update.kind != "update_expression"


def _bounds(context: RuleContext, condition: Node, name: str) -> bool:
    """Whether *condition* compares *name* with what the compiler does not know."""
    for node in context.file.tree.below(condition):
        if node.kind == "binary_expression" and len(node.children) == 2:
            left, right = (bare(child) for child in node.children)
            for side, bound in ((left, right), (right, left)):
                if context.at(side) == name:
                    return _is_wider(context, node, bound)
    return False


def _is_wider(context: RuleContext, comparison: Node, bound: Node) -> bool:
    """Whether *bound* may lie beyond what a narrow counter reaches, as far as the compiler knows."""
    if context.file.is_constant(bound, context.function):
        return False
    kind = context.type_of(bound)
    if kind in NARROW:
        return context.file.operator(comparison) in ("<=", ">=", "!=")
    return kind in INTEGERS


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void clear(float *x, int n) {
    for (unsigned short i = threadIdx.x; i < n; i += blockDim.x) x[i] = 0;   // cut to 16 bits each time
}""",
        """\
__global__ void clear(float *x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = 0;
}""",
    ),
)


RULE = source_rule(
    id="narrow-integer-arithmetic",
    title="Compute in int",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.LOW,
    why="Arithmetic runs on 32-bit integers, so narrow operands are converted before it and after it.",
    when="Device code counts a loop in char or short, where the compiler must keep the counter narrow.",
    citations=guide("12.1.7", "11.1.3"),
    seen="i += blockDim.x",
    action=_ACTION,
)
