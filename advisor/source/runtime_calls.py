"""Calls of the CUDA runtime in host code: what waits, who asks for errors, in which stream work is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.tree import LOOPS
from gpuadvise.advisor.thresholds import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import SourceFunction
    from gpuadvise.advisor.source.tree import Node

# In lower case, as projects spell them differently.
_LAST_ERROR_WORDS = (
    b"getlasterror", b"peekatlasterror", b"getlastcudaerror", b"kernel_launch_check", b"check_last",
    b"cuda_check()", b"last_error", b"cudacheckerror",
)  # fmt: skip
# Macros that take nothing, such as CHECK_CUDA_STATE().
_STATE_CHECK = rb"\b(?=\w*check)(?=\w*(?:cuda|gpu|kernel|err))\w++\(\)"
_LAST_ERROR = re.compile(b"|".join((*map(re.escape, _LAST_ERROR_WORDS), _STATE_CHECK)))
_CHECK = re.compile(
    r"check|error|err\b|CUDA_|_SAFE|safe|CALL|verify|assert|ok\b|GPU_TRY|TRY", re.IGNORECASE
)
# Calls that wait for work of the GPU, or ask whether it is done.
WAITING = frozenset(
    [
        "cudaDeviceSynchronize",
        "cudaThreadSynchronize",
        "cudaStreamSynchronize",
        "cudaEventSynchronize",
        "cudaMemcpy",
        "cudaMemcpyFromSymbol",
        "cudaMemcpyToSymbol",
        "cudaMemcpy2D",
        "cudaMemcpy3D",
        "cudaMemset",
        "cudaFree",
        "cuCtxSynchronize",
        "cuStreamSynchronize",
        "cudaDeviceReset",
        "cudaStreamQuery",
        "cudaEventQuery",
    ]
)
# Those of them that return the errors of kernels, and what stands around a result that is looked at.
_RETURNING_ERRORS = (
    "cudaDeviceSynchronize", "cudaThreadSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaMemcpy",
)  # fmt: skip
_LOOKING = frozenset(
    ("argument_list", "init_declarator", "assignment_expression", "binary_expression")
)
# What takes a stream, or all of them, out of the order with the default stream.
_APART = (b"cudaStreamNonBlocking", b"per-thread", b"PER_THREAD")
_DEEPEST_CALLS = number(
    4,
    "calls between main and a launch, at most",
    "",
    "our judgement: further away anybody may check",
)
_MOST_CALLERS = number(50, "callers of a function that are looked at", "", "a bound on time")
_STREAM_ARGUMENT = {"cudaMemcpyAsync": 4, "cudaMemsetAsync": 3, "cudaMemcpy2DAsync": 7}


def streamed_work(context: RuleContext) -> list[tuple[Node, str | None]]:
    """Return launches and asynchronous copies with their streams, in the order of the text."""
    work: list[tuple[Node, str | None]] = [
        (launch.node, launch.stream) for launch in context.launches.of(context.function)
    ]
    for name, position in _STREAM_ARGUMENT.items():
        for call in context.calls(name):
            arguments = context.file.arguments(call)
            stream = context.at(arguments[position]) if len(arguments) > position else "0"
            work.append((call, None if stream in ("0", "NULL", "nullptr") else stream))
    return sorted(work, key=lambda item: item[0].start)


def loops_over_streams(
    context: RuleContext,
) -> Iterator[tuple[Node, list[tuple[Node, str | None]]]]:
    """Yield each loop with work in several streams that wait for the default one, and its work."""
    text = context.file.text.content
    if any(mark in text for mark in _APART):
        return
    work = streamed_work(context)
    for loop in context.function.nodes(*LOOPS):
        inside = [(node, stream) for node, stream in work if loop.holds(node)]
        streams = {stream for _, stream in inside if stream is not None}
        if len(streams) > 1 or any(_is_one_of_several(stream) for stream in streams):
            yield loop, inside


def _is_one_of_several(stream: str) -> bool:
    """Whether *stream* is an element that an index chooses, and not the same one every time."""
    _, bracket, index = stream.partition("[")
    return bool(bracket) and not index.rstrip("]) ").isdigit()


def asks_for_error_after(context: RuleContext, function: SourceFunction, node: Node) -> bool:
    """Whether *function* asks for the last error after *node*."""
    if function.last_check is None:
        text = context.file.code[function.node.start : function.node.end].lower()
        checks = [match.start() for match in _LAST_ERROR.finditer(text)]
        function.last_check = function.node.start + checks[-1] if checks else 0
    return node.end <= function.last_check


def asks_for_errors(context: RuleContext) -> bool:
    """Whether anything in the file asks for the last error."""
    return _LAST_ERROR.search(context.file.code.lower()) is not None


def reaches_main(context: RuleContext, function: SourceFunction, depth: int) -> bool:
    """Whether *function* is main, or is called from it with no look at the error on the way."""
    if function.name == "main":
        return True
    if depth > _DEEPEST_CALLS:
        return False
    for caller, call in context.file.callers(function.name)[:_MOST_CALLERS]:
        if caller is function:
            continue
        if asks_for_error_after(context, caller, call):
            return False
        if reaches_main(context, caller, depth + 1):
            return True
    return False


def speaks_of_checks_after(context: RuleContext, launch: Node) -> bool:
    """Whether a macro or function of unknown meaning that speaks of checks follows."""
    for call in context.calls():
        if call.start < launch.end or call.children[0].kind == "field_expression":
            continue
        name = context.file.callee(call)
        if name.startswith(("cuda", "std")) or not _CHECK.search(name):
            continue
        if not any(context.at(a).startswith("cuda") for a in context.file.arguments(call)):
            return True
    return False


def checked_wait_after(context: RuleContext, launch: Node) -> str | None:
    """Return the call behind *launch* that waits for it and whose result is looked at, None without one."""
    for call in context.calls(*_RETURNING_ERRORS):
        if call.start >= launch.end and call.parent is not None and call.parent.kind in _LOOKING:
            return context.file.callee(call)
    return None


def pointer_name(context: RuleContext, node: Node) -> str:
    """Return the pointer that an argument like ``(void **)&p`` hands over, as it is written."""
    while node.kind in ("cast_expression", "pointer_expression", "parenthesized_expression") or (
        node.kind == "call_expression" and context.file.arguments(node)
    ):
        node = (
            context.file.arguments(node)[-1]
            if node.kind == "call_expression"
            else node.children[-1]
        )
    return context.at(node)
