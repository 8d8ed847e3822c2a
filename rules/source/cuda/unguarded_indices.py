"""Elements of the thread's own number that are taken past the end of the data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.divergence import depends_on_thread
from gpuadvise.advisor.source.lane_stride import is_address, is_made_of_thread, is_thread_index
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import SourceFunction
    from gpuadvise.advisor.source.tree import Node

# A grid with a block for the rest that fills none.
_ROUNDED_UP = re.compile(
    r"\+\w+\)/|-1\)/|ceil|div_?up|up_?div|cdiv|/[\w.]+\+1|round_?up", re.IGNORECASE
)
_BRANCHES = ("if_statement", "conditional_expression", *LOOPS)
_COMPARING = frozenset(("<", ">", "<=", ">=", "==", "!="))
_ACTION = "Guard the loads and stores: if (i < n), with n as a parameter."


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find elements that threads past the end take before they are stopped, or that nothing stops; one per kernel."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return
    guard = _guard(context)
    if guard is not None:
        yield from _before(context, guard)
    elif _is_rounded_up(context) and not _compares_threads(context):
        yield from _of_all(context)


def _guard(context: RuleContext) -> Node | None:
    """Return the first condition on the thread's number at the top of the function that compares it with a bound."""
    for node in context.function.nodes("if_statement"):
        condition = node.part("condition")
        if condition is None or node.parent is not context.function.body:
            continue
        words = context.at(condition)
        compares = "<" in words or ">" in words
        if (
            compares
            and not _holds_loads(context, condition)
            and "threadIdx" not in words
            and depends_on_thread(context, condition)
        ):
            return node
        if compares and node.part("alternative") is None and is_made_of_thread(context, condition):
            return None  # it may be the guard, by a bound of which the file does not say what it is
    return None


def _before(context: RuleContext, guard: Node) -> Iterator[Diagnostic]:
    """Find a load before *guard* of an element that the same number chooses."""
    condition = guard.part("condition")
    if condition is None:
        return
    numbers = {
        context.at(n)
        for n in context.file.tree.below(condition)
        if n.kind == "identifier" and is_made_of_thread(context, n)
    }
    for access in context.function.nodes("subscript_expression"):
        if access.start >= guard.start or not _is_of_caller(context, access):
            continue
        if context.loop_around(access) is not None or is_address(context, access):
            continue
        if any(above.kind in _BRANCHES for above in access.ancestors()):
            continue
        index = access.children[1].children[0]
        if is_made_of_thread(context, index) and _is_of(context, index, numbers):
            yield context.diagnostic(
                "unguarded-indices", access,
                f"{context.at(access)} is taken before the check in line {context.file.text.line(guard.start)}: threads past the end of the "
                "data take what lies behind the array.",
                "Move it behind the check.",
            )  # fmt: skip
            return


def _holds_loads(context: RuleContext, condition: Node) -> bool:
    return any(n.kind == "subscript_expression" for n in context.file.tree.below(condition))


def _is_of(context: RuleContext, index: Node, numbers: set[str], depth: int = 0) -> bool:
    """Whether *index* is made of one of *numbers*, through the names that it is given."""
    for name in (index, *context.file.tree.below(index)):
        if name.kind != "identifier":
            continue
        if context.at(name) in numbers:
            return True
        variable = context.file.variable(context.at(name), name, context.function)
        value = variable.value if variable is not None else None
        if value is not None and depth < len("xyz") and _is_of(context, value, numbers, depth + 1):
            return True
    return False


def _compares_threads(context: RuleContext) -> bool:
    """Whether the kernel compares or limits a number of its threads anywhere."""
    return any(
        context.file.operator(node) in _COMPARING and is_made_of_thread(context, node)
        for node in context.function.nodes("binary_expression")
    ) or any(
        is_made_of_thread(context, a)
        for c in context.calls("min")
        for a in context.file.arguments(c)
    )


def _of_all(context: RuleContext) -> Iterator[Diagnostic]:
    for store in context.function.nodes("assignment_expression"):
        target = store.children[0]
        if target.kind != "subscript_expression" or not _is_of_caller(context, target):
            continue
        if is_thread_index(context, target):
            yield context.diagnostic(
                "unguarded-indices", target,
                f"No check stops threads past the end of the data, though the grid is rounded up: they store behind {context.at(target.children[0])}.",
                _ACTION,
            )  # fmt: skip
            return


def _is_of_caller(context: RuleContext, access: Node) -> bool:
    if len(access.children) != 2 or len(access.children[1].children) != 1:
        return False
    name = context.at(access.children[0])
    return any(p.name == name and p.type.endswith("*") for p in context.function.parameters)


def _is_rounded_up(context: RuleContext) -> bool:
    """Whether the launches of the kernel in this file have a grid that is rounded up."""
    grids = [
        context.file.at(_settled(context, f, launch.grid))
        for f in context.file.functions
        for launch in context.launches.of(f)
        if launch.kernel == context.function.name
    ]
    return bool(grids) and all(_ROUNDED_UP.search("".join(grid.split())) for grid in grids)


def _settled(context: RuleContext, function: SourceFunction, grid: Node) -> Node:
    """Return what the variable *grid* starts with, *grid* itself where it is none."""
    variable = context.file.variable(context.file.at(grid), grid, function)
    return grid if variable is None or variable.value is None else variable.value


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void scale(float *x, const float *factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float f = factor[i];                                  // past the end in the last block
    if (i < n) x[i] *= f;
}""",
        """\
__global__ void scale(float *x, const float *factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor[i];
}""",
    ),
)
RULE = source_rule(
    id="unguarded-indices",
    title="Stop threads past the end before they take elements",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    correctness=True,
    why="The last block has more threads than data: what they load or store belongs to somebody else, or to nobody.",
    when="An element of a thread's number is taken before the check of that number, or without one where the grid is rounded up.",
    citations=(programming_guide("Kernels"),),
    seen="float f = factor[i];",
    action=_ACTION,
)
