"""Elements that a loop loads again in each iteration because it stores to others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.array_access import array_access
from gpuadvise.advisor.source.lane_stride import is_address
from gpuadvise.advisor.source.scopes import LOOP_MACRO, UNKNOWN
from gpuadvise.advisor.source.tree import LOOPS
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

_LOOP = frozenset((b"for", b"while"))
_ATOMIC = re.compile(r"(?:gpu|fast|Gpu|Cuda)?[aA]tomic")
_PLAIN = frozenset(
    ("identifier", "number_literal", "binary_expression", "parenthesized_expression", "field_expression",
     "field_identifier", "subscript_argument_list", "cast_expression", "type_descriptor", "primitive_type")
)  # fmt: skip
_JUMPS = frozenset(("break_statement", "return_statement"))
_SHOWN = 4  # loads that a sentence has room for
_ACTION = (
    "Load them into local variables before the loop; or say that the arrays do not overlap: const ... *__restrict__ for those that are "
    "read, *__restrict__ for those that are written."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find loops that store and load what stays the same in them, through pointers that may overlap; one per loop."""
    function = context.function
    if not function.on_device or not (function.has_word(_LOOP) or function.says(LOOP_MACRO)):
        return
    repeated: dict[int, list[Node]] = {}
    loops: dict[int, Node] = {}
    for access in function.nodes("subscript_expression"):
        loop = context.loop_around(access)
        if loop is None or not _is_load(access) or is_address(context, access):
            continue
        if _is_before(access, loop) or _holds_loops(context, loop):
            continue
        array = _array_of(context, access)
        if array is None or array.restrict or not _stays(context, access, loop):
            continue
        if _is_stored_to(context, loop, array):
            loops[loop.index] = loop
            repeated.setdefault(loop.index, []).append(access)
    for index, loads in repeated.items():
        words = [*dict.fromkeys(" ".join(context.at(load).split()) for load in loads)]
        more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
        yield context.diagnostic(
            "repeated-loads", loads[0],
            f"Each iteration loads {and_list(words[:_SHOWN])}{more} again, though nothing in the loop (line "
            f"{context.file.text.line(loops[index].start)}) changes where: it stores through another pointer, which may reach them.",
            _ACTION,
        )  # fmt: skip


def _is_before(access: Node, loop: Node) -> bool:
    """Whether *access* stands where *loop* begins, and is loaded once."""
    condition = loop.part("condition")
    return loop.kind == "for_statement" and condition is not None and access.end <= condition.start


def _holds_loops(context: RuleContext, loop: Node) -> bool:
    """Whether other loops stand in *loop*: what is loaded beside them is little."""
    return any(
        inner is not loop for kind in LOOPS for inner in context.file.tree.inside(loop, kind)
    )


def _is_load(access: Node) -> bool:
    """Whether *access* is read, and no part of a longer subscript or the target of an assignment."""
    above = access.parent
    if above is None or above.kind in (
        "subscript_expression",
        "update_expression",
        "field_expression",
    ):
        return False
    return not (above.kind == "assignment_expression" and above.children[0] is access)


def _array_of(context: RuleContext, access: Node) -> Variable | None:
    """Return the array of the caller of which *access* takes an element; of a function for the device any that it is given."""
    reached = array_access(context, access)
    if reached is not None:
        return reached.parameter
    base = access.children[0]
    array = context.file.variable(context.at(base), base, context.function)
    plain = array is not None and array.parameter and array.type.count("*") == 1
    return array if plain and array is not None and array.name not in context.handed_out else None


def _stays(context: RuleContext, access: Node, loop: Node) -> bool:
    """Whether *access* is the same element in each iteration of *loop*."""
    if len(access.children) != 2:
        return False
    changed = context.assigned_below(loop)
    below = context.file.tree.below(access.children[1])
    if any(node.kind not in _PLAIN for node in below) or context.root_name(access) in changed:
        return False
    base = context.file.variable(context.root_name(access), access, context.function)
    if base is None or base.start >= loop.start:
        return False
    return not any(context.at(node) in changed for node in below if node.kind == "identifier")


def _is_stored_to(context: RuleContext, loop: Node, array: Variable) -> bool:
    """Whether *loop* stores, each time, elements of another array of the caller's whose type may be that of *array*."""
    for change in context.file.tree.inside(loop, "assignment_expression"):
        target = change.children[0]
        if target.kind != "subscript_expression" or context.loop_around(change) is not loop:
            continue
        other = _array_of(context, target)
        if other is None or other.name == array.name or _ends(change):
            continue
        if _may_overlap(array, other):
            return not other.restrict
    return any(
        _ATOMIC.match(context.file.callee(call)) and context.loop_around(call) is loop
        for call in context.file.tree.inside(loop, "call_expression")
    )


def _ends(change: Node) -> bool:
    """Whether the loop around *change* is left right after it."""
    block = change.parent.parent if change.parent is not None else None
    return block is not None and any(statement.kind in _JUMPS for statement in block.children)


def _may_overlap(array: Variable, other: Variable) -> bool:
    """Whether both hold elements of one type, as far as the file says: others the compiler takes for apart."""
    if UNKNOWN in array.type or UNKNOWN in other.type:
        return array.written == other.written
    return array.type == other.type


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void scale(float *out, const float *in, const float *factor, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = in[i] * factor[blockIdx.x];             // out may overlap factor: loaded each time
}""",
        """\
__global__ void scale(float *out, const float *in, const float *factor, int n) {
    float f = factor[blockIdx.x];
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i] * f;
}""",
    ),
)
RULE = source_rule(
    id="repeated-loads",
    title="Load what stays the same before the loop",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="A store through a pointer that may overlap makes the compiler load the element again, and wait for it, in each iteration.",
    when="A loop stores elements of one array and loads one of another that does not change in the loop, neither being __restrict__.",
    citations=(programming_guide("__restrict__"),),
    seen="out[i] = in[i] * factor[b]",
    action=_ACTION,
)
