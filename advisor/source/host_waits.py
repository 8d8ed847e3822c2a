"""What the host waits for when it waits for the GPU: a result, a buffer that it refills, another stream, a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.host_work import (
    COPIES,
    is_set_up,
    launches_kernels,
    pageable_memory,
    statements_around,
)
from gpuadvise.advisor.source.runtime_calls import streamed_work
from gpuadvise.advisor.source.scopes import INTEGERS
from gpuadvise.advisor.source.tree import LOOPS, bare

if TYPE_CHECKING:
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import SourceFunction, Variable
    from gpuadvise.advisor.source.tree import Node

WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaThreadSynchronize")
# Copies that block until the kernels before them are done.
BLOCKING_COPIES = ("cudaMemcpy", "cudaMemcpy2D", "cudaMemcpyFromSymbol")
_OF_A_STREAM = "cudaStreamSynchronize"
# Where these stand in the loop the host, or another device, needs what the wait is for.
_NEEDING = re.compile(r"cpy|copy|host|download|fetch|read|get|sum|SetDevice|print", re.IGNORECASE)
# Members that give a pointer to memory of the device.
_POINTING = re.compile(r"(?:get|data)\w*(?:ptr|pointer|dev|device|raw)$", re.IGNORECASE)
_HARMLESS = frozenset((
    "cudaGetLastError", "cudaGetErrorString", "cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync", *WAITS,
))  # fmt: skip
_OWN_MEMORY = re.compile(rb"cudaMalloc|cudaMemcpy|cudaFree|\bnew\b|\bexit\(|\bdelete\b")
# Members of matrices and tensors that return pointers to the device.
_DEVICE_MEMORY = re.compile(r"getDev\w*\(|data_ptr\b|device_data\(|gpu_data\(|\.data<|->data\(\)")
# What a function may be given that leads to no memory.
_PLAIN = INTEGERS | {
    "float",
    "double",
    "half",
    "bf16",
    "bool",
    "dim3",
    "cudaStream_t",
    "string",
    "std::string",
}
_FROM_HOST = ("cudaMemcpyAsync", "cudaMemcpyToSymbolAsync")
_SOURCE = 1  # their argument that says where the bytes come from
_LEADING = ("cast_expression", "pointer_expression", "parenthesized_expression")
_TO_HOST = re.compile(r"DeviceToHost|toCpu|to_cpu|ToHost|printf|\bcout\b")
_ELAPSED = re.compile(r"elapsed", re.IGNORECASE)
_SYNCHRONIZE = re.compile(r"sync(?:hronize)?$", re.IGNORECASE)
# Functions whose purpose is to measure, or to try.
_MEASURES = re.compile(r"tim(?:e|ing)|bench|test|profil|measure|perf", re.IGNORECASE)
_TRIED = ("if_statement", "conditional_expression", "lambda_expression", *LOOPS)


def shares_memory(context: RuleContext) -> bool:
    """Whether host and kernels may look at the same memory in this file, managed or mapped."""
    file = context.file
    return (
        file.says(b"cudaMallocManaged")
        or file.says(b"cudaHostAllocMapped")
        or file.says(b"cudaHostGetDevicePointer")
    )


def is_needed(context: RuleContext, loop: Node) -> bool:
    """Whether the host may look at a result in *loop*, or another device take its turn."""
    if shares_memory(context):
        return True
    return any(
        _NEEDING.search(context.file.callee(call)) and not _is_harmless(context, call)
        for call in context.file.tree.inside(loop, "call_expression")
    )


def _is_harmless(context: RuleContext, call: Node) -> bool:
    name = context.file.callee(call)
    if name in COPIES:
        return "cudaMemcpyHostToDevice" in context.at(call) or "DeviceToDevice" in context.at(call)
    if name in _HARMLESS or _POINTING.search(name) or name in context.file.effects.waiting:
        return True
    return any(f.on_device for f in context.file.called(name))


def orders_streams(context: RuleContext, wait: Node, loop: Node) -> bool:
    """Whether *wait* may hold back, in *loop*, work of a stream until that of another one is done."""
    streams = {stream for node, stream in streamed_work(context) if loop.holds(node)}
    if context.file.callee(wait) != _OF_A_STREAM or not context.file.arguments(wait):
        return len(streams) > 1
    waited = context.at(context.file.arguments(wait)[0])
    if streams - {None}:
        return streams != {waited}
    return not any(
        waited in map(context.at, context.file.arguments(call))
        for call in context.file.tree.inside(loop, "call_expression")
        if call is not wait
    )


def guards_host_memory(context: RuleContext, around: Node) -> bool:
    """Whether something in *around* refills host memory that an asynchronous copy there may still read."""
    copies = [
        copy
        for copy in context.calls(*_FROM_HOST)
        if around.holds(copy) and "HostToDevice" in context.at(copy)
    ]
    if not copies:
        return False
    assigned = context.assigned_below(around)
    calls = [c for c in context.file.tree.inside(around, "call_expression") if c not in copies]
    for copy in copies:
        arguments = context.file.arguments(copy)
        if len(arguments) <= _SOURCE:
            return True
        if pageable_memory(context, arguments[_SOURCE]) is not None:
            continue  # the driver has taken it when the call returns
        name = _named(context, arguments[_SOURCE])
        handed = any(name == _named(context, a) for c in calls for a in context.file.arguments(c))
        if name in assigned or handed:
            return True
    return False


def _named(context: RuleContext, pointer: Node) -> str:
    while pointer.kind in _LEADING and pointer.children:
        pointer = pointer.children[-1]
    return context.root_name(pointer)


def waits_of(context: RuleContext) -> list[Node]:
    """Return the calls of the function that wait for the GPU, by functions of other files as well."""
    waiting = context.file.effects.waiting
    if not waiting and not context.function.says(b"ynchronize"):
        return []
    names = (name for name in waiting if context.function.says(name.encode()))
    return context.calls(*WAITS, *sorted(names))


def follows_launch(context: RuleContext, wait: Node) -> bool:
    """Whether the statement before that of *wait* launches a kernel."""
    before, _ = statements_around(context, wait)
    return before is not None and before.kind not in LOOPS and launches_in(context, before)


def launches_in(context: RuleContext, statement: Node) -> bool:
    """Whether *statement* launches a kernel, itself or by a function that it calls."""
    if context.file.tree.inside(statement, "kernel_call_syntax"):
        return True
    calls = context.file.tree.inside(statement, "call_expression")
    return statement.kind == "expression_statement" and any(
        launches_kernels(context, call) for call in calls
    )


def is_debugging(context: RuleContext, wait: Node) -> bool:
    """Whether *wait* is compiled under a condition."""
    return any(
        g.start <= wait.start < g.end
        for g in context.file.preprocessed.guarded
        if "_H" not in g.condition
    )


def gives_to_host(context: RuleContext) -> bool:
    """Whether the function copies results to the host, or prints."""
    return any(_TO_HOST.search(context.at(call)) for call in context.calls())


def owns_memory(function: SourceFunction) -> bool:
    """Whether *function* allocates, copies or frees memory itself."""
    return function.matches(_OWN_MEMORY)


def is_given_device_memory(context: RuleContext, wait: Node) -> bool:
    """Whether the function of *wait* launches on device memory of its caller alone, which may go on with it, more than once."""
    launches = context.launches.of(context.function)
    if owns_memory(context.function) or len(launches) != 1:
        return False
    if context.loop_around(wait) is not None or is_set_up(context, wait):
        return False
    given = {one.name for one in context.function.parameters if _leads_to_memory(one)}
    return all(
        any(
            _DEVICE_MEMORY.search(context.at(argument))
            or context.at(argument) in given
            or _is_member(context, argument)
            or _is_of_the_file(context, argument)
            for argument in launch.arguments
        )
        for launch in launches
    )


def _leads_to_memory(parameter: Variable) -> bool:
    """Whether *parameter* is a pointer, or an object that a kernel takes and that holds some."""
    return "*" in parameter.type or parameter.type not in _PLAIN


def _is_member(context: RuleContext, argument: Node) -> bool:
    """Whether a member function hands a member to its kernel: what the kernel leaves there stays on the device."""
    if argument.kind != "identifier" or "::" not in context.function.name:
        return False
    known = context.file.variable(context.at(argument), argument, context.function)
    return known is None and not context.file.is_constant(argument, context.function)


def _is_of_the_file(context: RuleContext, argument: Node) -> bool:
    """Whether *argument* is a pointer that all functions of the file share."""
    name = context.at(argument)
    if argument.kind != "identifier" or name in context.function.variables:
        return False
    return any("*" in variable.type for variable in context.file.names.variables.get(name, ()))


def is_measuring(context: RuleContext) -> bool:
    """Whether the name of the function says that it measures or tries something."""
    return _MEASURES.search(context.function.name) is not None


def wait_for_time(context: RuleContext) -> Node | None:
    """Return the wait for an event that each call of the function makes to say how long its kernels took."""
    if is_measuring(context) or not any(
        _ELAPSED.search(context.file.callee(call)) for call in context.calls()
    ):
        return None
    for call in context.calls():
        if any(above.kind in _TRIED for above in call.ancestors()) or is_debugging(context, call):
            continue
        if context.file.callee(call) == "cudaEventSynchronize" or _is_of_event(context, call):
            return call
    return None


def _is_of_event(context: RuleContext, call: Node) -> bool:
    """Whether *call* is ``end.synchronize()`` of a variable whose type speaks of events."""
    member = call.children[0] if call.children else call
    if member.kind != "field_expression" or not _SYNCHRONIZE.match(context.file.callee(call)):
        return False
    owner = context.at(bare(member.children[0]))
    if not owner.isidentifier():
        return False
    declared = re.compile(rb"Event\w*\s+(?:\w+\s*,\s*)*%b\b" % owner.encode())
    return context.function.matches(declared)
