"""Whether lanes are a row apart, and what a thread walks in a loop: a row, or a run that begins where a loaded offset says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.load_width import WORD
from gpuadvise.advisor.source.array_access import ArrayAccess, array_access, index_of, pointed_to
from gpuadvise.advisor.source.kernel_purpose import is_of_border
from gpuadvise.advisor.source.lane_stride import (
    ELEMENT_BYTES,
    compared_lengths,
    is_of_dimensions,
    is_of_steps,
    lane_stride,
    shortest_launched,
    terms_of_sum,
)
from gpuadvise.advisor.source.scopes import INTEGERS
from gpuadvise.advisor.source.tensor_rows import tensor_elements
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.thresholds import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import SourceFunction, Variable
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
    if loop is None or update is None or not update.children:
        return False
    counter = context.at(update.children[0])
    names = [n for n in context.file.tree.below(index_of(access)) if n.kind == "identifier"]
    for name in [*names]:
        value = context.settled(name)  # an index that each iteration computes
        if value is not name and loop.holds(value):
            names += [value, *context.file.tree.below(value)]
    return counter in map(context.at, names)


def walks_its_row(context: RuleContext, access: Node, stride: LaneStride) -> bool:
    """Whether a loop counts *access* in ones from where the lane's row begins to where it ends: all rows are as long."""
    loop = context.loop_around(access)
    if loop is None or not stride.factors:
        return False
    if _steps_along_row(context, access, loop, stride):
        return True
    if loop.kind != "for_statement":
        return False
    update, condition = loop.part("update"), loop.part("condition")
    if update is None or context.file.operator(update) != "++" or condition is None:
        return False
    counter, sides = context.at(update.children[0]), bare(condition).children
    if len(sides) != 2 or context.at(sides[0]) != counter or not is_walked(context, access):
        return False
    ends = lane_stride(context, sides[1])
    return ends is not None and (ends.number, ends.factors) == (stride.number, stride.factors)


def _steps_along_row(context: RuleContext, access: Node, loop: Node, stride: LaneStride) -> bool:
    """Whether *loop* takes the index one further in each round, and as many rounds as lanes are apart."""
    inside, condition = index_of(access).children, loop.part("condition")
    if len(inside) != 1:
        return False
    index = bare(inside[0])
    variable = context.file.variable(context.at(index), index, context.function)
    if index.kind != "identifier" or variable is None or condition is None:
        return False
    steps = context.changes(variable)
    if not steps or not all(
        step.kind == "update_expression" and context.loop_around(step) is loop for step in steps
    ):
        return False
    bound = {context.at(side) for side in bare(condition).children}
    return len(stride.factors) == 1 and stride.factors[0] in bound


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
        begin = _begin_of_run(context, access.children[1].children[0], loop)
        if begin is not None:
            yield access, array, begin
    for element in tensor_elements(context):
        loop = context.loop_around(element.node)
        begin = _begin_of_run(context, element.indices[0], loop) if loop is not None else None
        if begin is not None:
            yield element.node, element.array, begin


def rows_handed_on(context: RuleContext) -> Iterator[tuple[Node, ArrayAccess]]:
    """Yield the pointers to a row of each lane that a call is given, where the function called walks what it is given.

    A function of a header is given a row to walk it, where a local variable holds where the row begins.
    """
    for call in context.calls():
        arguments = [a for a in context.file.arguments(call) if _may_point(context, a)]
        called = context.file.called(context.file.callee(call)) if arguments else []
        for argument in arguments:
            if not called and not _is_local_pointer(context, argument):
                continue
            reached = pointed_to(context, argument)
            if reached is None or reached.stride.is_zero or not _is_long(context, reached):
                continue
            place = context.file.arguments(call).index(argument)
            if not called or _walks(context, called, place):
                yield argument, reached


def _may_point(context: RuleContext, argument: Node) -> bool:
    """Whether *argument* may be a pointer: the name of one, or a sum or an address that begins with one."""
    if argument.kind not in ("identifier", "binary_expression", "pointer_expression"):
        return False
    name = context.root_name(argument)
    return any("*" in variable.type for variable in context.function.variables.get(name, ()))


def _is_long(context: RuleContext, reached: ArrayAccess) -> bool:
    """Whether the row of a lane may be long: no number says that it is short, and no name that it is a step."""
    stride = reached.stride
    size = ELEMENT_BYTES.get(reached.parameter.type.rstrip("*"), 0)
    if not stride.factors or is_of_steps(stride):
        return abs(stride.number) * size >= _LONG_ROW
    launched = shortest_launched(context, stride)
    return launched is None or launched * (size or WORD) >= _LONG_ROW


def _is_local_pointer(context: RuleContext, argument: Node) -> bool:
    variable = context.file.variable(context.at(argument), argument, context.function)
    return (
        argument.kind == "identifier"
        and variable is not None
        and not variable.parameter
        and variable.type.count("*") == 1
    )


def _walks(context: RuleContext, called: list[SourceFunction], place: int) -> bool:
    """Whether a loop of the one function *called* counts elements of its parameter at *place*."""
    (function, *others) = called
    if others or not function.on_device or place >= len(function.parameters):
        return False
    parameter = function.parameters[place]
    for access in function.nodes("subscript_expression"):
        if context.at(access.children[0]) != parameter.name:
            continue
        names = {context.at(n) for n in context.file.tree.below(access.children[1])}
        for loop in access.ancestors():
            update = loop.part("update") if loop.kind == "for_statement" else None
            if update is not None and update.children and context.at(update.children[0]) in names:
                return True
    return False


def _begin_of_run(context: RuleContext, index: Node, loop: Node) -> Node | None:
    """Return the offset, loaded by each lane for itself, from which *loop* counts *index* in steps of one."""
    value = context.settled(index)
    if not loop.holds(value):
        value = index
    terms = [bare(term) for term in terms_of_sum(context, value)]
    counters = [begin for term in terms if (begin := _beginning(context, term, loop)) is not None]
    owned = [begin for begin in counters if _is_loaded_by_lane(context, begin)]
    if owned or not counters:
        return owned[0] if owned else None
    return next(
        (t for t in terms if t.kind == "identifier" and _is_loaded_by_lane(context, t)), None
    )


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
    if begin.kind != "subscript_expression":
        return False
    reached = array_access(context, begin)
    if reached is not None:
        return not reached.stride.is_zero
    return any(e.node is begin and e.lanes is not None for e in tensor_elements(context))


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
