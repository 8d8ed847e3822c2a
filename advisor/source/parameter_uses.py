"""What a kernel does with each array that it is given: loads from it, stores to it, or both."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.scopes import ExecutionSpace

if TYPE_CHECKING:
    from gpuadvise.advisor.source.cuda_file import CudaFile
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import SourceFunction
    from gpuadvise.advisor.source.tree import Node

_CONSTANT = re.compile(r"\bconst\b[^*]*\*")  # what a pointer leads to, not the pointer
_ELEMENTS = frozenset(("subscript_expression", "pointer_expression", "field_expression"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterUse:
    """Whether a kernel *loads* elements of the array *name*, and whether it *stores* some."""

    name: str
    loads: bool
    stores: bool


def uses_by_launch(context: RuleContext, call: Node) -> list[tuple[str, ParameterUse]]:
    """Return the arguments of a launch as they are written, with what the kernel does with each array.

    Empty where this file does not hold the kernel, or holds several of that name.
    """
    kernels = [
        f
        for f in context.file.called(context.file.callee(call))
        if f.place is ExecutionSpace.KERNEL
    ]
    arguments = context.file.arguments(call)
    if len(kernels) != 1 or len(kernels[0].parameters) != len(arguments):
        return []
    uses = parameter_uses(context.file, kernels[0])
    pairs = zip(arguments, kernels[0].parameters, strict=True)
    return [("".join(context.at(a).split()), uses[p.name]) for a, p in pairs if p.name in uses]


def parameter_uses(file: CudaFile, kernel: SourceFunction) -> dict[str, ParameterUse]:
    """Return what *kernel* does with the arrays that are its parameters, by name."""
    names = {p.name for p in kernel.parameters if "*" in p.type}
    constant = {p.name for p in kernel.parameters if _CONSTANT.search(file.at(p.node))}
    loaded: set[str] = set()
    stored: set[str] = set()
    for node in kernel.nodes("identifier"):
        name = file.at(node)
        if name in names:
            loads, stores = _use(file, node)
            loaded.update([name] if loads else [])
            stored.update([name] if stores and name not in constant else [])
    return {n: ParameterUse(name=n, loads=n in loaded, stores=n in stored) for n in names}


def _use(file: CudaFile, name: Node) -> tuple[bool, bool]:
    """Return whether the array *name* is loaded from here, and whether it is stored to."""
    element = name
    while element.parent is not None and element.parent.children[0] is element:
        if (
            element.parent.kind not in _ELEMENTS
            and element.parent.kind != "parenthesized_expression"
        ):
            break
        element = element.parent
        if element.kind == "pointer_expression" and file.operator(element) == "&":
            return True, True  # whoever gets the address may do both
    above = element.parent
    if element is name:
        return True, True  # it goes elsewhere by another name
    if above is not None and above.kind == "update_expression":
        return True, True
    if above is None or above.kind != "assignment_expression" or above.children[0] is not element:
        return True, False
    return file.operator(above) != "=", True
