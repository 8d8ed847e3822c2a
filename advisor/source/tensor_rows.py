"""Elements of arrays with an index for each dimension, as of tensors: in which rows neighbouring lanes take theirs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.lane_stride import lane_stride
from gpuadvise.advisor.source.tree import bare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node

# What PyTorch hands to kernels: the last index is the fastest, unless the tensor was transposed.
ACCESSOR = b"TensorAccessor"
_DIMENSIONS = re.compile(r"TensorAccessor(?:32|64)?\s*<[^<>]*?,\s*(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorElement:
    """An element of *array*, with an index for each dimension; *lanes* is the dimension along which lanes are neighbours."""

    node: Node
    array: Variable
    indices: tuple[Node, ...]
    lanes: int | None

    @property
    def is_in_rows_of_lanes(self) -> bool:
        """Whether each lane is in a row of its own."""
        return self.lanes is not None and self.lanes < len(self.indices) - 1


def tensor_elements(context: RuleContext) -> list[TensorElement]:
    """Return the elements of tensors that the function names, in order."""
    if not context.file.says(ACCESSOR):
        return []
    answers = context.answers_of(tensor_elements)
    if not answers:
        answers[0] = [*_elements(context)]
    elements: list[TensorElement] = answers[0]
    return elements


def tensors_in_rows(context: RuleContext) -> Iterator[TensorElement]:
    """Yield the elements of tensors of which each lane takes all in a row of its own."""
    elements = tensor_elements(context)
    mixed = {
        e.array.name for e in elements if not e.is_in_rows_of_lanes or _is_of_record(context, e)
    }
    yield from (e for e in elements if e.array.name not in mixed)


def _is_of_record(context: RuleContext, element: TensorElement) -> bool:
    """Whether the last index is a number, or counts up to one: rows are records of a few elements, perhaps."""
    last, loop = element.indices[-1], context.loop_around(element.node)
    condition = loop.part("condition") if loop is not None else None
    if condition is not None and len(condition.children) == len(("counter", "bound")):
        counter, bound = condition.children
        if context.at(counter) == context.at(last):
            return context.file.is_constant(context.settled(bound), context.function)
    return context.file.is_constant(last, context.function)


def _elements(context: RuleContext) -> Iterator[TensorElement]:
    for node in context.function.nodes("subscript_expression"):
        above = node.parent
        if above is not None and above.kind == "subscript_expression" and above.children[0] is node:
            continue
        indices: list[Node] = []
        base = node
        while base.kind == "subscript_expression" and len(base.children) == 2:
            indices[:0] = base.children[1].children
            base = bare(base.children[0])
        array = context.file.variable(context.at(base), base, context.function)
        if array is None or not array.parameter or base.kind != "identifier":
            continue
        dimensions = _DIMENSIONS.search(context.at(array.node))
        if dimensions is None or (dimensions[1].isdigit() and int(dimensions[1]) != len(indices)):
            continue
        yield TensorElement(
            node=node, array=array, indices=tuple(indices), lanes=_lanes(context, indices)
        )


def _lanes(context: RuleContext, indices: list[Node]) -> int | None:
    """Return the first index that counts the lanes; None where none does, or an index before it is not known."""
    for place, index in enumerate(indices):
        stride = lane_stride(context, index)
        if stride is None:
            return None
        if not stride.is_zero:
            return place
    return None
