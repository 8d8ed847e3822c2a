"""Whether lanes are a row apart, and what a thread walks in a loop: a row, or a run that begins where a loaded offset says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.load_width import WORD
from gpuadvise.advisor.source.array_access import array_access, index_of
from gpuadvise.advisor.source.kernel_purpose import is_of_border
from gpuadvise.advisor.source.lane_stride import (
    ELEMENT_BYTES,
    compared_lengths,
    is_of_dimensions,
    shortest_launched,
    terms_of_sum,
)
from gpuadvise.advisor.source.scopes import INTEGERS
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.thresholds import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node
    from gpuadvise.advisor.source.variance import LaneStride

_LONG_ROW = number(
    128,
    "row that L1 does not keep until all of it is used",
    "bytes",
    "our judgement: 32 lanes of 32 warps have 128 KiB of them",
)
# How many numbers a point has is called so: two or three, perhaps.
_COORDINATES = re.compile(r"(?:\w*_)?(?:dims?|D|ndims?|coords?)")
_STEPS = frozenset(("++", "+="))


def is_walked(context: RuleContext, access: Node) -> bool:
    """Whether a loop counts the elements that *access* reaches: then a lane that is alone there takes many."""
    loop = context.loop_around(access)
    update = loop.part("update") if loop is not None else None
    if update is None or not update.children:
        return False
    counter = context.at(update.children[0])
    return counter in {context.at(n) for n in context.file.tree.below(index_of(access))}


def may_be_narrow(context: RuleContext, access: Node, stride: LaneStride) -> bool:
    """Whether threads along y may be the neighbours: they take the elements side by side, and no launch is seen."""
    if context.launches.widths(context.function.name) or not context.function.says(b"threadIdx.y"):
        return False
    indices = (context.file.variable(name, access, context.function) for name in stride.rest)
    return any(
        i is not None and i.value is not None and "threadIdx.y" in context.at(i.value)
        for i in indices
    )


def runs_of_lanes(context: RuleContext) -> Iterator[tuple[Node, Variable, Node]]:
    """Yield what a loop walks from an offset that each lane has loaded for itself: the access, the array, the offset."""
    for access in context.function.nodes("subscript_expression"):
        loop = context.loop_around(access)
        if loop is None or len(access.children) != 2 or len(access.children[1].children) != 1:
            continue
        base = bare(access.children[0])
        array = context.file.variable(context.at(base), base, context.function)
        if base.kind != "identifier" or array is None or not array.parameter:
            continue
        if array.type.count("*") != 1:
            continue
        if context.changes(array):
            offset = _offset_of_walk(context, array, loop)
            if offset is not None:
                yield access, array, offset
            continue
        for term in terms_of_sum(context, access.children[1].children[0]):
            begin = _beginning(context, bare(term), loop)
            if begin is not None and _is_loaded_by_lane(context, begin):
                yield access, array, begin
                break


def _offset_of_walk(context: RuleContext, array: Variable, loop: Node) -> Node | None:
    """Return what the lane loaded and *array* was moved by, before *loop* moves it in steps that the compiler knows."""
    before = [c for c in context.changes(array) if not loop.holds(c)]
    steps = [c for c in context.changes(array) if loop.holds(c)]
    if len(before) != 1 or not steps or before[0].end > loop.start:
        return None
    if context.file.operator(before[0]) != "+=":
        return None
    for step in steps:
        operator = context.file.operator(step)
        if operator not in _STEPS or (
            len(step.children) == 2 and context.constant(step.children[1]) is None
        ):
            return None
    moved = bare(before[0].children[1])
    names = [n for n in (moved, *context.file.tree.below(moved)) if n.kind == "identifier"]
    owned = [n for n in names if _is_loaded_by_lane(context, n)]
    return owned[0] if owned else None


def _beginning(context: RuleContext, counter: Node, loop: Node) -> Node | None:
    """Return what *counter* begins with, where *loop* counts it in steps of one."""
    if counter.kind != "identifier":
        return None
    variable = context.file.variable(context.at(counter), counter, context.function)
    if variable is None or variable.parameter or variable.type not in (*INTEGERS, "auto"):
        return None
    begins = [variable.value] if variable.value is not None else []
    steps = 0
    for change in context.changes(variable):
        operator = context.file.operator(change)
        if operator == "=" and len(change.children) == 2 and not begins:
            begins.append(change.children[1])
        elif operator in _STEPS and loop.holds(change):
            if len(change.children) == 2 and context.constant(change.children[1]) != 1:
                return None
            steps += 1
        else:
            return None
    return begins[0] if steps and len(begins) == 1 else None


def _is_loaded_by_lane(context: RuleContext, begin: Node) -> bool:
    """Whether *begin* is an element of an array of the caller that the number of the lane chooses, or a place that it was given."""
    begin = context.settled(begin)
    if begin.kind == "call_expression" and context.file.callee(begin) == "atomicAdd":
        return True  # a place that no other thread gets
    reached = array_access(context, begin) if begin.kind == "subscript_expression" else None
    return reached is not None and not reached.stride.is_zero


def is_row_apart(context: RuleContext, stride: LaneStride, kind: str) -> bool:
    """Whether the lanes surely are a long row apart, or one whose length the kernel is given.

    A factor is the length of a row where the rest of the index is compared with it, or is a row number
    for it elsewhere, as in a transpose: a step of a convolution or of a vector may be one.
    """
    size = ELEMENT_BYTES.get(kind.rstrip("*"), 0)
    if not stride.factors:
        return abs(stride.number) * size >= _LONG_ROW
    launched = shortest_launched(context, stride)
    if launched is not None and launched * (size or WORD) < _LONG_ROW:
        return False
    rows = {*stride.factors, "*".join(sorted("*".join(stride.factors).split("*")))}
    rows |= {
        term for factor in stride.factors if "+" in factor for term in re.split(r"[+()]", factor)
    }
    compared = compared_lengths(context)
    return is_of_dimensions(context, stride) or any(
        not compared.get(row, frozenset()).isdisjoint(stride.rest) for row in rows
    )


def is_beside_loops(context: RuleContext, access: Node) -> bool:
    """Whether the kernel has deeper loops than around *access*."""
    deepest = max(map(context.loops_around, context.function.nodes(*LOOPS)), default=-1)
    return context.loops_around(access) < deepest + 1


def is_of_little_weight(context: RuleContext, access: Node, stride: LaneStride) -> bool:
    """Whether the row may be short, as of the coordinates of a point, or the kernel has deeper loops than around *access*."""
    if stride.factors and all(map(_COORDINATES.fullmatch, stride.factors)):
        return True
    if context.loop_around(access) is None and is_of_border(context.function.name):
        return True
    if any(_is_of_header(context, access, factor) for factor in stride.factors):
        return True  # it may be short
    return is_beside_loops(context, access)


def _is_of_header(context: RuleContext, access: Node, words: str) -> bool:
    """Whether *words* hold a name that the file does not declare."""
    names = re.findall(r"(?<![\w.])[A-Za-z_]\w*(?!\w*[.(])", words)
    return any(
        context.file.variable(name, access, context.function) is None
        and name not in context.file.preprocessed.macros
        and name not in ("blockDim", "gridDim", "blockIdx")
        for name in names
    )
