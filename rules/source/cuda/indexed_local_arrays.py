"""Arrays of one thread that are too large for registers, or whose index the compiler does not know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node

_FEWEST = number(
    16,
    "elements of an array of a thread, at least",
    "elements",
    "our judgement: fewer are unrolled",
)
_LARGE = number(
    128,
    "elements that no thread has registers for",
    "elements",
    "255 registers of a thread at most",
)
_BRACKET = re.compile(rb"\w[ \t]*\[[^\]\n]+\]\s*(?:[;={,\[]|$)")
_ACTION = (
    "Keep it in shared memory, an element of each thread beside those of its neighbours; or take the elements as they are "
    "needed, in loops with constant bounds that #pragma unroll writes out, so that each stays in a register."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find arrays of a thread of at least 16 elements that an index of run time reaches; one per array."""
    function = context.function
    if not function.on_device or not function.matches(_BRACKET):
        return
    for variables in list(function.variables.values()):
        for variable in variables:
            elements = _elements(context, variable)
            if elements is None or elements < _FEWEST:
                continue
            access = _unknown_access(context, variable, elements)
            if access is not None:
                yield _reported(context, variable, elements, access)


def _reported(context: RuleContext, array: Variable, elements: int, access: Node) -> Diagnostic:
    line = context.file.text.line(access.start)
    return context.diagnostic(
        "indexed-local-arrays", array.node,
        f"Each thread has {elements} elements of {array.name}, and an index that the compiler does not know reaches them "
        f"(line {line}): they lie in local memory, which is device memory behind the caches.",
        _ACTION, elements=str(elements), minor=elements < _LARGE,
    )  # fmt: skip


def _elements(context: RuleContext, array: Variable) -> int | None:
    """Return how many elements the array of a thread *array* has, None where it is none or that is not known."""
    if not array.dimensions or array.shared or array.parameter:
        return None
    declaration = array.node.parent
    words = context.at(declaration) if declaration is not None else ""
    if "static" in words.split(array.name, 1)[0] or array.constant:
        return None
    elements = 1
    for side in array.dimensions:
        value = context.constant(side)
        if value is None:
            return None
        elements *= value
    return elements


def _unknown_access(context: RuleContext, array: Variable, elements: int) -> Node | None:
    """Return the first access to *array* whose index no unrolled loop makes a constant."""
    for access in context.function.nodes("subscript_expression"):
        if len(access.children) != 2 or bare(access.children[0]).kind != "identifier":
            continue
        base = bare(access.children[0])
        if context.at(base) != array.name or not array.start <= access.start < array.end:
            continue
        index = access.children[1]
        names = [n for n in context.file.tree.below(index) if n.kind == "identifier"]
        if any(not _is_unrolled(context, name, elements) for name in names):
            return access
    return None


def _is_unrolled(context: RuleContext, name: Node, elements: int) -> bool:
    """Whether *name* is a constant, or counts a loop with bounds that the compiler knows and may write out."""
    if context.file.is_constant(name, context.function):
        return True
    words = context.at(name)
    variable = context.file.variable(words, name, context.function)
    if variable is None:
        return True
    if variable.value is not None and not context.changes(variable):
        parts = [n for n in context.file.tree.below(variable.value) if n.kind == "identifier"]
        simple = all(n.kind != "call_expression" for n in context.file.tree.below(variable.value))
        return simple and all(
            _is_unrolled(context, part, elements) for part in parts if context.at(part) != words
        )
    counted = False
    for above in name.ancestors():
        if above.kind not in LOOPS or words not in context.assigned_below(above):
            continue
        if above.kind != "for_statement" or not _has_known_bound(context, above, elements):
            return counted and _is_set_in(context, variable, above)
        counted = True
        if variable.start >= above.start:
            return True  # the counter of this loop
    return counted


def _is_set_in(context: RuleContext, variable: Variable, loop: Node) -> bool:
    """Whether each iteration of *loop* sets *variable* to a number first, and counts from there."""
    if variable.start >= loop.start:
        return True
    return any(
        len(change.children) == 2
        and loop.holds(change)
        and context.loop_around(change) is loop
        and context.file.operator(change) == "="
        and context.constant(change.children[1]) is not None
        for change in context.changes(variable)
    )


def _has_known_bound(context: RuleContext, loop: Node, elements: int) -> bool:
    condition = loop.part("condition")
    if condition is None or condition.kind != "binary_expression":
        return False
    counters = context.assigned_below(loop)
    sides = [side for side in condition.children if context.at(side) not in counters]
    if not any(
        context.file.is_constant(context.settled(side), context.function)
        or (side.kind == "identifier" and _is_counted_by_known_loop(context, side, elements))
        for side in sides
    ):
        return False
    return elements < _LARGE


def _is_counted_by_known_loop(context: RuleContext, name: Node, elements: int) -> bool:
    """Whether *name* counts a loop around it that the compiler may write out, as the rows of a triangle."""
    words = context.at(name)
    for above in name.ancestors():
        update = above.part("update") if above.kind == "for_statement" else None
        if update is not None and update.children and context.at(update.children[0]) == words:
            return update.kind == "update_expression" and _has_known_bound(context, above, elements)
    return False


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void visit(int *out, const int *order, int n) {
    bool visited[64] = {};                                    // local memory: the index is not known
    for (int i = 0; i < n; ++i) {
        int at = order[threadIdx.x * n + i];
        if (!visited[at]) out[threadIdx.x * n + i] = at;
        visited[at] = true;
    }
}""",
        """\
__global__ void visit(int *out, const int *order, int n) {
    unsigned long long visited = 0;                           // a bit each, in two registers
    for (int i = 0; i < n; ++i) {
        int at = order[threadIdx.x * n + i];
        if (!(visited >> at & 1)) out[threadIdx.x * n + i] = at;
        visited |= 1ull << at;
    }
}""",
    ),
)
RULE = source_rule(
    id="indexed-local-arrays",
    measured_as="local-arrays",
    title="Keep what a thread has in registers",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    why="Registers have no index: an array that needs one lies in local memory, a request for each access.",
    when="An array of one thread has 16 elements or more, and an index that no unrolled loop makes constant; low below 128.",
    citations=(programming_guide("Local Memory"),),
    seen="float values[256]",
    action=_ACTION,
)
