"""Device memory that a function allocates and frees for its own launches, by the runtime or by functions that wrap it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.runtime_calls import pointer_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_ALLOCATE = ("cudaMalloc", "cudaMallocPitch")
_FREE = re.compile(r"cuda_?free$", re.IGNORECASE)
_BRANCHES = ("if_statement", "switch_statement", "conditional_expression", "lambda_expression")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptForACall:
    """Memory that goes when the function ends: the *names* of its pointers, and the *first* call that allocates."""

    names: tuple[str, ...]
    first: Node
    does: str  # what happens to them, in the order of the text
    beside_device_memory: bool  # whether the caller hands device memory in


def kept_for_a_call(context: RuleContext) -> KeptForACall | None:
    """Return the memory that each call of the function allocates for its launches and frees, None where there is none."""
    launched = {context.at(a) for x in context.launches.of(context.function) for a in x.arguments}
    freed = dict(_frees(context))
    calls = {
        name: call
        for name, call in _allocations(context)
        if name in freed and call.start < freed[name].start and name in launched
    }
    if calls:
        given = {p.name for p in context.function.parameters if "*" in p.type}
        names, does = tuple(calls), "allocates and frees"
        copies = context.calls("cudaMemcpy", "cudaMemcpyAsync", "cudaMemcpy2D")
        uploaded = any("HostToDevice" in context.at(copy) for copy in copies)
        handed = not given.isdisjoint(launched) and not uploaded
        return KeptForACall(
            names=names, first=min(calls.values(), key=attrgetter("start")), does=does,
            beside_device_memory=handed,
        )  # fmt: skip
    return _renewed(context)


def _frees(context: RuleContext) -> Iterator[tuple[str, Node]]:
    for call in context.calls():
        arguments = context.file.arguments(call)
        if not arguments:
            continue
        name = context.file.callee(call)
        if _FREE.match(name) or (len(arguments) == 1 and _wraps(context, name, b"cudaFree(")):
            yield pointer_name(context, arguments[0]), call


def _allocations(context: RuleContext) -> Iterator[tuple[str, Node]]:
    """Yield the calls that allocate device memory, in each call of the function, with the pointers that they set."""
    for call in context.calls():
        name, arguments = context.file.callee(call), context.file.arguments(call)
        if not arguments or context.loop_around(call) is not None or _is_in_branch(context, call):
            continue
        if name in _ALLOCATE:
            yield pointer_name(context, arguments[0]), call
            continue
        above = call.parent
        while above is not None and above.kind in ("cast_expression", "parenthesized_expression"):
            above = above.parent
        if above is not None and above.kind in ("init_declarator", "assignment_expression"):
            # Whatever made it: what the function frees was made for this call.
            yield context.root_name(above.children[0]).lstrip("* "), call
        elif context.at(arguments[0]).startswith("&") and _wraps(context, name, b"cudaMalloc("):
            yield pointer_name(context, arguments[0]), call


def _is_in_branch(context: RuleContext, call: Node) -> bool:
    """Whether *call* is left out at times; a condition that is the call's own result does not leave it out."""
    for above in call.ancestors():
        if above is context.function.body:
            return False
        if above.kind in _BRANCHES:
            condition = above.part("condition")
            if condition is None or not condition.holds(call):
                return True
    return False


def _wraps(context: RuleContext, name: str, runtime: bytes) -> bool:
    """Whether *name* is a short function of this file, without launches, that calls the *runtime*'s for its caller."""
    functions = context.file.named(name)
    return any(
        not f.on_device and f is not context.function and f.says(runtime) and not f.may_launch
        for f in functions
    )


def _renewed(context: RuleContext) -> KeptForACall | None:
    """Return the members that the function has one function free, and another one allocate anew."""
    calls = [
        call
        for call in context.calls()
        if call.parent is not None
        and call.parent.kind == "expression_statement"
        and context.loop_around(call) is None
        and not _is_in_branch(context, call)
    ]
    for first, call in enumerate(calls):
        freed = _handled(context, call, "cudaFree")
        for later in calls[first + 1 :] if freed else ():
            names = tuple(n for n in _handled(context, later, "cudaMalloc") if n in freed)
            if names:
                return KeptForACall(
                    names=names, first=call, does="frees and allocates anew",
                    beside_device_memory=False,
                )  # fmt: skip
    return None


def _handled(context: RuleContext, call: Node, runtime: str) -> tuple[str, ...]:
    """Return the pointers that the function of this file behind *call* hands to *runtime*, whatever happens."""
    functions = context.file.named(context.file.callee(call))
    if len(functions) > 1:
        class_ = context.function.name.rpartition("::")[0]
        functions = [f for f in functions if f.name.rpartition("::")[0] == class_]
    if len(functions) != 1 or functions[0].on_device or not functions[0].says(runtime.encode()):
        return ()
    names = []
    for inner in functions[0].nodes("call_expression"):
        arguments = context.file.arguments(inner)
        above = (node.kind for node in inner.ancestors())
        if context.file.callee(inner) == runtime and arguments and "if_statement" not in above:
            names.append(pointer_name(context, arguments[0]))
    return tuple(names)
