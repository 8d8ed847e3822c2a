"""Loops of kernels over the data that they are given, and which of them take whatever grid they get."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.lane_stride import is_made_of_thread
from gpuadvise.advisor.source.rule_context import RuleContext
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS, bare

if TYPE_CHECKING:
    from gpuadvise.advisor.source.launches import SourceLaunch
    from gpuadvise.advisor.source.scopes import SourceFunction
    from gpuadvise.advisor.source.tree import Node

_OF_MATHEMATICS = re.compile(
    r"_*(?:pow|exp|exp2|exp10|log|log2|log10|sqrt|sin|cos|tan|sincos|atan2?|asin|acos|erf|hypot)f?"
)
_OF_WHOLE_GRID = re.compile(rb"grid\.sync|this_grid|grid_group")


def strides_by_grid(context: RuleContext, launch: SourceLaunch) -> bool:
    """Whether the kernel has a loop over data that goes on by the blocks of the grid, however many there are."""
    return any(
        (update := loop.part("update")) is not None and "gridDim" in context.at(update)
        for kernel in context.file.called(launch.kernel)
        if kernel.place is ExecutionSpace.KERNEL and not kernel.matches(_OF_WHOLE_GRID)
        for loop in kernel.nodes("for_statement")
    )


def strides_by_items(context: RuleContext, launch: SourceLaunch, items: re.Pattern[str]) -> bool:
    """Whether all that goes on by the blocks of the grid counts up to a number of *items*, each for a block: more have nothing to do."""
    bounds = [
        context.at(bare(condition).children[-1])
        for kernel in context.file.called(launch.kernel)
        for loop in kernel.nodes("for_statement")
        if (update := loop.part("update")) is not None and "gridDim" in context.at(update)
        if (condition := loop.part("condition")) is not None and bare(condition).children
    ]
    return bool(bounds) and all(items.match(bound) for bound in bounds)


def names_one_of(context: RuleContext, condition: Node, names: set[str]) -> bool:
    """Whether a name of *names* stands in *condition*."""
    return any(
        node.kind == "identifier" and context.at(node) in names
        for node in context.file.tree.below(condition)
    )


def walks_elements(context: RuleContext, launch: SourceLaunch) -> bool:
    """Whether the kernel stores an element for each step of a loop over the data, as no last step does."""
    return any(
        kernel.place is ExecutionSpace.KERNEL and _stores_elements(context, kernel)
        for kernel in context.file.called(launch.kernel)
    )


def _stores_elements(context: RuleContext, kernel: SourceFunction) -> bool:
    inside = RuleContext(context.file, kernel, context.launches)
    pointers = {p.name for p in kernel.parameters if "*" in p.type}
    for change in kernel.nodes("assignment_expression"):
        target = change.children[0]
        if target.kind != "subscript_expression" or inside.root_name(target) not in pointers:
            continue
        loop = inside.loop_around(change)
        if (
            loop is not None
            and any(
                n.kind == "identifier" and inside.at(n) in inside.assigned_below(loop)
                for n in context.file.tree.below(target.children[-1])
            )
            and is_made_of_thread(inside, target.children[-1])
        ):
            return True
    return False


def loops_over_data(context: RuleContext, launch: SourceLaunch) -> bool:
    """Whether the kernel has a loop that a parameter bounds."""
    for kernel in context.file.called(launch.kernel):
        if kernel.place is not ExecutionSpace.KERNEL:
            continue
        names = {parameter.name for parameter in kernel.parameters if "*" not in parameter.type}
        for loop in kernel.nodes(*LOOPS):
            condition = loop.part("condition")
            if condition is not None and names_one_of(context, condition, names):
                return True
    return False


def deals_out(context: RuleContext, loop: Node) -> bool:
    """Whether *loop* goes on in steps of block or grid: each iteration is what another thread might do."""
    update = loop.part("update")
    if update is None or len(update.children) != 2:
        return False
    return "Dim." in context.at(context.settled(update.children[1]))


def computes_long(context: RuleContext) -> bool:
    """Whether each thread goes through a loop with functions of mathematics, or calls a function that loops or raises to powers."""
    called = [(call, context.file.callee(call)) for call in context.calls()]
    if any(context.file.loops(name) or _raises(context, name) for _, name in called):
        return True
    loops = [loop for loop in context.function.nodes(*LOOPS) if not deals_out(context, loop)]
    return any(
        _OF_MATHEMATICS.fullmatch(name) and any(loop.holds(call) for loop in loops)
        for call, name in called
    )


def _raises(context: RuleContext, name: str) -> bool:
    return any(
        b"pow(" in context.file.text.content[f.body.start : f.body.end]
        for f in context.file.called(name)
    )
