"""What host code does with device buffers, call after call: launches, copies, fills, and what nobody knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.host_work import COPIES
from gpuadvise.advisor.source.parameter_uses import uses_by_launch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

FILLS = ("cudaMemset", "cudaMemsetAsync")
_AROUND = ("parenthesized_expression", "cast_expression")
_POINTERS = frozenset(("identifier", "field_expression", "subscript_expression"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferUse:
    """One use of the buffer *name* in the call *node*: whether it *loads* elements, and whether it *stores* some."""

    node: Node
    name: str
    loads: bool
    stores: bool
    launch: bool = False


def buffer_uses(context: RuleContext, around: Node) -> list[BufferUse]:
    """Return the uses of pointers in calls and assignments of *around*, in the order of the text."""
    found = [use for call in context.calls() if around.holds(call) for use in _uses(context, call)]
    for change in context.function.nodes("assignment_expression"):
        if around.holds(change) and change.children[0].kind in ("identifier", "field_expression"):
            name = buffer_name(context, change.children[0])
            found.append(BufferUse(node=change, name=name, loads=True, stores=True))
    return sorted(found, key=lambda use: use.node.start)


def buffer_name(context: RuleContext, pointer: Node) -> str:
    """Return the buffer that an argument like ``p + n``, ``&p[n]`` or ``(void *)p`` leads into, empty for other values."""
    while pointer.children:
        if pointer.kind == "binary_expression":
            pointer = pointer.children[0]
        elif pointer.kind in _AROUND:
            pointer = pointer.children[-1]
        elif pointer.kind == "pointer_expression":
            pointer = pointer.children[0]
            pointer = pointer.children[0] if pointer.kind == "subscript_expression" else pointer
        else:
            break
    return "".join(context.at(pointer).split()) if pointer.kind in _POINTERS else ""


def _uses(context: RuleContext, call: Node) -> Iterator[BufferUse]:
    name, arguments = context.file.callee(call), context.file.arguments(call)
    if name in COPIES and len(arguments) > 1:
        kept, made = (buffer_name(context, argument) for argument in arguments[:2])
        yield BufferUse(node=call, name=kept, loads=False, stores=True)
        yield BufferUse(node=call, name=made, loads=True, stores=False)
        return
    if name in FILLS and arguments:
        filled = buffer_name(context, arguments[0])
        yield BufferUse(node=call, name=filled, loads=False, stores=True)
        return
    launch = call.children[0].parent is call and any(
        child.kind == "kernel_call_syntax" for child in call.children
    )
    known = dict(uses_by_launch(context, call)) if launch else {}
    for argument in arguments:
        buffer = buffer_name(context, argument)
        if not buffer:
            continue
        use = known.get("".join(context.at(argument).split()))
        if use is None and known:
            continue  # a number that a kernel of this file takes
        loads, stores = (use.loads, use.stores) if use is not None else (True, True)
        yield BufferUse(node=call, name=buffer, loads=loads, stores=stores, launch=launch)
