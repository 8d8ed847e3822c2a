"""Sums that a loop keeps in global memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.array_access import array_access
from gpuadvise.advisor.source.lane_stride import is_made_of_thread
from gpuadvise.advisor.source.memory_updates import (
    is_update,
    loop_of_rounds,
    overlapping_updates,
    stores_of,
    updated_again,
)
from gpuadvise.advisor.source.scopes import ExecutionSpace
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

_UPDATING = re.compile(rb"\]\s*[-+*|&^]?=")
_BARRIERS = re.compile(rb"__sync|\bsync\(|barrier")


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find elements of the caller's arrays that each iteration updates, the same one every time; one per loop."""
    if context.function.place is not ExecutionSpace.KERNEL or not context.function.matches(
        _UPDATING
    ):
        return
    yield from _stored_and_updated(context)
    reported: set[tuple[int, str]] = set()
    for update in context.function.nodes("assignment_expression"):
        target = update.children[0]
        if target.kind != "subscript_expression" or not is_update(context, update):
            continue
        loop = context.loop_around(update)
        if loop is None or (loop.index, context.at(target)) in reported:
            continue
        array = _array_of(context, target)
        if array is None or array.restrict:
            continue
        if not _stays(context, target, loop):
            if not array.shared and not reported:
                yield from _of_rounds(context, update)
            continue
        if not _reads_another(context, loop, target):
            continue
        reported.add((loop.index, context.at(target)))
        if array.shared:
            if not _is_private(context, target, loop):
                continue
            yield context.diagnostic(
                "accumulators-in-memory", update,
                f"Each iteration loads and stores {context.at(target)} in shared memory, which only this thread uses until the loop "
                "ends.",
                f"Add up in a local variable, and store it to {context.at(target)} once after the loop.",
                minor=True,
            )  # fmt: skip
            continue
        yield context.diagnostic(
            "accumulators-in-memory", update,
            f"Each iteration loads and stores {context.at(target)}: another pointer may reach it, so the compiler may keep it in "
            "no register.",
            f"Add up in a local variable, and store it to {context.at(target)} once after the loop; __restrict__ on the "
            "parameters lets the compiler do so.",
        )  # fmt: skip


def _of_rounds(context: RuleContext, update: Node) -> Iterator[Diagnostic]:
    if (rounds := loop_of_rounds(context, update)) is not None:
        yield context.diagnostic(
            "accumulators-in-memory", update,
            f"Each round of the loop in line {context.file.text.line(rounds.start)} loads and stores the same elements again.",
            "Let a thread keep its element in a register through all rounds, and store it once at the end.", minor=True,
        )  # fmt: skip


def _stored_and_updated(context: RuleContext) -> Iterator[Diagnostic]:
    """Find elements that a thread stores and then loads to update them, or that several iterations update; one per array."""
    stores = stores_of(context)
    reported: set[str] = set()
    for first, again in updated_again(context, stores):
        if again.array.name in reported:
            continue
        reported.add(again.array.name)
        yield context.diagnostic(
            "accumulators-in-memory", again.node,
            f"{again.words} was stored in line {context.file.text.line(first.node.start)}, and is loaded and stored again: a store to another "
            "array stands between, which may reach it, so no register holds it.",
            "Compute it in a local variable, and store it once.", minor=True,
        )  # fmt: skip
    for first, again in overlapping_updates(context, stores):
        if again.array.name in reported:
            continue
        reported.add(again.array.name)
        yield context.diagnostic(
            "accumulators-in-memory", again.node,
            f"Iterations of the loop update elements of {again.array.name} that others update as well ({first.words} and {again.words}): each "
            "element is loaded and stored several times.",
            "Let a loop over the elements compute each of them whole in a register, from all that goes into it, and store it once.",
            minor=True,
        )  # fmt: skip


def _array_of(context: RuleContext, access: Node) -> Variable | None:
    """Return the array of the caller, or in shared memory, of which *access* takes an element."""
    reached = array_access(context, access)
    if reached is not None:
        return reached.parameter
    base = access.children[0]
    array = context.file.variable(context.at(base), base, context.function)
    if array is None or array.name in context.handed_out or context.changes(array):
        return None
    return array if array.shared or (array.parameter and array.type.endswith("*")) else None


def _is_private(context: RuleContext, target: Node, loop: Node) -> bool:
    """Whether *target* is an element of this thread's own, and no other thread takes it in *loop*."""
    content = context.file.text.content
    return is_made_of_thread(context, target.children[1]) and not _BARRIERS.search(
        content, loop.start, loop.end
    )


def _stays(context: RuleContext, target: Node, loop: Node) -> bool:
    """Whether *target* is the same element in each iteration of *loop*."""
    changed = context.assigned_below(loop)
    names = [n for n in context.file.tree.below(target.children[1]) if n.kind == "identifier"]
    indirect = any(
        n.kind in ("subscript_expression", "call_expression")
        for n in context.file.tree.below(target.children[1])
    )
    root = context.root_name(target)
    moved = {
        context.root_name(n.children[0])
        for n in context.file.tree.inside(loop, "update_expression")
        if n.children
    }
    moved |= {
        context.at(n.children[0])
        for n in context.file.tree.inside(loop, "assignment_expression")
        if n.children[0].kind == "identifier"
    }
    return not indirect and root not in moved and not any(context.at(n) in changed for n in names)


def _reads_another(context: RuleContext, loop: Node, target: Node) -> bool:
    """Whether *loop* loads from another array, which moves with it."""
    return any(
        context.root_name(access) != context.root_name(target)
        and (array := _array_of(context, access)) is not None
        and not array.shared
        and not _stays(context, access, loop)
        for access in context.file.tree.inside(loop, "subscript_expression")
    )


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void sums(float *out, const float *x, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    for (int row = 0; row < rows; ++row) out[column] += x[row * columns + column];   // to memory each time
}""",
        """\
__global__ void sums(float *out, const float *x, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    float sum = out[column];
    for (int row = 0; row < rows; ++row) sum += x[row * columns + column];
    out[column] = sum;
}""",
    ),
)
RULE = source_rule(
    id="accumulators-in-memory",
    title="Add up in a register",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    why="A load and a store in each iteration wait for memory, and the next iteration waits for them.",
    when="A loop updates one element of an array of the caller in each iteration, and loads from another array that may overlap.",
    citations=(programming_guide("__restrict__"),),
    seen="out[i] += x[k * n + i]",
)
