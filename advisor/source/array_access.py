"""Which array of a kernel's caller an access reaches, through pointers to its rows, and how far apart lanes are in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.load_width import WORD
from gpuadvise.advisor.source.lane_stride import ELEMENT_BYTES, lane_stride, sum_of_strides
from gpuadvise.advisor.source.scopes import named_type
from gpuadvise.advisor.source.tree import bare
from gpuadvise.advisor.source.variance import LaneStride, Variance

if TYPE_CHECKING:
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node

# Pointers that lead to each other.
_LONGEST_CHAIN = 4
_CACHED_LOADS = frozenset(("__ldg", "__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv"))
_POINTER = 8
_FIELD_BYTES = {
    **ELEMENT_BYTES, "bool": 1, "char": 1, "uchar": 1, "short": 2, "ushort": 2, "half": 2, "bf16": 2, "half2": 4,
    "bf162": 4,
    **{f"{kind}.{width}": size * width for kind, size in ELEMENT_BYTES.items() for width in range(1, 5)},
}  # fmt: skip
_ON_THE_SPOT = LaneStride(number=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayAccess:
    """An element of the array that *parameter* hands in; *stride* is from one lane to the next."""

    parameter: Variable
    stride: LaneStride


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseAccess:
    """Elements of which each lane takes *used* bytes and leaves the rest of *apart*, the distance of the lanes."""

    parameter: Variable
    used: int
    apart: int
    of_structures: bool


def sparse_accesses(context: RuleContext) -> list[tuple[Node, SparseAccess]]:
    """Return the first access to each array of which the lanes take a part, at distances that the file says.

    Elements that a loop goes on to, or that are taken whole, are no part.
    """
    taken: dict[str, dict[str, int]] = {}
    first: dict[str, tuple[Node, Variable, int]] = {}
    whole: set[str] = set()
    for access in context.function.nodes("subscript_expression"):
        reached = array_access(context, access)
        if reached is None:
            continue
        name, stride = reached.parameter.name, reached.stride
        element = reached.parameter.type.rstrip("*")
        field = field_taken(access)
        size = ELEMENT_BYTES.get(element) or _bytes_of_structure(context, element)
        if (
            stride.is_zero
            or stride.factors
            or not size
            or (name in first and first[name][2] != abs(stride.number) * size)
        ):
            whole.add(name)
        elif element in ELEMENT_BYTES:
            if goes_on(context, access, stride):
                whole.add(name)
            taken.setdefault(name, {})["".join(context.at(access).split())] = size
        elif field is None:
            whole.add(name)
        else:
            kind = context.file.names.structs[element].get(context.at(field), "")
            taken.setdefault(name, {})[context.at(field)] = _FIELD_BYTES.get(kind, size)
        if name not in first and size:
            first[name] = access, reached.parameter, abs(stride.number) * size
    return [
        (
            access,
            SparseAccess(
                parameter=parameter,
                used=sum(taken[name].values()),
                apart=apart,
                of_structures=parameter.type.rstrip("*") not in ELEMENT_BYTES,
            ),
        )
        for name, (access, parameter, apart) in first.items()
        if name not in whole
    ]


def element_bytes(context: RuleContext, kind: str) -> int:
    """Return the bytes of an element of type *kind*, of a structure at least; 0 where the file does not say."""
    return _FIELD_BYTES.get(kind) or _bytes_of_structure(context, kind)


def bytes_of(context: RuleContext, array: Variable) -> int:
    """Return the bytes of an element of *array*; of a type that a template or the build leaves open those of a float."""
    known = element_bytes(context, array.type.rstrip("*"))
    if known or not array.written:
        return known
    if context.file.names.aliases.get(array.written, "") is None:
        return int(WORD)  # float or double, as a macro says
    same = context.function.variables.get(array.written)
    return int(WORD) if same and same[0].type == "type" else 0


def steps_on(context: RuleContext, access: Node) -> bool:
    """Whether *access* is ``*p`` of a pointer that the loop around it moves."""
    loop = context.loop_around(access)
    if loop is None or access.kind != "pointer_expression" or not access.children:
        return False
    pointer = bare(access.children[0])
    if pointer.kind == "update_expression" and pointer.children:
        pointer = pointer.children[0]
    return context.at(pointer) in context.assigned_below(loop)


def field_taken(access: Node) -> Node | None:
    """Return the field of the structure *access* that is taken, None where more of it may be."""
    above = access.parent
    if above is None or above.kind != "field_expression" or len(above.children) != 2:
        return None
    return above.children[1]


def _bytes_of_structure(context: RuleContext, name: str) -> int:
    """Return the bytes that a structure has at least, 0 where the file does not say; arrays count as pointers."""
    fields = context.file.names.structs.get(name)
    if not fields:
        return 0
    return sum(
        _POINTER if kind.endswith("*") else _FIELD_BYTES.get(kind, 0) for kind in fields.values()
    )


def goes_on(context: RuleContext, access: Node, stride: LaneStride) -> bool:
    """Whether a loop around *access* moves it, so that the bytes between the lanes are taken as well."""
    loop = context.loop_around(access)
    return loop is not None and not stride.rest.isdisjoint(context.assigned_below(loop))


def array_access(context: RuleContext, access: Node) -> ArrayAccess | None:
    """Return what the subscript *access* reaches; None where it is no array of the caller, or not known."""
    known: dict[int, ArrayAccess | None] = context.answers_of(array_access)
    if access.index not in known:
        known[access.index] = None  # of a pointer that leads to itself nothing is known
        known[access.index] = _reached(context, access)
    return known[access.index]


def accesses_of(context: RuleContext) -> list[Node]:
    """Return the elements that the function names, as ``a[i]`` and as ``*(a + i)`` or ``*p++``, in order."""
    followed = [
        node
        for node in context.function.nodes("pointer_expression")
        if context.file.operator(node) == "*"
    ]
    subscripts = context.function.nodes("subscript_expression")
    if not followed:
        return subscripts
    return sorted([*subscripts, *followed], key=lambda node: node.index)


def index_of(access: Node) -> Node:
    """Return where the index of *access* stands: in ``*(a + i)`` with the name of the array."""
    return access.children[-1]


def _reached(context: RuleContext, access: Node) -> ArrayAccess | None:
    if access.kind == "pointer_expression":
        return _pointed_to(context, access.children[0], 0) if access.children else None
    if len(access.children) != 2 or len(access.children[1].children) != 1:
        return None
    base = bare(access.children[0])
    if base.kind != "identifier":
        return None
    reached = _pointed_to(context, base, 0)
    if reached is None:
        return None
    return _moved(context, reached, access.children[1].children[0], 1)


def is_loaded_by_address(context: RuleContext, access: Node) -> bool:
    """Whether a load like ``__ldg(&a[i])`` takes the address of *access*."""
    address = access.parent
    call = address.parent.parent if address is not None and address.parent is not None else None
    return (
        call is not None
        and call.kind == "call_expression"
        and context.file.callee(call) in _CACHED_LOADS
    )


def pointed_to(context: RuleContext, pointer: Node) -> ArrayAccess | None:
    """Return where *pointer* points to, such as one that a call is given; None where it is no array of the caller."""
    return _pointed_to(context, pointer, 0)


def _pointed_to(context: RuleContext, pointer: Node, depth: int) -> ArrayAccess | None:
    """Return where *pointer* points to when it is used."""
    pointer = bare(pointer)
    if depth > _LONGEST_CHAIN:
        return None
    if pointer.kind == "identifier":
        return _of_name(context, pointer, depth)
    if pointer.kind == "update_expression" and pointer.children:
        return _pointed_to(context, pointer.children[0], depth + 1)
    if pointer.kind == "cast_expression" and len(pointer.children) == 2:
        return _cast(context, pointer, depth)
    if pointer.kind == "binary_expression" and len(pointer.children) == 2:
        operator = context.file.operator(pointer)
        reached = _pointed_to(context, pointer.children[0], depth + 1)
        if reached is None or operator not in ("+", "-"):
            return None
        return _moved(context, reached, pointer.children[1], 1 if operator == "+" else -1)
    if pointer.kind == "pointer_expression" and context.file.operator(pointer) == "&":
        element = bare(pointer.children[0])
        return array_access(context, element) if element.kind == "subscript_expression" else None
    return None


def _cast(context: RuleContext, pointer: Node, depth: int) -> ArrayAccess | None:
    """Return where a pointer that is cast to one of larger elements, such as vectors, points to."""
    reached = _pointed_to(context, pointer.children[1], depth + 1)
    kind = named_type(context.at(pointer.children[0]), context.file.names)
    if reached is None or not kind.endswith("*"):
        return None
    before = _FIELD_BYTES.get(reached.parameter.type.rstrip("*"))
    after = _FIELD_BYTES.get(kind.rstrip("*"))
    return reached if before and after and after >= before else None


def _of_name(context: RuleContext, name: Node, depth: int) -> ArrayAccess | None:
    variable = context.file.variable(context.at(name), name, context.function)
    if variable is None or variable.type.count("*") != 1 or variable.name in context.handed_out:
        return None
    if variable.shared or variable.dimensions:
        return None
    if variable.parameter:
        reached: ArrayAccess | None = ArrayAccess(parameter=variable, stride=_ON_THE_SPOT)
    elif variable.value is None or variable.value.holds(name):
        return None
    else:
        reached = _pointed_to(context, variable.value, depth + 1)
    for change in context.changes(variable):
        if reached is None:
            return None
        operator = context.file.operator(change)
        if operator == "=" and not _moves_along(context, variable, change):
            return None
        if operator in ("+=", "-=") and change.start < name.start:
            reached = _moved(context, reached, change.children[1], 1)
    return reached


def _moves_along(context: RuleContext, variable: Variable, change: Node) -> bool:
    """Whether ``p = p + n`` keeps the pointer *variable* in its array, as far as all lanes share the step."""
    value = bare(change.children[1])
    if value.kind != "binary_expression" or len(value.children) != 2:
        return False
    pointer, step = value.children
    stride = lane_stride(context, step)
    return context.at(bare(pointer)) == variable.name and stride is not None and stride.is_zero


def _moved(
    context: RuleContext, reached: ArrayAccess, index: Node, sign: int
) -> ArrayAccess | None:
    step = lane_stride(context, index)
    stride = sum_of_strides(reached.stride, step, sign) if step is not None else None
    return None if stride is None else ArrayAccess(parameter=reached.parameter, stride=stride)


def is_step_of_block(context: RuleContext, change: Node) -> bool:
    """Whether *change* moves a pointer as far for all threads of the block, as to the item of a batch."""
    return (
        context.file.operator(change) == "+="
        and context.variances.of(change.children[1]) is Variance.UNIFORM
    )
