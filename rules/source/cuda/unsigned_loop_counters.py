"""An unsigned loop counter in an index."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.lane_stride import is_made_of_thread
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_UNSIGNED = frozenset(("uint",))
_UNSIGNED_WORDS = re.compile(rb"uint|unsigned")


def faults(context: RuleContext) -> Iterator[Diagnostic]:
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
        if _is_dealt_out(context, declarator, loop):
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
    """Whether the loop adds a step to its counter, which strength reduction could follow.

    Loops that deal out elements to threads, by a step of a block or a grid, wait for memory instead.
    """
    update = loop.part("update")
    if update is None:
        return False
    return update.kind == "update_expression" or (
        update.kind == "assignment_expression"
        and context.file.operator(update) in ("+=", "-=")
        and "Dim." not in context.at(context.settled(update.children[1]))
    )


def _is_dealt_out(context: RuleContext, declarator: Node, loop: Node) -> bool:
    """Whether the counter begins at the thread's number and goes on in steps: the loop shares data out among threads."""
    update = loop.part("update")
    start = declarator.children[-1]
    return (
        update is not None
        and update.kind == "assignment_expression"
        and (
            is_made_of_thread(context, start) or is_made_of_thread(context, context.settled(start))
        )
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
            n.kind == "identifier" and context.at(n) == name and not _is_gathered(n, index)
            for n in context.file.tree.below(index)
        ):
            return index
    return None


def _is_gathered(name: Node, index: Node) -> bool:
    """Whether *name* only chooses an element that *index* computes with: the counter itself is not scaled."""
    for above in name.ancestors():
        if above is index:
            return False
        if above.kind == "subscript_argument_list":
            return True
    return False


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void clear(float *x, unsigned n, unsigned stride) {
    for (unsigned i = 0; i < n; ++i) x[i * stride] = 0;   // must wrap around as unsigned does
}""",
        """\
__global__ void clear(float *x, int n, int stride) {
    for (int i = 0; i < n; ++i) x[i * stride] = 0;        // becomes an addition of the stride
}""",
    ),
)


RULE = source_rule(
    id="unsigned-loop-counters",
    title="Use signed loop counters",
    topic=Topic.CONTROL_FLOW,
    priority=Priority.LOW,
    recommendation=True,
    why="Unsigned overflow is defined, so the compiler must keep the full arithmetic; signed counters let it unroll and reduce strength.",
    when="An unsigned loop counter is part of an index expression.",
    citations=guide("12.1.5", "12.3"),
    seen="for (unsigned i = 0; i < n; ++i)",
)
