"""Structures of parameters that a kernel is given by pointer, and reads from global memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.scopes import UNKNOWN, ExecutionSpace
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

_FEWEST = number(2, "reads of fields, at least", "", "our judgement: one is loaded once and kept")
_ACTION = (
    "Hand the structure over by value, kernel<<<grid, block>>>(*parameters): arguments lie in constant memory, which all lanes of a warp "
    "read at once, and no store through a pointer can change them."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find parameters of a kernel that point to one structure of which it only reads fields; one finding per kernel."""
    function = context.function
    if function.place is not ExecutionSpace.KERNEL or not function.says(b"->"):
        return
    found = [
        p
        for p in function.parameters
        if _is_of_structure(context, p) and _is_read_by_field(context, p)
    ]
    if not found:
        return
    names = and_list([parameter.name for parameter in found])
    one = len(found) == 1
    first = min((use for p in found for use in _uses(context, p)), key=lambda use: use.start)
    yield context.diagnostic(
        "parameters-in-memory", first,
        f"{names} {'is a structure' if one else 'are structures'} in global memory of which all threads read the same fields: each waits for "
        "them before it can go on, and a store may make it load them again.",
        _ACTION, parameters=names,
    )  # fmt: skip


def _is_of_structure(context: RuleContext, parameter: Variable) -> bool:
    """Whether *parameter* points to a structure, or to what a header declares."""
    kind = parameter.type
    if kind.count("*") != 1 or parameter.restrict:
        return False
    return kind[:-1] in context.file.names.structs or kind[:-1] == UNKNOWN


def _uses(context: RuleContext, parameter: Variable) -> list[Node]:
    return [n for n in context.function.nodes("identifier") if context.at(n) == parameter.name]


def _is_read_by_field(context: RuleContext, parameter: Variable) -> bool:
    """Whether all that the kernel does with *parameter* is to read fields by name: it is no array, and stays as it is."""
    uses = _uses(context, parameter)
    for use in uses:
        field = use.parent
        if field is None or field.kind != "field_expression" or field.children[0] is not use:
            return False
        above: Node | None = field.parent
        node = field
        while above is not None and above.kind in (
            "field_expression",
            "parenthesized_expression",
            "subscript_expression",
        ):
            if above.children[0] is not node:
                break
            node, above = above, above.parent
        if above is None or above.kind in ("update_expression", "pointer_expression"):
            return False
        if above.kind == "assignment_expression" and above.children[0] is node:
            return False
        if (
            field.parent is not None
            and field.parent.kind == "call_expression"
            and field.parent.children[0] is field
        ):
            return False
    return len(uses) >= _FEWEST


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
struct Settings { float scale, bias; int n; };
__global__ void adjust(float *x, const Settings *settings) {     // cudaMalloc'ed, for 12 bytes
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < settings->n) x[i] = x[i] * settings->scale + settings->bias;
}""",
        """\
struct Settings { float scale, bias; int n; };
__global__ void adjust(float *x, Settings settings) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < settings.n) x[i] = x[i] * settings.scale + settings.bias;
}""",
    ),
)
RULE = source_rule(
    id="parameters-in-memory",
    title="Hand structures of parameters over by value",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="What a pointer reaches is loaded from global memory, hundreds of cycles before the first use; arguments are in constant memory.",
    when="A kernel only reads fields of a structure that it is given by pointer, as p->n, and takes no other element of it.",
    citations=(programming_guide("__constant__"),),
    seen="settings->scale",
    action=_ACTION,
)
